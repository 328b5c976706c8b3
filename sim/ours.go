package sim

import (
	"context"
	"errors"
	"log/slog"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// setName is the set of profiles that every run plays on.
const setName = "players"

// Ours is the library of this module.
type Ours struct {
	// Parts, if set, stands between the library and its stores, and does to its calls what a
	// library with a flaw would have done.
	Parts func(store.Parts) store.Parts
	// Deps, if set, changes what the seasons of a server work with.
	Deps func(*season.Deps)
}

// Name implements Library.
func (Ours) Name() string { return "shoal" }

// Exact implements Library.
func (Ours) Exact() bool { return true }

// Start implements Library.
func (o Ours) Start(ctx context.Context, p *Process, name string, s Settings) (Host, error) {
	if s.Seasons != nil {
		return o.startSeasons(ctx, p, name, s)
	}
	parts := p.Parts()
	if o.Parts != nil {
		parts = o.Parts(parts)
	}
	st, err := store.New(parts)
	if err != nil {
		return nil, err
	}
	n, err := node.Start(ctx, st, &node.Options{
		Name: name, Beat: s.Beat, DeadAfter: s.DeadAfter, AskEvery: s.AskEvery, LeaseTimeout: s.Lease,
		Limits: s.Limits, Clock: p.Clock(), Random: p.Random, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	set, err := profile.New(n, setName, &profile.Options{
		Template: template(), Schema: s.Schema, Migrations: migrations(s.Schema), Autosave: s.Save, LoadTimeout: s.LoadTimeout,
		StealAfter: s.StealAfter, FallbackSave: s.FallbackSave, HardBytes: s.HardBytes, JournalEvery: s.JournalEvery,
		JournalBytes: s.JournalBytes, VersionEvery: s.Versions,
	})
	if err != nil {
		return nil, err
	}
	set.HandleMail(mailKind, handleMail)
	host := &ourHost{node: n, set: set}
	if s.Boards != nil {
		if host.ladder, err = newLadder(n, p, s); err != nil {
			return nil, err
		}
	}
	return host, nil
}

// migrations are those of a release whose newer forms only have more members.
func migrations(schema int) (out []profile.Migration) {
	for to := 2; to <= schema; to++ {
		out = append(out, profile.Migration{To: to})
	}
	return out
}

type ourHost struct {
	node   *node.Node
	set    *profile.Set
	ladder *ourLadder
}

func (h *ourHost) ID() string { return h.node.ID() }

func (h *ourHost) Load(ctx context.Context, key string, how How) (Hold, error) {
	policies := [...]profile.Policy{PolicySteal: profile.Steal, PolicyWait: profile.Wait, PolicyFail: profile.Fail}
	sess, err := h.set.Load(ctx, key, &profile.LoadOptions{Policy: policies[how.Policy], Wait: how.Wait})
	if err != nil {
		return nil, err
	}
	return ourHold{sess}, nil
}

func (h *ourHost) Holds(key string) (epoch uint64, open, busy bool) {
	stats := h.set.Stats()
	busy = stats.Loading > 0 || stats.Disowned > 0
	if s, ok := h.set.Session(key); ok {
		return s.Epoch(), true, busy
	}
	return 0, false, busy
}

// Close closes the set first, for its report; the node then finds it closed.
func (h *ourHost) Close(ctx context.Context) ([]string, error) {
	report := make(chan profile.Report, 1)
	go func() {
		<-h.node.Closing()
		r, _ := h.set.Close(context.Background()) // shares the closing that the node bounds
		report <- r
	}()
	_, err := h.node.Close(ctx)
	var left []string
	for _, l := range (<-report).Left {
		left = append(left, l.Key)
	}
	return left, err
}

type ourHold struct{ *profile.Session }

func (h ourHold) Transact(ops ...doc.Op) (doc.Value, uint64, error) {
	c, err := h.Session.Transact(profile.Source{}, ops...)
	return c.Data, c.Revision, err
}

func (h ourHold) End() End {
	switch h.Reason() {
	case profile.Released:
		return Released
	case profile.HandedOver:
		return HandedOver
	case profile.Lost:
		return Lost
	case profile.Closed:
		return Closed
	}
	return Living
}

// refusalOf sorts the error of a load.
func refusalOf(err error) Refusal {
	for _, r := range [...]struct {
		sentinel error
		refusal  Refusal
	}{
		{profile.ErrTimeout, Failed},
		{profile.ErrOutbid, Outbid},
		{errOutbid, Outbid},
		{errRivalOpen, Opened},
		{profile.ErrOpen, Opened},
		{profile.ErrHeld, Refused},
		{profile.ErrNewerSchema, Refused},
		{profile.ErrForeign, Refused},
		{profile.ErrClosing, Ended},
		{store.ErrClosed, Ended},
		{context.Canceled, Ended},
	} {
		if errors.Is(err, r.sentinel) {
			return r.refusal
		}
	}
	return Failed
}

// errOutbid is the outbid of the rivals.
var errOutbid = errors.New("sim: outbid")
