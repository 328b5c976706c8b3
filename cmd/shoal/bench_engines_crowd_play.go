package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

const (
	// turns is in how many portions a node's players change, in a second.
	turns = 10
	// bagSlots is how many places a player's changes fall on.
	bagSlots = 16
	// comingSpans is in how many spans the players begin to change, one after the other: the first
	// change of each has it saved, for which its journal begins.
	comingSpans = 40
	// syncsASecond is how often somebody waits until a change is in the journal.
	syncsASecond = 20
)

// counts are what the sets of a fleet have counted.
type counts struct{ commits, appends, saves, failures, stolen uint64 }

func (c *crowd) counts() (t counts) {
	for _, n := range c.nodes {
		s := n.Set(benchSet).Stats()
		t.commits, t.appends, t.saves = t.commits+s.Commits, t.appends+s.Appends, t.saves+s.Saves
		t.failures, t.stolen = t.failures+s.AppendErrors+s.SaveErrors, t.stolen+s.Takeovers+s.Lost
	}
	return t
}

// play has every player change once a second, and looks at the fleet meanwhile. The spans in which
// they begin, and one more, are not measured.
func (c *crowd) play(ctx context.Context, r *crowdResult) error {
	playing, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for i := range c.nodes {
		wg.Go(func() { c.players(playing, i) })
	}
	var syncs []time.Duration
	err := c.bench.pause(ctx, (comingSpans+1)*c.bench.span)
	wg.Go(func() { syncs = c.syncs(playing) })
	if err == nil {
		err = c.measure(ctx, r)
	}
	stop()
	wg.Wait()
	r.sync, r.refused = spreadOf(syncs), c.refused.Load()
	return err
}

// measure counts what the fleet does in its spans.
func (c *crowd) measure(ctx context.Context, r *crowdResult) error {
	begun, end := c.bench.until(crowdSpans * c.bench.span)
	before, own := c.counts(), ownTime()
	used, err := c.bench.ground.times(ctx)
	if err != nil {
		return err
	}
	c.beats.begin()
	if err := c.watch(ctx, r, end); err != nil {
		return err
	}
	r.beats = c.beats.end(len(c.nodes))
	now, err := c.bench.ground.times(ctx)
	if err != nil {
		return err
	}
	r.servers, r.nodesTime = now.minus(used), ownTime()-own
	after := c.counts()
	r.span = c.bench.clk.Now().Sub(begun)
	a := func(n uint64) float64 { return perSecond(int(n), r.span) } //nolint:gosec // far below
	r.changes, r.appends, r.saves = a(after.commits-before.commits), a(after.appends-before.appends), a(after.saves-before.saves)
	r.failures, r.stolen = after.failures-before.failures, after.stolen
	return nil
}

// watch looks at the fleet now and then until a moment, at least once: at the journals of all
// nodes, and at whom they take for dead.
func (c *crowd) watch(ctx context.Context, r *crowdResult, end time.Time) error {
	const every = 700 * time.Millisecond // in no step with the beats
	var lags []time.Duration
	ours, dead := make(map[string]bool), make(map[string]bool)
	for _, n := range c.nodes {
		ours[n.ID()] = true
	}
	for left := every; left > 0; left = end.Sub(c.bench.clk.Now()) {
		if err := c.bench.pause(ctx, min(left, every)); err != nil {
			return err
		}
		for _, n := range c.nodes {
			lags = append(lags, n.Set(benchSet).Stats().ExposedFor)
			for _, d := range n.Dead() {
				if ours[d.Node] { // others have crashed before
					dead[d.Node] = true
				}
			}
		}
	}
	r.lag, r.verdicts = spreadOf(lags), len(dead)
	r.worstLag = lags[len(lags)-1]
	return nil
}

// players changes the players of one node, each once a second, a portion at a time, from when they
// have come.
func (c *crowd) players(ctx context.Context, i int) {
	random := rand.New(rand.NewPCG(3, uint64(i))) //nolint:gosec // an index
	const every = time.Second / turns
	begun := c.bench.clk.Now()
	next := begun.Add(time.Duration(random.Int64N(int64(every))))
	all, coming := len(c.sessions[i]), comingSpans*c.bench.span
	for turn := 0; ; turn++ {
		if clock.Sleep(ctx, c.bench.clk, next.Sub(c.bench.clk.Now())) != nil {
			return
		}
		here := min(all, int(int64(all)*int64(c.bench.clk.Now().Sub(begun))/int64(coming)))
		for j := turn % turns; j < here; j += turns {
			c.did(c.spots.change(c.sessions[i][j], random)) //nolint:contextcheck // a commit blocks on nothing
		}
		if next = next.Add(every); c.bench.clk.Now().Sub(next) > time.Second {
			next = c.bench.clk.Now() // what could not be done is left out, and shows in the rate
		}
	}
}

