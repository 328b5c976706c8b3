package chaos

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// tradePatience is how often a player counts while an answer to a trade is missing. A profile
// remembers the last 64 ids, and only then a trade is safe to ask for again.
const tradePatience = 20

// deal is a trade between two players: coins for nothing.
type deal struct {
	id       string
	from, to string
	coins    int64
}

// trade makes a deal at this daemon. refused says that it certainly did not, and never will by
// this call.
func (a *api) trade(ctx context.Context, d deal) (refused bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	side := func(key string, coins int64) *shoalv1.ProfileTradeParty {
		return &shoalv1.ProfileTradeParty{Set: set, Key: key, Ops: fmt.Sprintf(
			`[{"op":"increment","path":"/coins","by":%d},{"op":"increment","path":"/got/%s","by":1}]`, coins, d.id)}
	}
	_, err = a.profile.Trade(ctx, &shoalv1.ProfileTradeRequest{
		Id: d.id, Parties: []*shoalv1.ProfileTradeParty{side(d.from, -d.coins), side(d.to, d.coins)},
	})
	return outcome(err) == "not_done", err
}

// haggle asks for a trade with somebody here, or again for one whose answer is missing.
func (p *player) haggle(ctx context.Context, t *Tenure) {
	first := p.pending == nil
	if first {
		other := p.market.meet(p.rng, p.key, t.daemon)
		if other == "" || p.deals == letters {
			return
		}
		d := deal{id: fmt.Sprintf("t-%s-%d", p.key, p.deals), from: p.key, to: other, coins: 1 + p.rng.Int64N(9)}
		p.deals++
		p.pending, p.since = &d, 0
		p.ledger.Dealing(d.id, d.from, d.to, d.coins)
	} else if at, ok := p.market.find(p.pending.to); !ok || at != t.daemon {
		return
	}
	refused, err := p.daemons[t.daemon].api.trade(ctx, *p.pending)
	switch {
	case err == nil:
		p.ledger.Dealt(p.pending.id, p.key)
	case first && refused:
		p.ledger.Refused(p.pending.id, p.key)
	default:
		return
	}
	p.pending = nil
}

// auditDeals asks again for all trades whose answers are missing: in a healthy fleet each is
// made or was.
func (w *world) auditDeals(ctx context.Context, players []*player) {
	var g errgroup.Group
	g.SetLimit(auditors)
	for _, p := range players {
		if p.pending == nil {
			continue
		}
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, auditWithin)
			defer cancel()
			if err := w.auditDeal(ctx, *p.pending); err != nil {
				w.ledger.Violate(p.key, "trade %s does not settle: %v", p.pending.id, err)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// auditDeal settles one trade, at the daemon that settles all.
func (w *world) auditDeal(ctx context.Context, d deal) error {
	return again(ctx, func() error {
		for _, key := range []string{d.from, d.to} {
			if _, err := w.open(ctx, key, 0); err != nil {
				return err
			}
		}
		_, err := w.members[0].api.trade(ctx, d)
		if err == nil {
			w.ledger.Dealt(d.id, d.from)
		}
		return err
	})
}
