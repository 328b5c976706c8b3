package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shoalworks/shoal/clock"
)

// Options are those of a run. Binary and Logs are needed.
type Options struct {
	// Binary is the path of the daemon's program.
	Binary string
	// Logs is the folder for the daemons' logs.
	Logs string
	// For is how long things go wrong. Default 60 s.
	For time.Duration
	// Seed decides what goes wrong, and what players do. Default 0, a seed like any other.
	Seed uint64
	// Players is how many there are. Default 60.
	Players int
	// Daemons is how many there are. Default 3.
	Daemons int
	// Calm leaves the faults out. Default false.
	Calm bool
	// Folder has the daemons share a folder in place of the two servers: only daemons fail then.
	// Default false.
	Folder bool
	// Fast is the fast store. Default OneRedis.
	Fast Fast
	// Lossy has PostgreSQL acknowledge commits that it has not kept, so that the run must find
	// violations: a test of the test. Default false.
	Lossy bool
	// Say is told what happens, a line each. Default: nowhere.
	Say io.Writer
}

// Fast is a kind of fast store.
type Fast string

// The kinds of fast stores.
const (
	// OneRedis is a Redis that keeps nothing.
	OneRedis Fast = "redis"
	// KeptRedis is one that keeps every write on disk: whatever it has acknowledged is there
	// after a crash, so that a missing sync or score is always a violation.
	KeptRedis Fast = "kept"
	// Cluster is three masters, each behind a proxy that all daemons share: a daemon alone cannot
	// be cut from them.
	Cluster Fast = "cluster"
	// Sentinel is a master that a sentinel replaces by its replica. The daemons have no proxies
	// to it.
	Sentinel Fast = "sentinel"
	// NoFast is PostgreSQL alone.
	NoFast Fast = "none"
)

// ErrViolated says that promises were broken.
var ErrViolated = errors.New("chaos: promises were broken")

// Run plays and breaks until the time is up, heals everything, and checks all players. The
// error wraps [ErrViolated] when a promise was broken, and [engines.ErrAbsent] where a server is
// not installed.
func Run(ctx context.Context, o Options) (Tally, error) {
	o.defaults()
	start := clock.System().Now()
	w := &world{ledger: NewLedger(func() time.Duration { return clock.System().Now().Sub(start) })}
	w.say, w.config, w.length = sayer(o.Say), hasty+Configuration(start), o.For
	err := folder(&o)
	if err == nil {
		err = w.build(ctx, &o)
	}
	var players []*player
	if err == nil {
		start = clock.System().Now() // before anybody asks for the time
		players = w.players(&o)
		err = w.play(ctx, &o, players)
		w.auditDaemons()
	}
	if tally, _ := w.ledger.Verdict(); err == nil && tally.Violations == 0 {
		err = w.audit(ctx, players)
		w.say("%7.2fs audited", w.ledger.now().Seconds())
	}
	if tally, _ := w.ledger.Verdict(); tally.Violations > 0 {
		err = errors.Join(err, w.dump())
	}
	return w.verdict(errors.Join(err, w.close()))
}

// dump has the daemons write to their logs what they do.
func (w *world) dump() error {
	errs := make([]error, 0, len(w.members))
	for _, m := range w.members {
		errs = append(errs, m.Dump())
	}
	return errors.Join(errs...)
}

func (o *Options) defaults() {
	if o.For == 0 {
		o.For = time.Minute
	}
	if o.Players == 0 {
		o.Players = 60
	}
	if o.Daemons == 0 {
		o.Daemons = 3
	}
	if o.Fast == "" {
		o.Fast = OneRedis
	}
	if o.Say == nil {
		o.Say = io.Discard
	}
}

// sayer writes lines, one at a time.
func sayer(to io.Writer) func(format string, args ...any) {
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(to, format+"\n", args...)
	}
}

// hasty has daemons beat often, so that dead ones are found soon and much can go wrong in a run.
const hasty = "beat: 500ms\ndeadAfter: 2s\n"