// spots are where players change something, taken apart once.
type spots struct {
	coins doc.Path
	slots [bagSlots]doc.Path
}

func newSpots() (p spots) {
	p.coins = doc.P("coins")
	for i := range p.slots {
		p.slots[i] = doc.P("bag", fmt.Sprintf("slot%d", i))
	}
	return p
}

// change is what a player does.
func (p *spots) change(s *profile.Session, random *rand.Rand) error {
	_, err := s.Transact(profile.Source{}, doc.Increment(p.coins, 1), doc.Set(p.slots[random.IntN(bagSlots)], doc.Int(random.Int64N(1000))))
	return err
}

// did counts what went wrong.
func (c *crowd) did(err error) {
	if err != nil {
		c.refused.Add(1)
	}
}

// syncs waits, again and again, until what a player has changed is in the journal.
func (c *crowd) syncs(ctx context.Context) (all []time.Duration) {
	random := rand.New(rand.NewPCG(4, 4))
	for clock.Sleep(ctx, c.bench.clk, time.Second/syncsASecond) == nil {
		some := c.sessions[random.IntN(len(c.sessions))]
		s := some[random.IntN(len(some))]
		c.did(c.spots.change(s, random)) //nolint:contextcheck // a commit blocks on nothing
		begun := c.bench.clk.Now()
		c.did(s.Sync(context.WithoutCancel(ctx)))
		all = append(all, c.bench.clk.Now().Sub(begun))
	}
	return all
}

// beatTally is what became of the beats of a fleet.
type beatTally struct {
	landed, failed int
	missed         int // of those that were due, beats that no other came in place of within a beat
	latency        spread
	longest        time.Duration // between two beats of one node
}

// beatLog sees the beats of all nodes on their way to the store.
type beatLog struct {
	clk  clock.Clock
	beat time.Duration
	mu   struct {
		sync.Mutex
		counting  bool
		tally     beatTally
		latencies []time.Duration
		lasts     []*time.Time // when each node's last beat had landed
	}
}

// begin begins to count.
func (l *beatLog) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.counting, l.mu.tally, l.mu.latencies = true, beatTally{}, nil
}

// end is what was counted; a node that has not beaten for long has missed beats, too.
func (l *beatLog) end(nodes int) beatTally {
	now := l.clk.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.counting = false
	beating := 0
	for _, last := range l.mu.lasts {
		if !last.IsZero() {
			beating++
			l.gapLocked(now.Sub(*last))
		}
	}
	t := l.mu.tally
	t.missed += nodes - beating
	t.latency = spreadOf(l.mu.latencies)
	return t
}

// gapLocked counts the beats that are missing in a span between two.
func (l *beatLog) gapLocked(gap time.Duration) {
	l.mu.tally.longest = max(l.mu.tally.longest, gap)
	l.mu.tally.missed += max(0, int(gap/l.beat)-1)
}

// records sees the beats of one node.
func (l *beatLog) records(r store.Records) store.Records {
	last := new(time.Time)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.lasts = append(l.mu.lasts, last)
	return beatRecords{r, l, last}
}

// note counts a beat that was sent.
func (l *beatLog) note(last *time.Time, begun time.Time, err error) {
	now := l.clk.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.counting {
		if l.mu.latencies = append(l.mu.latencies, now.Sub(begun)); err != nil {
			l.mu.tally.failed++
		} else {
			l.mu.tally.landed++
			l.gapLocked(now.Sub(*last)) // the first one landed when the node started
		}
	}
	if err == nil {
		*last = now
	}
}

// beatRecords are the records of one node.
type beatRecords struct {
	store.Records

	log  *beatLog
	last *time.Time
}

// Commit notes beats.
func (r beatRecords) Commit(ctx context.Context, txs ...store.Tx) []error {
	begun := r.log.clk.Now()
	errs := r.Records.Commit(ctx, txs...)
	if w := txs[0][0]; w.Op == store.Put && strings.HasPrefix(w.Key, "node/") {
		r.log.note(r.last, begun, errs[0])
	}
	return errs
}
