package sim

import (
	"context"
	"errors"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// OnCommit implements Claimant.
func (h ourHold) OnCommit(fn func(data doc.Value, revision uint64)) {
	h.Session.OnCommit(func(c profile.Commit) { fn(c.Data, c.Revision) })
}

// Grant implements Claimant.
func (h ourHold) Grant(ctx context.Context, id string, ops ...doc.Op) Answer {
	_, err := h.Session.Grant(ctx, id, profile.Source{Kind: "shop"}, ops...)
	return answerOf(err)
}

// Gift implements Claimant.
func (h ourHold) Gift(ctx context.Context, m Mail, ops ...doc.Op) Answer {
	return Undone
}

// Send implements Clearing.
func (h *ourHost) Send(ctx context.Context, m Mail) Answer {
	return Undone
}

// Edit implements Clearing.
func (h *ourHost) Edit(ctx context.Context, key, id string, ops ...doc.Op) Answer {
	return Undone
}

// Trade implements Clearing.
func (h *ourHost) Trade(ctx context.Context, id string, sides ...Side) Answer {
	var parties []profile.Party
	for _, s := range sides {
		mine, ok := s.Hold.(ourHold)
		if !ok {
			return Undone
		}
		parties = append(parties, profile.Party{Session: mine.Session, Ops: s.Ops})
	}
	_, err := profile.Trade(ctx, profile.Source{ID: "trade-" + id}, parties...)
	return answerOf(err)
}

// answerOf takes the library at its word: what is not said to be unknown was not done.
func answerOf(err error) Answer {
	switch {
	case err == nil:
		return Done
	case errors.Is(err, store.ErrUnknown), errors.Is(err, context.Canceled) && store.OutcomeOf(err) != store.NotDone:
		return Unsure
	}
	return Undone
}
