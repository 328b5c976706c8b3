package board

import (
	"context"

	"github.com/shoalworks/shoal/node"
)

// This file keeps windows and reads within the node's request budget. A write of an entry is
// an ordered read and an ordered write, so the smaller budget of the two counts.

// meter looks at the request budget.
type meter struct {
	room   func() int  // entries that could be written now, without waiting
	reads  func() bool // a read could be made now, without waiting
	share  func() int  // entries to stand in line for, while others wait for budget; else 0
	prepay func(ctx context.Context, n int) (*node.Prepaid, error)
}

// meterOf is nil when the node has no limits.
func meterOf(n *node.Node) *meter {
	if n.For(node.ClassBoard) == n.Store() {
		return nil
	}
	return &meter{
		room: func() int { return n.Room(node.ClassBoard, node.KindOrderedRead, node.KindOrderedWrite) },
		reads: func() bool {
			return n.Room(node.ClassBoard, node.KindOrderedRead) > 0
		},
		share: func() int { return n.FairShare(node.ClassBoard) },
		prepay: func(ctx context.Context, entries int) (*node.Prepaid, error) {
			return n.Prepay(ctx, node.ClassBoard, entries)
		},
	}
}

// allowance is how many of the entries that wait a window may write, and what is prepaid for
// them.
func (s *Service) allowance(ctx context.Context, waiting []int, t *tally) (n int, paid *node.Prepaid) {
	n = budgetOf(s.opts.WritesPerFlush, s.opts.Budget)
	if s.host.meter == nil {
		return n, nil
	}
	if room := s.host.meter.room(); room > 0 {
		return min(n, room), nil
	}
	t.short = true
	paid = s.standInLine(ctx, min(n, total(waiting)))
	return paid.Left(), paid
}

// standInLine waits, for a window that has no budget because others wait for it, until the
// window's turn has come: reads without end would leave it none. Nil is none.
func (s *Service) standInLine(ctx context.Context, entries int) *node.Prepaid {
	n := min(entries, s.host.meter.share())
	if s.drain.hasBegun() {
		n = min(n, 1) // what there is until the deadline
	}
	if n == 0 {
		return nil
	}
	p, err := s.prepay(ctx, n)
	if err != nil {
		s.host.logger.DebugContext(ctx, "a window without budget", "err", err)
	}
	return p
}

// prepay waits for budget until the service or the node closes: then those who read go away,
// and the window looks again. While they close it waits until the end.
func (s *Service) prepay(ctx context.Context, entries int) (*node.Prepaid, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begun, closing := s.drain.begun, s.host.closing
	if s.drain.hasBegun() {
		begun, closing = nil, nil
	} else if s.drain.hurried.Load() {
		closing = nil
	}
	go func() {
		select {
		case <-begun:
		case <-closing:
		case <-ctx.Done():
		}
		cancel()
	}()
	return s.host.meter.prepay(ctx, entries)
}

// afford is how many of n entries of the board the budget pays for now: others spend it too,
// and to create the board, or to see that it is there, costs as much as an entry.
func (s *Service) afford(b *board, n int, paid *node.Prepaid) int {
	if s.host.meter == nil {
		return n
	}
	room := paid.Left()
	if paid == nil {
		room = s.host.meter.room()
	}
	if room > 1 && !b.checked() {
		room--
	}
	return min(n, room)
}

// readsWait tells that a read would wait for budget. Who has a page, however old, does not.
func (s *Service) readsWait() bool { return s.host.meter != nil && !s.host.meter.reads() }

// payWhole waits for the budget of a batch that is sent again as it was: it may be larger than
// what the budget has now, and all others wait behind it, else they would spend what it needs,
// again and again.
func (s *Service) payWhole(ctx context.Context, c batch) (*node.Prepaid, error) {
	if s.host.meter == nil || !c.unknown {
		return nil, nil //nolint:nilnil // nothing is to be paid
	}
	return s.prepay(ctx, len(c.values))
}
