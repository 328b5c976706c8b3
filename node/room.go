package node

import (
	"context"
	"fmt"
	"math"

	"github.com/shoalworks/shoal/store"
)

// This file sizes calls to the request budget: what asks for many requests at once takes what
// there is, instead of waiting until there is enough for all of it.

// Room is how many requests of each of the kinds a call of the class could make now, without
// waiting and without debt; when the budget is full it is at least 1. It is 0 while others
// wait for one of the kinds. Without limits, and for kinds without one, it is math.MaxInt.
func (n *Node) Room(c Class, kinds ...Kind) int {
	if n.gate == nil {
		return math.MaxInt
	}
	var d demand
	for _, k := range kinds {
		d[k] = 1
	}
	return n.gate.room(c, d)
}

// room is how many times a call that asks for d could be made now; d asks for at most one of
// each kind.
func (g *gate) room(c Class, d demand) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refillLocked(g.clock.Now())
	if g.blockedLocked(c, d) {
		return 0
	}
	n := math.MaxInt
	for k, wanted := range d {
		if wanted > 0 {
			n = min(n, g.mu.purses[k].room(c, g.limits.Reserve))
		}
	}
	return n
}

// holds is how many times a call that asks for d can ever be made at once.
func (g *gate) holds(c Class, d demand) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refillLocked(g.clock.Now())
	n := math.MaxInt
	for k, wanted := range d {
		if p := g.mu.purses[k]; wanted > 0 && p.full > 0 {
			p.tokens = p.full
			n = min(n, p.room(c, g.limits.Reserve))
		}
	}
	return n
}

// room is how many requests may be made by a class without debt; at least 1 of a full purse.
func (p purse) room(c Class, reserve int) int {
	if p.full == 0 {
		return math.MaxInt
	}
	n := max(0, int(math.Floor(p.tokens-p.left(c, reserve))))
	if n == 0 && p.affords(1, c, reserve) {
		return 1
	}
	return n
}

// inParts makes a call for parts of n things, each no larger than what the budget ever holds,
// and each when the budget allows it. Parts that were done before one fails stay done: then
// the outcome of the whole is unknown.
func (g gatedBoards) inParts(ctx context.Context, n int, call func(ctx context.Context, from, to int) error) error {
	for from := 0; from < n; {
		to := min(n, from+g.gate.holds(termsOf(ctx, g.class).Class, demand{KindOrderedRead: 1, KindOrderedWrite: 1}))
		if from == 0 && to == n {
			return g.part(ctx, 0, n, call)
		}
		if err := g.part(ctx, from, to, call); err != nil {
			if from > 0 && store.OutcomeOf(err) == store.NotDone {
				return fmt.Errorf("%d of %d done, then: %w: %s", from, n, store.ErrUnknown, err.Error())
			}
			return err
		}
		from = to
	}
	return nil
}

func (g gatedBoards) part(ctx context.Context, from, to int, call func(ctx context.Context, from, to int) error) error {
	ctx, end, err := g.changing(ctx, to-from)
	if err != nil {
		return err
	}
	defer end()
	return call(ctx, from, to)
}

// Merge is one call, or several when the batch is larger than what the budget ever holds: each
// of them is atomic then, not all together. A batch of sums is never cut, because its number
// stands for all of it: it goes when the budget is full, and leaves a debt.
func (g gatedBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	if batch.Rule == store.Sum {
		ctx, end, err := g.changing(ctx, len(batch.Entries))
		if err != nil {
			return nil, err
		}
		defer end()
		return g.Boards.Merge(ctx, board, batch)
	}
	changes := make([]store.Change, 0, len(batch.Entries))
	err := g.inParts(ctx, len(batch.Entries), func(ctx context.Context, from, to int) error {
		part := batch
		part.Entries = batch.Entries[from:to]
		got, err := g.Boards.Merge(ctx, board, part)
		changes = append(changes, got...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// Remove is one call, or several, as in Merge. How many there were is counted over all.
func (g gatedBoards) Remove(ctx context.Context, board string, keys ...string) (removed int, err error) {
	err = g.inParts(ctx, len(keys), func(ctx context.Context, from, to int) error {
		n, err := g.Boards.Remove(ctx, board, keys[from:to]...)
		removed += n
		return err
	})
	return removed, err
}

// Erase is one call, or several, as in Merge. How many there were is counted over all.
func (g gatedBoards) Erase(ctx context.Context, board string, keys ...string) (erased int, err error) {
	err = g.inParts(ctx, len(keys), func(ctx context.Context, from, to int) error {
		n, err := g.Boards.Erase(ctx, board, keys[from:to]...)
		erased += n
		return err
	})
	return erased, err
}