// play lets players play while the plan happens. Both are over when it returns. A broken promise
// ends it, and leaves the audit out, so that the logs end with what is known of it.
func (w *world) play(ctx context.Context, o *Options, players []*player) error {
	ctx, cancel := context.WithTimeout(ctx, o.For)
	defer cancel()
	var plan []Fault
	if !o.Calm {
		plan = Plan(o.Seed, o.For, o.Daemons)
	}
	var g errgroup.Group
	for l := range lanes {
		g.Go(func() error {
			err := w.run(ctx, plan, l)
			if err != nil {
				cancel()
			}
			return err
		})
	}
	for _, p := range players {
		g.Go(func() error { p.play(ctx); return nil })
	}
	g.Go(func() error { w.report(ctx); return nil })
	g.Go(func() error { w.watchResults(ctx); return nil })
	g.Go(func() error { w.untilBroken(ctx); cancel(); return nil })
	return g.Wait()
}

// Load plays on daemons that are there, without breaking anything, until ctx ends, and checks
// all players then. The daemons need the set and the boards of [Configuration]. The error is as
// of [Run].
func Load(ctx context.Context, daemons []string, o Options) (Tally, error) {
	o.defaults()
	start := clock.System().Now()
	w := &world{ledger: NewLedger(func() time.Duration { return clock.System().Now().Sub(start) }), say: sayer(o.Say)}
	for _, url := range daemons {
		w.members = append(w.members, &member{api: newAPI(url), bell: newBell()})
	}
	var g errgroup.Group
	players := w.players(&o)
	for _, p := range players {
		g.Go(func() error { p.play(ctx); return nil })
	}
	g.Go(func() error { w.report(ctx); return nil })
	g.Go(func() error { w.watchResults(ctx); return nil })
	err := errors.Join(g.Wait(), w.audit(context.WithoutCancel(ctx), players))
	for _, m := range w.members {
		m.api.http.CloseIdleConnections()
	}
	return w.verdict(err)
}

// verdict adds the violations to an error.
func (w *world) verdict(err error) (Tally, error) {
	tally, violations := w.ledger.Verdict()
	for _, v := range violations {
		err = errors.Join(err, fmt.Errorf("%w: %s", ErrViolated, v))
	}
	return tally, err
}

// players are those of a run.
func (w *world) players(o *Options) []*player {
	keys := make([]string, o.Players)
	for i := range keys {
		keys[i] = fmt.Sprintf("p%03d", i)
	}
	market := newMarket()
	out := make([]*player, o.Players)
	for i, key := range keys {
		rng := rand.New(rand.NewPCG(o.Seed, 1000+uint64(i))) //nolint:gosec // it is to be reproducible
		out[i] = &player{ledger: w.ledger, daemons: w.members, market: market, rng: rng, key: key, others: keys}
		out[i].loads = make([]atomic.Int64, len(w.members))
	}
	return out
}

// report says now and then how far the run is.
func (w *world) report(ctx context.Context) {
	for clock.Sleep(ctx, clock.System(), 10*time.Second) == nil {
		tally, _ := w.ledger.Verdict()
		w.say("%7.2fs %s", w.ledger.now().Seconds(), tally)
	}
}

// untilBroken waits for the first violation.
func (w *world) untilBroken(ctx context.Context) {
	for clock.Sleep(ctx, clock.System(), 200*time.Millisecond) == nil {
		if tally, _ := w.ledger.Verdict(); tally.Violations > 0 {
			w.say("%7.2fs a promise was broken", w.ledger.now().Seconds())
			return
		}
	}
}

// String is the tally in one line.
func (t Tally) String() string {
	return fmt.Sprintf("%d loads, %d saves, %d syncs, %d receipts, %d mails, %d trades, %d scores, %d seasons, %d titles, %d ghosts; %d double faults, %d scores forgotten; %d VIOLATIONS",
		t.Loads, t.Saves, t.Syncs, t.Receipts, t.Mails, t.Trades, t.Scores, t.Seasons, t.Titles, t.Ghosts, t.Doubles, t.ForgottenScores, t.Violations)
}
