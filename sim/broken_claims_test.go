package sim_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

// This file breaks, on purpose, what libraries must do exactly once (PROTOCOL.md B5).

// sending is our library, with what it sends to the durable store replaced by what a library
// with a flaw would send.
func sending(do func(ctx context.Context, r store.Records, tx store.Tx) (answer error, instead bool)) sim.Ours {
	return sim.Ours{Parts: func(p store.Parts) store.Parts {
		durable := p.Durable
		p.Durable = &decorated{Records: durable, commit: func(ctx context.Context, tx store.Tx) (error, bool) { return do(ctx, durable, tx) }}
		return p
	}}
}

func begins(prefix string, op store.Op) func(store.Write) bool {
	return func(w store.Write) bool { return strings.HasPrefix(w.Key, prefix) && w.Op == op }
}

func without(tx store.Tx, which func(store.Write) bool) store.Tx {
	return slices.DeleteFunc(slices.Clone(tx), which)
}

func TestReceiptThatIsNotStoredIsCaught(t *testing.T) {
	library := sending(func(ctx context.Context, r store.Records, tx store.Tx) (error, bool) {
		rest := without(tx, begins("receipt/", store.Put))
		if len(rest) == len(tx) || len(rest) == 0 {
			return nil, false
		}
		return r.Commit(ctx, rest)[0], true
	})
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "without its claim", "granted twice")
}

func TestMailThatIsRemovedWithoutEffectIsCaught(t *testing.T) {
	library := sending(func(ctx context.Context, r store.Records, tx store.Tx) (error, bool) {
		if !slices.ContainsFunc(tx, begins("mail/", store.Delete)) {
			return nil, false
		}
		return r.Commit(ctx, without(tx, begins("profile/", store.Put)))[0], true
	})
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "mail lost")
}

func TestMailThatIsNotRememberedIsCaught(t *testing.T) {
	library := sending(func(ctx context.Context, r store.Records, tx store.Tx) (error, bool) {
		forgetful := slices.Clone(tx)
		for i, w := range forgetful {
			if begins("profile/", store.Put)(w) {
				forgetful[i].Value = bytes.Replace(w.Value, []byte(`"handled":`), []byte(`"formerly":`), 1)
			}
		}
		return r.Commit(ctx, forgetful)[0], true
	})
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "handled id not kept")
}

func TestTradeInTwoWritesIsCaught(t *testing.T) {
	library := sending(func(ctx context.Context, r store.Records, tx store.Tx) (error, bool) {
		if n := len(without(tx, begins("profile/", store.Put))); len(tx)-n < 2 {
			return nil, false
		}
		for _, w := range tx {
			if err := r.Commit(ctx, store.Tx{w})[0]; err != nil {
				return err, true
			}
		}
		return nil, true
	})
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "half a trade", "not conserved")
}

// amiss is our library with flaws in what it does once.
type amiss struct {
	sim.Ours
	grant func(ctx context.Context, h sim.Claimant, id string, ops []doc.Op) sim.Answer
	trade func(ctx context.Context, sides []sim.Side) sim.Answer
	edit  func(ctx context.Context, h sim.Clearing, key, id string, ops []doc.Op) sim.Answer
}

func (f amiss) Start(ctx context.Context, p *sim.Process, name string, s sim.Settings) (sim.Host, error) {
	h, err := f.Ours.Start(ctx, p, name, s)
	if err != nil {
		return nil, err
	}
	c, _ := h.(sim.Clearing)
	return amissHost{c, f}, nil
}

type amissHost struct {
	sim.Clearing
	amiss amiss
}

func (h amissHost) Load(ctx context.Context, key string, how sim.How) (sim.Hold, error) {
	s, err := h.Clearing.Load(ctx, key, how)
	if err != nil {
		return nil, err
	}
	c, _ := s.(sim.Claimant)
	return amissHold{c, h.amiss}, nil
}

func (h amissHost) Edit(ctx context.Context, key, id string, ops ...doc.Op) sim.Answer {
	if h.amiss.edit == nil {
		return h.Clearing.Edit(ctx, key, id, ops...)
	}
	return h.amiss.edit(ctx, h.Clearing, key, id, ops)
}

func (h amissHost) Trade(ctx context.Context, id string, sides ...sim.Side) sim.Answer {
	if h.amiss.trade != nil {
		return h.amiss.trade(ctx, sides)
	}
	for i, s := range sides {
		if f, ok := s.Hold.(amissHold); ok {
			sides[i].Hold = f.Claimant
		}
	}
	return h.Clearing.Trade(ctx, id, sides...)
}

type amissHold struct {
	sim.Claimant
	amiss amiss
}

func (h amissHold) Grant(ctx context.Context, id string, ops ...doc.Op) sim.Answer {
	if h.amiss.grant == nil {
		return h.Claimant.Grant(ctx, id, ops...)
	}
	return h.amiss.grant(ctx, h.Claimant, id, ops)
}

// A receipt that is granted like a step of play is in journals before it is anywhere else.
func TestClaimInAJournalIsCaught(t *testing.T) {
	library := amiss{grant: func(ctx context.Context, h sim.Claimant, _ string, ops []doc.Op) sim.Answer {
		if _, _, err := h.Transact(ops...); err != nil {
			return sim.Undone
		}
		if h.Sync(ctx) != nil {
			return sim.Unsure
		}
		return sim.Done
	}}
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "claim journaled", "without its claim", "granted twice")
}

// A grant that is answered before it is stored.
func TestHastyGrantIsCaught(t *testing.T) {
	library := amiss{grant: func(ctx context.Context, h sim.Claimant, id string, ops []doc.Op) sim.Answer {
		go h.Grant(ctx, id, ops...)
		return sim.Done
	}}
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "done, not stored")
}

// A grant that is under way is said not to be done.
func TestGrantThatIsDeniedIsCaught(t *testing.T) {
	library := amiss{grant: func(ctx context.Context, h sim.Claimant, id string, ops []doc.Op) sim.Answer {
		go h.Grant(context.WithoutCancel(ctx), id, ops...)
		return sim.Undone
	}}
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "refused, but done")
}

// A trade whose sides are journaled one by one.
func TestTradeInJournalsIsCaught(t *testing.T) {
	library := amiss{trade: func(ctx context.Context, sides []sim.Side) sim.Answer {
		for _, s := range sides {
			if _, _, err := s.Hold.Transact(s.Ops...); err != nil {
				return sim.Unsure
			}
			if s.Hold.Sync(ctx) != nil {
				return sim.Unsure
			}
		}
		return sim.Done
	}}
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "claim journaled", "half a trade", "not conserved")
}

func TestEditThatIsAppliedTwiceIsCaught(t *testing.T) {
	library := amiss{edit: func(ctx context.Context, h sim.Clearing, key, id string, ops []doc.Op) sim.Answer {
		if answer := h.Edit(ctx, key, id, ops...); answer != sim.Done {
			return answer
		}
		return h.Edit(ctx, key, id+"-again", ops...)
	}}
	caught(t, sim.Options{Library: library}, []string{"claimsLost"}, "edited twice")
}
