package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
)

// How players behave.
const (
	leastStay, mostStay   = 3 * time.Second, 15 * time.Second
	leastPause, mostPause = 300 * time.Millisecond, 1500 * time.Millisecond
	retryAfter            = 300 * time.Millisecond
	keepOneIn             = 4
	saveInstead           = 4
	leaveOneIn            = 3 // of the stays; the others move on while their session is open
)

// fisher is one simulated player. One goroutine.
type fisher struct {
	world     *world
	key, name string
	rng       *rand.Rand
}

// play goes from node to node until ctx ends.
func (f *fisher) play(ctx context.Context) {
	for ctx.Err() == nil {
		m := f.world.pick(f.rng)
		s := f.load(ctx, m)
		if s == nil {
			_ = clock.Sleep(ctx, f.world.clock, retryAfter)
			continue
		}
		f.stay(ctx, m, s)
		if ctx.Err() == nil && f.rng.IntN(leaveOneIn) == 0 {
			f.release(ctx, m, s)
		}
	}
}

// load opens the profile at m, or answers nil.
func (f *fisher) load(ctx context.Context, m *member) *profile.Session {
	s, err := m.node.Set(playersSet).Load(ctx, f.key, nil)
	if err == nil {
		f.world.ledger.loaded(f.key, s.Epoch(), casts(s.Data()))
		f.world.tally.loaded(s.Loaded())
		f.introduce(s) //nolint:contextcheck // a transaction waits for nothing
		return s
	}
	switch {
	case ctx.Err() != nil, m.isGone(), errors.Is(err, profile.ErrClosing):
		// The run ends, or the player stood before a server that has just died.
	case errors.Is(err, profile.ErrOpen):
		// The player comes back to the server that still has the session.
		if s, ok := m.node.Set(playersSet).Session(f.key); ok {
			return s
		}
	case errors.Is(err, profile.ErrOutbid):
		f.world.tally.outbid.Add(1)
	default:
		f.world.tally.failed(cause(err))
	}
	return nil
}

// cause is the innermost error, so that failures can be counted by kind.
func cause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// introduce gives a new player a name for the boards.
func (f *fisher) introduce(s *profile.Session) {
	if nameIn(s.Data()) == "" {
		_, _ = s.Transact(profile.Source{}, doc.Set("/name", doc.Must(f.name))) // at the latest after the next load
	}
}

// stay fishes for a while.
func (f *fisher) stay(ctx context.Context, m *member, s *profile.Session) {
	until := f.world.clock.Now().Add(between(f.rng, leastStay, mostStay))
	for f.world.clock.Now().Before(until) {
		if !f.pause(ctx, m, s) {
			return
		}
		if err := f.cast(s, m); err != nil { //nolint:contextcheck // a transaction waits for nothing
			f.world.tally.refusals.Add(1)
			continue
		}
		if f.rng.IntN(keepOneIn) == 0 {
			f.keep(ctx, s)
		}
	}
}

// pause waits for the next cast; false when the stay is over.
func (f *fisher) pause(ctx context.Context, m *member, s *profile.Session) bool {
	t := f.world.clock.NewTimer(between(f.rng, leastPause, mostPause))
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-s.Done():
	case <-m.gone:
	case <-ctx.Done():
	}
	return false
}

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

// cast throws the line once: what changes in the profile and what seasons count, in one.
func (f *fisher) cast(s *profile.Session, m *member) error {
	ops, events := fishing.Missed(), []season.Event{fishing.Lost()}
	if fish, ok := fishing.Cast(f.rng); ok {
		ops, events = fish.Caught(), fish.Events()
	}
	f.world.ledger.casting(f.key, s.Epoch(), casts(s.Data())+1)
	if _, err := m.node.Season(reefSeason).Play(s, profile.Source{}, ops, events...); err != nil {
		return err
	}
	f.world.tally.casts.Add(1)
	return nil
}

// keep syncs, now and then saves, and tells the ledger what was acknowledged.
func (f *fisher) keep(ctx context.Context, s *profile.Session) {
	acknowledged := f.world.ledger.saving(f.key, s.Epoch())
	done, by := &f.world.tally.syncs, s.Sync
	if f.rng.IntN(saveInstead) == 0 {
		done, by = &f.world.tally.saves, s.Save
	}
	if by(ctx) != nil {
		return
	}
	kept, _ := s.Synced()
	acknowledged(casts(kept))
	done.Add(1)
}

// release ends the session in order.
func (f *fisher) release(ctx context.Context, m *member, s *profile.Session) {
	acknowledged := f.world.ledger.saving(f.key, s.Epoch())
	err := s.Release(ctx)
	if err == nil && s.Reason() == profile.Released {
		acknowledged(casts(s.Data()))
		return
	}
	if err != nil && ctx.Err() == nil && !m.isGone() {
		f.world.tally.failed(fmt.Sprintf("release: %s", cause(err)))
	}
}
