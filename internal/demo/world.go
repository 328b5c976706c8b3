package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/season"
)

const (
	playersSet = "players"
	reefSeason = "reef"
	titled     = 10 // places of a board that get a title
)

// world is the fleet, its players and their judge.
type world struct {
	opts   Options
	clock  clock.Clock
	ledger *ledger
	tally  *tally
	rules  season.Config

	mu struct {
		sync.Mutex
		members []*member // living ones
		started int       // ever
	}
	undertakers sync.WaitGroup // buries crashed members
}

func newWorld(opts Options, c clock.Clock) *world {
	return &world{
		opts: opts, clock: c, ledger: newLedger(), tally: newTally(),
		rules: fishing.Fast(c.Now().Truncate(time.Second), opts.SeasonLength, titled),
	}
}

// populate starts the nodes, one after the other: the first makes the store.
func (w *world) populate(ctx context.Context) error {
	for range w.opts.Nodes {
		if err := w.join(ctx); err != nil {
			return err
		}
	}
	return nil
}

// join starts one more node.
func (w *world) join(ctx context.Context) error {
	w.mu.Lock()
	w.mu.started++
	n := w.mu.started
	w.mu.Unlock()
	m, err := w.start(ctx, fmt.Sprintf("reef%d", n))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.members = append(w.mu.members, m)
	return nil
}

// pick is a living node for a player who arrives.
func (w *world) pick(rng *rand.Rand) *member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.members[rng.IntN(len(w.mu.members))]
}

// living are the nodes that have not crashed.
func (w *world) living() []*member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.mu.members)
}

// crashes cuts a node off now and then, and starts another one in its place.
func (w *world) crashes(ctx context.Context) {
	rng := rand.New(rand.NewPCG(w.opts.Seed, crashStream))
	for w.opts.CrashEvery > 0 && clock.Sleep(ctx, w.clock, w.opts.CrashEvery) == nil {
		w.crashOne(rng)
		if err := w.join(ctx); err != nil && ctx.Err() == nil {
			w.opts.Logger.ErrorContext(ctx, "no node in place of the crashed one", "err", err)
		}
	}
}

// crashOne cuts off one node, never the last.
func (w *world) crashOne(rng *rand.Rand) {
	w.mu.Lock()
	if len(w.mu.members) < 2 {
		w.mu.Unlock()
		return
	}
	at := rng.IntN(len(w.mu.members))
	m := w.mu.members[at]
	w.mu.members = slices.Delete(w.mu.members, at, at+1)
	w.mu.Unlock()

	m.crash()
	w.tally.crashes.Add(1)
	w.undertakers.Go(m.bury)
}

// end closes the living nodes in order, all at the same time, and says what was left.
func (w *world) end(ctx context.Context) error {
	members := w.living()
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() { errs[i] = m.close(ctx) })
	}
	wg.Wait()
	w.undertakers.Wait()
	return errors.Join(errs...)
}

// The streams of chance, so that one actor's choices do not shift another's.
const (
	crashStream  = 1
	playerStream = 1000 // plus the player's number
)

// fishers are the players.
func (w *world) fishers() []*fisher {
	out := make([]*fisher, w.opts.Players)
	for i := range out {
		out[i] = &fisher{
			world: w, key: fmt.Sprintf("fisher-%03d", i), name: fishing.Name(i),
			rng: rand.New(rand.NewPCG(w.opts.Seed, uint64(playerStream+i))),
		}
	}
	return out
}
