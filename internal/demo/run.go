package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// ErrBroken is a run in which the fleet broke a promise.
var ErrBroken = errors.New("demo: the fleet broke a promise")

// ErrUnseen is a run that was long enough to see everything and did not: it proves nothing.
var ErrUnseen = errors.New("demo: the run has not seen everything")

// Summary is how a run went.
type Summary struct {
	Took                                 time.Duration
	Loads, Handovers, Takeovers, Crashes int64
	HandoverMean, HandoverLongest        time.Duration
	TakeoverMean, TakeoverLongest        time.Duration
	Casts, Syncs, Saves, Closes, Titles  int64
	Late                                 int64 // values that reached a board after its season was closed
	Outbid, FailedLoads                  int64
	Violations                           int
	FirstViolations                      []string
	Failures                             map[string]int64 // failed loads and releases by what they said
}

// Run plays until ctx ends, closes the fleet in order, and audits what is stored.
func Run(ctx context.Context, o Options) (Summary, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return Summary{}, err
	}
	w := newWorld(opts, clock.System())
	start := w.clock.Now()
	// The nodes outlive ctx: it ends the play, not their orderly close.
	life := context.WithoutCancel(ctx)
	if err := w.populate(life); err != nil {
		return Summary{}, errors.Join(err, w.end(life))
	}
	w.playUntil(ctx, start)
	endErr := w.end(life)
	auditErr := w.audit(life)
	sum := w.summary(w.clock.Now().Sub(start))
	fmt.Fprint(opts.Out, sum.String())
	return sum, errors.Join(endErr, auditErr, sum.verdict(opts))
}

// playUntil runs players, crashes and the display until ctx ends.
func (w *world) playUntil(ctx context.Context, start time.Time) {
	var wg sync.WaitGroup
	for _, f := range w.fishers() {
		wg.Go(func() { f.play(ctx) })
	}
	wg.Go(func() { w.crashes(ctx) })
	w.show(ctx, start)
	wg.Wait()
}

const (
	screenEvery = time.Second
	plainEvery  = 5 * time.Second
	redraw      = "\x1b[H\x1b[J" // to the top, and clear
)

// show prints the status until ctx ends.
func (w *world) show(ctx context.Context, start time.Time) {
	every := screenEvery
	if w.opts.Plain {
		every = plainEvery
	}
	for clock.Sleep(ctx, w.clock, every) == nil {
		s := w.look(ctx, w.clock.Now().Sub(start))
		if w.opts.Plain {
			fmt.Fprintln(w.opts.Out, s.line())
			continue
		}
		_, _ = io.WriteString(w.opts.Out, redraw+s.screen())
	}
}

func (w *world) summary(took time.Duration) Summary {
	handover, takeover := w.tally.waits()
	broken, first := w.ledger.verdict()
	return Summary{
		Took: took, Loads: w.tally.loads.Load(), Handovers: w.tally.handovers.Load(), Takeovers: w.tally.takeovers.Load(),
		Crashes: w.tally.crashes.Load(), HandoverMean: handover.mean(), HandoverLongest: handover.longest,
		TakeoverMean: takeover.mean(), TakeoverLongest: takeover.longest,
		Casts: w.tally.casts.Load(), Syncs: w.tally.syncs.Load(), Saves: w.tally.saves.Load(), Closes: w.tally.closes.Load(), Titles: w.tally.titles.Load(), Late: w.tally.late.Load(),
		Outbid: w.tally.outbid.Load(), FailedLoads: w.tally.failedLoads.Load(),
		Violations: broken, FirstViolations: first, Failures: w.tally.causes(),
	}
}

// String is the summary for people.
func (s Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nThe fleet has ended in order after %v.\n", s.Took.Round(time.Second))
	fmt.Fprintf(&b, "  loads %d, of these hand-overs %d (mean %v, longest %v), takeovers %d after %d crashes (mean %v, longest %v)\n",
		s.Loads, s.Handovers, short(s.HandoverMean), short(s.HandoverLongest), s.Takeovers, s.Crashes, short(s.TakeoverMean), short(s.TakeoverLongest))
	fmt.Fprintf(&b, "  casts %d, acknowledged syncs %d and saves %d, seasons closed %d, titles granted %d, late values %d\n",
		s.Casts, s.Syncs, s.Saves, s.Closes, s.Titles, s.Late)
	fmt.Fprintf(&b, "  loads outbid %d, failed %d, violations %d\n", s.Outbid, s.FailedLoads, s.Violations)
	for kind, n := range s.Failures {
		fmt.Fprintf(&b, "    failed %d × %s\n", n, kind)
	}
	for _, v := range s.FirstViolations {
		fmt.Fprintf(&b, "    VIOLATION %s\n", v)
	}
	return b.String()
}

// verdict is what a run deserves: it must keep every promise, and a long one must have seen
// what there is to see.
func (s Summary) verdict(o Options) error {
	if s.Violations > 0 {
		return fmt.Errorf("%w: %d violations", ErrBroken, s.Violations)
	}
	if s.Took < o.SeasonLength+o.SeasonLength/3 {
		return nil
	}
	var unseen []string
	for what, n := range map[string]int64{"hand-over": s.Handovers, "closed season": s.Closes, "title": s.Titles} {
		if n == 0 {
			unseen = append(unseen, what)
		}
	}
	if o.CrashEvery > 0 && s.Took > 2*o.CrashEvery && s.Takeovers == 0 {
		unseen = append(unseen, "takeover")
	}
	if len(unseen) > 0 {
		return fmt.Errorf("%w: no %s", ErrUnseen, strings.Join(unseen, ", no "))
	}
	return nil
}
