package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
)

// recordResult is how long an event takes its caller, one after the other.
type recordResult struct {
	mean   time.Duration
	spread spread
}

// boundaryResult is one boundary of a season.
type boundaryResult struct {
	sessions, entries int           // entries of boards, of all four
	flush             time.Duration // from the boundary until they are written
	quiet, during     waits         // of events before, and while they are written
}

// waits are how long events kept their callers, and how much longer than planned a loop took
// that waits for nothing: that is the machine's part in the longest of them.
type waits struct {
	spread         spread
	worst, machine time.Duration
}

// readersResult is what readers of a board cost.
type readersResult struct {
	readers, answers, storeReads int
	span                         time.Duration
}

// sampled is for how long events are sampled in the quiet before a boundary.
func (b *seasonBench) sampled() time.Duration {
	return min(max(b.span, 200*time.Millisecond), 2*time.Second)
}

// length is that of the seasons whose boundary is measured: long enough to have all players
// change in each.
func (b *seasonBench) length() time.Duration {
	return 2*time.Second + b.sampled() + time.Duration(b.players)*1500*time.Microsecond
}

const playName = "play"

// playRules are reef's, with a boundary every few seconds at which a node writes at once, and
// never between.
func (b *seasonBench) playRules() season.Config {
	rules := season.Reef()
	rules.Epoch, rules.Length = b.clk.Now().Add(-time.Second).UTC(), b.length()
	rules.FlushEvery, rules.Grace, rules.FirstClose = time.Hour, 2*time.Hour, time.Hour
	return rules
}

// play measures events, a boundary and readers on one node.
func (b *seasonBench) play(ctx context.Context, r *seasonResult) (err error) {
	s, err := b.sit(ctx, playName, b.playRules())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.leave(ctx)) }()
	sessions, err := s.load(ctx, b.players)
	if err != nil {
		return err
	}
	if r.record, err = b.record(ctx, s.Season(playName), sessions[0]); err != nil {
		return err
	}
	if r.boundary, err = b.boundary(ctx, s, sessions); err != nil {
		return err
	}
	r.readers, err = b.readBoard(ctx, s)
	return err
}

// record measures events of one player.
func (b *seasonBench) record(ctx context.Context, reef *shoal.Competition, s *profile.Session) (r recordResult, err error) {
	var all []time.Duration
	var sum time.Duration
	for end := b.clk.Now().Add(b.span); len(all) == 0 || b.clk.Now().Before(end); {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		begun := b.clk.Now()
		if err := reef.Record(s, season.Event{Name: "catch"}); err != nil { //nolint:contextcheck // an event waits for nothing
			return r, err
		}
		took := b.clk.Now().Sub(begun)
		all, sum = append(all, took), sum+took
	}
	return recordResult{sum / time.Duration(len(all)), spreadOf(all)}, nil
}

