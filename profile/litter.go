package profile

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// litter is a note that is to be removed: an ask that has been answered, or one by which an
// old holder could learn that its session was taken.
type litter struct {
	holder string
	note   node.Note
	due    time.Time
	tries  int
}

const (
	takenFor   = time.Minute // how long a holder has to find out that its session was taken
	maxLitter  = 4096        // notes to be removed; more are left where they are
	maxSweeps  = 120         // tries to remove one: longer than a fast store is down
	sweepAgain = 5 * time.Second
)

// discard removes a note in the background, if it is still that one.
func (s *Set) discard(holder string, n node.Note) { s.discardAt(holder, n, s.clk.Now()) }

// discardAt does so later.
func (s *Set) discardAt(holder string, n node.Note, due time.Time) {
	if n.Version == 0 {
		return
	}
	s.mu.Lock()
	if len(s.mu.litter) < maxLitter {
		s.mu.litter = append(s.mu.litter, litter{holder: holder, note: n, due: due})
	}
	s.mu.Unlock()
	s.plan.wake()
}

// sweep removes what is due, and tells when the next is.
func (s *Set) sweep(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next time.Time
	kept := s.mu.litter[:0]
	for _, l := range s.mu.litter {
		if l.due.After(now) {
			next = earlier(next, l.due)
			kept = append(kept, l)
			continue
		}
		s.tasks.start(func() { s.pickUp(l) })
	}
	clear(s.mu.litter[len(kept):])
	s.mu.litter = kept
	return next
}

// pickUp removes one note, and comes back later when the store does not let it.
func (s *Set) pickUp(l litter) {
	ctx, cancel := s.call()
	defer cancel()
	err := s.fast.Commit(ctx, store.Tx{{
		Key: l.note.StoreKey(l.holder), Op: store.Delete, If: store.Is(l.note.Version),
	}})[0]
	if err == nil || isConflict(err) || hopeless(err) {
		return
	}
	if l.tries++; l.tries >= maxSweeps || s.life().Err() != nil {
		s.log.DebugContext(ctx, "note not removed", "key", l.note.Key, "holder", l.holder, "err", err)
		return
	}
	l.due = s.clk.Now().Add(sweepAgain)
	s.mu.Lock()
	s.mu.litter = append(s.mu.litter, l)
	s.mu.Unlock()
	s.plan.wake()
}

// clean removes what is left before the set closes, except what a living holder may not have
// read yet.
func (s *Set) clean(ctx context.Context) {
	young := s.clk.Now().Add(takenFor - 2*s.node.Options().AskEvery)
	s.mu.Lock()
	notes := s.mu.litter
	s.mu.litter = nil
	s.mu.Unlock()
	for _, l := range notes {
		if ctx.Err() == nil && (l.note.Kind != node.NoteTaken || l.due.Before(young)) {
			l.tries = maxSweeps // once
			s.tasks.start(func() { s.pickUp(l) })
		}
	}
}
