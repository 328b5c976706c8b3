package season

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
)

// This file cuts what is written to the boards to what the request budget has.

// errShort is a write to the boards that the budget has no room for now.
var errShort = errors.New("season: no room in the request budget")

// isShort tells that something was not done because the budget is short.
func isShort(err error) bool { return errors.Is(err, errShort) || errors.Is(err, node.ErrBudget) }

// share is how many parcels may be written now, and what is prepaid for them: refund it.
type share struct {
	parcels int
	paid    *node.Prepaid
}

// afford is how many of n parcels, each an entry of so many boards, may be written now. While
// the budget has room it is what there is room for. Else the caller waits in the line of its
// class for as many as the others there, and at least one, so that it is never passed over;
// patient callers only: another is told to come again.
func (s *Service) afford(ctx context.Context, n, boards int, patient bool) (share, error) {
	n = min(n, chunkSize)
	if !s.n.Limited() || boards == 0 {
		return share{parcels: n}, nil
	}
	class := classOf(ctx)
	room := s.n.Room(class, node.KindOrderedRead, node.KindOrderedWrite) / boards
	switch {
	case room > 0:
		n = min(n, room)
	case !patient:
		return share{}, fmt.Errorf("season: write boards of %s: %w", s.set, errShort)
	default:
		n = min(n, max(1, s.n.FairShare(class)/boards))
	}
	wait := ctx
	if d := budgetWait(class); d > 0 {
		var cancel context.CancelFunc
		wait, cancel = clock.WithTimeout(ctx, s.clock, d)
		defer cancel()
	}
	paid, err := s.n.Prepay(wait, class, n*boards)
	if err != nil {
		return share{}, fmt.Errorf("season: write boards of %s: %w", s.set, err)
	}
	return share{n, paid}, nil
}
