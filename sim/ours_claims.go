package sim

import (
	"context"
	"encoding/json"
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
	_, err := h.SendMail(ctx, profile.Source{}, m.To, m.ours(), ops...)
	return answerOf(err)
}

// Send implements Clearing.
func (h *ourHost) Send(ctx context.Context, m Mail) Answer {
	_, err := h.set.Send(ctx, m.To, m.ours())
	return answerOf(err)
}

// mailKind is that of mail that is handled by the game; other mail carries its operations.
const mailKind = "deed"

// ours is mail for our library: every other one is handled by the game.
func (m Mail) ours() profile.Mail {
	out := profile.Mail{ID: m.ID, From: "sim", AllowMissing: true}
	if last := m.ID[len(m.ID)-1]; last%2 == 0 {
		out.Ops = m.Ops
		return out
	}
	body, err := json.Marshal(m.Ops)
	if err == nil {
		out.Kind = mailKind
		out.Body, err = doc.Parse(body, nil)
	}
	if err != nil {
		panic("sim: mail: " + err.Error())
	}
	return out
}

// handleMail is the game's handler.
func handleMail(_ context.Context, _ *profile.Session, m profile.Mail) (ops []doc.Op, err error) {
	return ops, m.Body.Into(&ops)
}

// Edit implements Clearing.
func (h *ourHost) Edit(ctx context.Context, key, id string, ops ...doc.Op) Answer {
	_, err := h.set.Edit(ctx, key, profile.Source{Kind: profile.SourceOperator, Actor: "support", ID: id}, ops...)
	return answerOf(err)
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
