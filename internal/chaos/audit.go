package chaos

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shoalworks/shoal/clock"
)

const (
	// auditWithin bounds the audit of one player in a healthy fleet.
	auditWithin = 4 * time.Minute
	auditors    = 64
	// slowAudit is what a load of the audit seldom takes.
	slowAudit = 15 * time.Second
)

// audit loads every player once more, waits for its mail, and compares everything with the
// ledger.
func (w *world) audit(ctx context.Context, players []*player) error {
	w.say("%7.2fs all is healed; the audit begins", w.ledger.now().Seconds())
	w.gatherAll(ctx)
	w.auditDeals(ctx, players)
	var g errgroup.Group
	g.SetLimit(auditors)
	for i, key := range w.ledger.Keys() {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, auditWithin)
			defer cancel()
			if err := w.auditPlayer(ctx, key, i%len(w.members)); err != nil {
				w.ledger.Violate(key, "cannot be audited: %v", err)
			}
			return nil
		})
	}
	err := g.Wait()
	within, cancel := context.WithTimeout(ctx, auditWithin)
	defer cancel()
	if err := w.auditResults(within); err != nil {
		w.ledger.Violate("seasons", "cannot be audited: %v", err)
	}
	return err
}

// auditDaemons sees that all daemons run: one that has ended by itself will not come back.
func (w *world) auditDaemons() {
	for i, m := range w.members {
		if !m.Running() {
			w.ledger.Violate(fmt.Sprintf("daemon %d", i), "has ended by itself")
		}
	}
}

// gatherAll loads all players once: that may take long for some, whose last holder had told that
// it does not beat, and then takes as long for all together. What fails is tried again later.
func (w *world) gatherAll(ctx context.Context) {
	var all sync.WaitGroup
	var slow atomic.Int64
	begun := w.ledger.now()
	for i, key := range w.ledger.Keys() {
		all.Go(func() {
			_, _ = w.open(ctx, key, i%len(w.members))
			if w.ledger.now()-begun > slowAudit {
				slow.Add(1)
			}
		})
	}
	all.Wait()
	if n := slow.Load(); n > 0 {
		w.say("%7.2fs %d players took more than %v to load", w.ledger.now().Seconds(), n, slowAudit)
	}
}

// open loads a player at a daemon, or reads what is open there.
func (w *world) open(ctx context.Context, key string, at int) (*Tenure, error) {
	asked := w.ledger.now()
	f, err := w.members[at].api.load(ctx, key, auditWait)
	if err != nil {
		return nil, err
	}
	if w.ledger.Outdated(key, f) {
		return nil, errOutdated
	}
	f.Asked = asked
	return w.ledger.Loaded(key, at, f), nil
}

// auditPlayer checks one player at one daemon.
func (w *world) auditPlayer(ctx context.Context, key string, at int) error {
	a := w.members[at].api
	var t *Tenure
	err := again(ctx, func() (err error) {
		t, err = w.open(ctx, key, at)
		return err
	})
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	count, err := w.auditPlay(ctx, a, t)
	if err != nil {
		return fmt.Errorf("play: %w", err)
	}
	if err := w.auditMail(ctx, a, t); err != nil {
		return err
	}
	return w.auditBoards(ctx, a, key, count)
}

// auditPlay plays once more, since a player that can be loaded can play, and saves.
func (w *world) auditPlay(ctx context.Context, a *api, t *Tenure) (count int64, err error) {
	t.Playing()
	err = again(ctx, func() error {
		var revision uint64
		revision, count, err = a.play(ctx, t.key, "audit-"+t.key)
		if err == nil {
			t.Played(revision, count)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return count, again(ctx, func() error {
		promise := t.Saving(true)
		revision, err := a.save(ctx, t.key, true)
		if err == nil {
			promise.Acknowledged(revision)
		}
		return err
	})
}

// auditMail waits until all mail that was acknowledged has had its effect.
func (w *world) auditMail(ctx context.Context, a *api, t *Tenure) error {
	return again(ctx, func() error {
		asked := w.ledger.now()
		f, err := a.live(ctx, t.key)
		if err != nil {
			return err
		}
		f.Asked = asked
		w.ledger.Loaded(t.key, t.daemon, f)
		if left := w.ledger.Waiting(t.key, f); len(left) > 0 {
			return fmt.Errorf("%v were acknowledged and have no effect", left)
		}
		return nil
	})
}

// auditBoards compares the entries of a player: the mirror follows the profile, whatever became
// of the board's memory.
func (w *world) auditBoards(ctx context.Context, a *api, key string, count int64) error {
	var score int64
	err := again(ctx, func() (err error) {
		score, _, err = a.score(ctx, "Best", key)
		return err
	})
	if err != nil {
		return fmt.Errorf("board: %w", err)
	}
	w.ledger.Board(key, score, w.forgetful())
	return again(ctx, func() error {
		score, ok, err := a.score(ctx, "Count", key)
		if err == nil && (!ok || score != count) {
			err = fmt.Errorf("the mirror has %d, %v; the profile %d", score, ok, count)
		}
		return err
	})
}

// again tries until there is no error; the last one when time is up.
func again(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || clock.Sleep(ctx, clock.System(), retryAfter) != nil {
			return err
		}
	}
}
