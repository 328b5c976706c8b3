package board

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
)

// This file keeps windows and reads within the node's request budget. A write of an entry is
// an ordered read and an ordered write, so the smaller budget of the two counts.

// meter looks at the request budget without waiting for it.
type meter struct {
	room  func() int  // entries that could be written now
	reads func() bool // a read could be made now
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
	}
}

// allowance is how many entries a window may write.
func (s *Service) allowance(t *tally) int {
	n := budgetOf(s.opts.WritesPerFlush, s.opts.Budget)
	if s.host.meter == nil {
		return n
	}
	room := s.host.meter.room()
	t.short = room == 0
	return min(n, room)
}

// afford is how many of n entries of the board the budget pays for now: others spend it too,
// and to create the board, or to see that it is there, costs as much as an entry.
func (s *Service) afford(b *board, n int) int {
	if s.host.meter == nil {
		return n
	}
	room := s.host.meter.room()
	if room > 1 && !b.checked() {
		room--
	}
	return min(n, room)
}

// readsWait tells that a read would wait for budget. Who has a page, however old, does not.
func (s *Service) readsWait() bool { return s.host.meter != nil && !s.host.meter.reads() }

// longestFill is how long a purse takes to be filled.
const longestFill = time.Minute

// boundedMerge is bounded for a write. A batch that is sent again as it was may be larger than
// what the budget has now. It waits for it, and all others behind it: else they would spend
// what it needs, again and again.
func (s *Service) boundedMerge(ctx context.Context, c batch) (context.Context, context.CancelFunc) {
	if s.host.meter == nil || !c.unknown || s.opts.CallTimeout < 0 {
		return s.bounded(ctx)
	}
	return clock.WithTimeout(ctx, s.host.clock, longestFill+s.opts.CallTimeout)
}
