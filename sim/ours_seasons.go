package sim

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

const (
	anglerSet = "anglers" // the set of profiles that plays the seasons
	seasonSet = "reef"    // the name of the seasons
	coinsPath = "/coins"
)

// ourReef is a server of our library with seasons, wired as every program wires it.
type ourReef struct {
	*ourHost
	seasons *shoal.Competition
	ear     *atomic.Pointer[Ear]
}

// startSeasons starts a server with seasons.
func (o Ours) startSeasons(ctx context.Context, p *Process, name string, s Settings) (Host, error) {
	parts := p.Parts()
	if o.Parts != nil {
		parts = o.Parts(parts)
	}
	st, err := store.New(parts)
	if err != nil {
		return nil, err
	}
	ear := new(atomic.Pointer[Ear])
	deps := seasonDeps(p, ear)
	if o.Deps != nil {
		o.Deps(&deps)
	}
	n, err := shoal.Start(ctx, st, &shoal.Options{
		Node: node.Options{
			Name: name, Beat: s.Beat, DeadAfter: s.DeadAfter, AskEvery: s.AskEvery, LeaseTimeout: s.Lease,
			Limits: s.Limits, Clock: p.Clock(), Random: p.Random, Logger: slog.New(slog.DiscardHandler),
		},
		Sets: map[string]*profile.Options{anglerSet: {
			Template: doc.Must(map[string]any{"coins": 0}), Autosave: s.Save, LoadTimeout: s.LoadTimeout,
			StealAfter: s.StealAfter, FallbackSave: s.FallbackSave, JournalEvery: s.JournalEvery, VersionEvery: s.Versions,
		}},
		Ranked:  "-",
		Flush:   &board.Options{FlushEvery: s.Window},
		Seasons: map[string]shoal.Season{seasonSet: {Set: anglerSet, Rules: *s.Seasons, Deps: deps}},
	})
	if err != nil {
		return nil, err
	}
	return &ourReef{ourHost: &ourHost{node: n.Node, set: n.Set(anglerSet)}, seasons: n.Season(seasonSet), ear: ear}, nil
}

// seasonDeps are the game's part: a coin for each title, and an ear for what is told.
func seasonDeps(p *Process, ear *atomic.Pointer[Ear]) season.Deps {
	tell := func(fn func(Ear)) {
		if e := ear.Load(); e != nil && !p.Gone() {
			fn(*e)
		}
	}
	return season.Deps{
		Reward: func(season.Title) []doc.Op { return []doc.Op{doc.Increment(coinsPath, 1)} },
		OnTitle: func(_ context.Context, s season.Session, titles []season.Title) {
			tell(func(e Ear) { e.Told(s.Key(), titles) })
		},
		OnRefused: func(r season.Refused) { tell(func(e Ear) { e.Late(r) }) },
		OnClosed:  func(c season.Closed, r *season.Result) { tell(func(e Ear) { e.Over(c, r) }) },
	}
}

// Fish implements Seasonal.
func (h *ourReef) Fish(ctx context.Context, key string) (Angler, error) {
	s, err := h.set.Load(ctx, key, nil)
	if err != nil {
		return nil, err
	}
	return &ourAngler{ourHold{s}, h.seasons}, nil
}

// Hear implements Seasonal.
func (h *ourReef) Hear(e Ear) { h.ear.Store(&e) }

// Look implements Seasonal.
func (h *ourReef) Look(ctx context.Context, name, key string) (store.Page, error) {
	page, err := h.seasons.Top(ctx, name, h.seasons.Config().Top)
	_, _, standing := h.seasons.Standing(ctx, name, key)
	return page, errors.Join(err, standing)
}

// CloseDue implements Seasonal.
func (h *ourReef) CloseDue(ctx context.Context) error {
	_, err := h.seasons.CloseDue(ctx)
	return err
}

// ourAngler is a session of ours.
type ourAngler struct {
	ourHold
	seasons *shoal.Competition
}

// Record implements Angler.
func (a *ourAngler) Record(event string) error {
	return a.seasons.Record(a.Session, season.Event{Name: event})
}