// boundary has every session change in the last moment of a season, and measures until its
// boards have what they had. Players go on with events all the time.
func (b *seasonBench) boundary(ctx context.Context, s *seat, sessions []*profile.Session) (r boundaryResult, err error) {
	// The first boundary makes the boards and the sessions' journals.
	if _, _, err := b.cross(ctx, s, sessions); err != nil {
		return r, err
	}
	_, end := s.next(playName)
	if err := b.until(ctx, s, end.Add(-b.ahead-b.sampled())); err != nil {
		return r, err
	}
	stop := b.sample(ctx, s.Season(playName), sessions)
	if err := b.until(ctx, s, end.Add(-b.ahead)); err != nil {
		return r, errors.Join(err, stopped(stop))
	}
	calm := b.clk.Now()
	from, calls, err := b.cross(ctx, s, sessions)
	samples, sampleErr := stop()
	if err := errors.Join(err, sampleErr); err != nil {
		return r, err
	}
	to := from
	for _, c := range calls {
		r.entries += c.entries
		to = later(to, c.end)
	}
	r.sessions, r.flush = len(sessions), to.Sub(from)
	r.quiet = waitsOf(samples, time.Time{}, calm)
	r.during = waitsOf(samples, from, to)
	return r, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// caught are events after which all four boards of a player have changed.
func caught() []season.Event {
	return []season.Event{{Name: "catch"}, {Name: "coins", Amount: 12}, {Name: "experience", Amount: 3}}
}

// cross has all sessions change shortly before the next boundary, and waits until the boards of
// the season that ends there have what they had: its moment, and the merges.
func (b *seasonBench) cross(ctx context.Context, s *seat, sessions []*profile.Session) (at time.Time, merges []call, err error) {
	id, end := s.next(playName)
	if err := b.until(ctx, s, end.Add(-b.ahead)); err != nil {
		return at, nil, err
	}
	for _, p := range sessions {
		if err := s.Season(playName).Record(p, caught()...); err != nil { //nolint:contextcheck // an event waits for nothing
			return at, nil, err
		}
	}
	if !s.Now().Before(end) {
		b.ahead = min(2*b.ahead, b.length()/2)
		b.say("the players were not ready in time for the boundary: the next one, %v ahead", b.ahead)
		return b.cross(ctx, s, sessions)
	}
	at = b.clk.Now().Add(end.Sub(s.Now()))
	if err := clock.Sleep(ctx, b.clk, at.Sub(b.clk.Now())); err != nil {
		return at, nil, err
	}
	for want, limit := len(sessions)*len(season.Reef().Boards), at.Add(time.Minute); ; {
		got := 0
		merges = s.calls.done("merge", id)
		for _, c := range merges {
			got += c.entries
		}
		if got >= want {
			return at, merges, nil
		}
		if b.clk.Now().After(limit) {
			return at, nil, fmt.Errorf("%d of %d entries written a minute after the boundary", got, want)
		}
		if err := clock.Sleep(ctx, b.clk, 10*time.Millisecond); err != nil {
			return at, nil, err
		}
	}
}

// sample is one event: when it was sent, and how long it kept its caller; and by how much the
// loop after it, which should have taken as long, was held up by the machine.
type sample struct {
	at         time.Time
	took, held time.Duration
}

// spin is a loop that waits for nothing, and about as long as an event takes: how much longer it
// took.
func (b *seasonBench) spin() (held time.Duration) {
	const planned = 40 * time.Microsecond
	begun := b.clk.Now()
	for {
		if took := b.clk.Now().Sub(begun); took >= planned {
			return took - planned
		}
	}
}

// sample has one player after the other send an event, about one every millisecond, until it is
// stopped.
func (b *seasonBench) sample(ctx context.Context, reef *shoal.Competition, sessions []*profile.Session) (stop func() ([]sample, error)) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var out []sample
	var failure error
	wg.Go(func() {
		for i := 0; ctx.Err() == nil && failure == nil; i = (i + 7919) % len(sessions) {
			begun := b.clk.Now()
			failure = reef.Record(sessions[i], season.Event{Name: "catch"}) //nolint:contextcheck // an event waits for nothing
			took := b.clk.Now().Sub(begun)
			out = append(out, sample{begun, took, b.spin()})
			_ = clock.Sleep(ctx, b.clk, time.Millisecond) // the loop looks at its end
		}
	})
	return func() ([]sample, error) {
		cancel()
		wg.Wait()
		return out, failure
	}
}

// stopped stops a sampling whose samples nobody wants.
func stopped(stop func() ([]sample, error)) error {
	_, err := stop()
	return err
}

// waitsOf are the samples of a span.
func waitsOf(samples []sample, from, to time.Time) (w waits) {
	var all []time.Duration
	for _, s := range samples {
		if !s.at.Before(from) && s.at.Before(to) {
			all = append(all, s.took)
			w.worst, w.machine = max(w.worst, s.took), max(w.machine, s.held)
		}
	}
	w.spread = spreadOf(all)
	return w
}

// readBoard has many readers ask for the best 50 of a board all the time.
func (b *seasonBench) readBoard(ctx context.Context, s *seat) (r readersResult, err error) {
	reef := s.Season(playName)
	id, end := s.next(playName)
	r.readers, r.span = b.readers, min(b.span, end.Sub(s.Now())) // the next season's board is another one
	if r.span < b.span/2 {
		if err := b.until(ctx, s, end); err != nil {
			return r, err
		}
		id, _ = s.next(playName)
		r.span = min(b.span, b.length()/2)
	}
	ctx, cancel := clock.WithTimeout(ctx, b.clk, r.span)
	defer cancel()
	answers := make([]int, b.readers)
	errs := make([]error, b.readers)
	var wg sync.WaitGroup
	for i := range b.readers {
		wg.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				if _, errs[i] = reef.Top(ctx, "Fish", 50); errs[i] == nil {
					answers[i]++
				}
			}
		})
	}
	wg.Wait()
	for i := range answers {
		r.answers += answers[i]
		if errs[i] != nil && ctx.Err() == nil {
			err = errs[i]
		}
	}
	for _, c := range s.calls.of(id) {
		if c.op == "page" {
			r.storeReads++
		}
	}
	return r, err
}
