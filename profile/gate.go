package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// This file is how the set's calls go through the node's request budget (DESIGN.md 5). The
// wait for budget comes before the call and is not part of it: CallTimeout bounds the call
// only, and what is sent is decided when the turn has come. Saves of sessions, and whatever
// frees a profile, are class Save; what a load waits for is class Load; autosaves that nobody
// waits for, looks at profiles and disowned tokens that nobody has asked for are Background.
// Beats and notes never wait. Without limits nothing of this costs anything.

// passLive waits for the budget of a journal's request. A fast store of its own is not what
// the limits speak of.
func (s *Set) passLive(ctx context.Context, k node.Kind) error {
	if !s.node.Store().OneRecords() {
		return nil
	}
	return s.node.Pass(ctx, node.ClassLoad, k)
}

// readAs is read when the budget allows it.
func (s *Set) readAs(ctx context.Context, c node.Class, key string) (reading, error) {
	if err := s.node.Pass(ctx, c, node.KindRead); err != nil {
		return reading{}, fmt.Errorf("read record: %w", err)
	}
	return s.read(ctx, key)
}

// putAs is put when the budget allows it, which must be soon: within CallTimeout.
func (s *Set) putAs(c node.Class, key string, rec record, cond, v store.Version) error {
	ctx, cancel := s.call()
	err := s.node.Pass(ctx, c, node.KindWrite)
	cancel()
	if err != nil {
		return err
	}
	return s.put(key, rec, cond, v)
}

// glimpse reads a journal ahead of its need, unless that would take something from others.
func (s *Set) glimpse(ctx context.Context, key string) (*journalReading, error) {
	if s.node.Limited() && s.node.Store().OneRecords() {
		return nil, errSpent
	}
	return s.readJournal(ctx, key)
}

// errSpent is the last thing that went wrong for a load that could not look.
var errSpent = fmt.Errorf("nothing left to look with: %w", node.ErrBudget)

// look reads the record when the budget allows it. Only the first read of a load may take
// what is kept for saves.
func (l *load) look(ctx context.Context) (reading, error) {
	if l.looked {
		return l.set.readAs(ctx, node.ClassLoad, l.key)
	}
	l.looked = true
	if err := l.set.node.PassFirst(ctx, node.KindRead); err != nil {
		return reading{}, fmt.Errorf("read record: %w", err)
	}
	return l.set.read(ctx, l.key)
}

// afford waits until the budget lets the load write; an error ends the load.
func (l *load) afford(ctx context.Context) error {
	for {
		err := l.set.node.Pass(ctx, node.ClassLoad, node.KindWrite)
		if err == nil {
			return nil
		}
		if err := l.pause(ctx, err); err != nil {
			return err
		}
	}
}

// standInLine is how long a waiting load leaves a spent budget alone. Then it queues like
// everybody else: the message that it was granted the session may be lost.
const standInLine = 20 * time.Second

// rest waits for the next look, like sleep; while the budget is spent, for a look that there
// is something left for, or a kick. Nothing polls a spent budget.
func (v *vigil) rest(ctx context.Context, r reading) error {
	l, begun := v.load, v.load.set.clk.Now()
	err := v.sleep(ctx, r)
	for err == nil && !l.maySpend(begun) {
		l.err = errSpent
		err = l.nap(ctx, v.pollEvery(l.set.clk.Now()))
	}
	if err == nil && errors.Is(l.err, errSpent) {
		l.err = nil
	}
	return err
}

// maySpend tells that a load that has rested since begun may look.
func (l *load) maySpend(begun time.Time) bool {
	kicked := l.kicked.Swap(false) // it has been told something: that is no poll
	return kicked || l.set.node.Spare(node.ClassLoad) || l.set.clk.Now().Sub(begun) >= standInLine
}

// nap waits a while, or for a kick.
func (l *load) nap(ctx context.Context, d time.Duration) error {
	t := l.set.clk.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
	case <-l.kick:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// inOrder are the open sessions by key, so that they stand in line in the same order always.
func (s *Set) inOrder() []*Session {
	out := s.Sessions()
	slices.SortFunc(out, func(a, b *Session) int { return strings.Compare(a.key, b.key) })
	return out
}

// urgency is the class in which a disowned token is looked after: somebody waits for the
// record when a note asks for it, or when this node closes.
func (s *Set) urgency(o *orphan) node.Class {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closing || o.note.Version != 0 {
		return node.ClassSave
	}
	return node.ClassBackground
}

// passage is a session's wait for the budget of its next write. No worker is held up by it,
// and nothing is composed yet: the write that is sent in the end holds what was committed
// meanwhile, and is the final one if the session is leaving by then.
type passage struct {
	lane lane // where the session goes then
	turn *node.Turn
	stop context.CancelFunc // ends the wait
}

// end ends the wait: the session has ended.
func (p *passage) end() {
	if p != nil {
		p.stop()
	}
}

// enterLocked puts the session into a lane of the crew as soon as the budget allows its next
// write: at once without limits. A session waits once, for whatever it is to write.
func (s *Session) enterLocked(l lane) {
	w := &s.mu.write
	if w.verify || w.paid || !s.set.node.Limited() {
		s.set.crew.add(s, l)
		return
	}
	switch p := w.passage; {
	case p == nil:
		s.setOutLocked(l)
	case l == urgent:
		w.queued[p.lane], p.lane = false, urgent
		w.queued[urgent] = true
		p.turn.Hurry()
	case p.lane == urgent: // which sees to everything
		w.queued[l] = false
	}
}

// setOutLocked takes the session's place in the line.
func (s *Session) setOutLocked(l lane) {
	class, w := node.ClassSave, &s.mu.write
	if l == plain && s.patientLocked() {
		class = node.ClassBackground
	}
	turn, err := s.set.node.Enter(class, node.KindWrite)
	if turn == nil {
		w.paid = err == nil
		s.set.crew.add(s, l)
		return
	}
	ctx, stop := context.WithCancel(s.set.life())
	p := &passage{lane: l, turn: turn, stop: stop}
	w.passage = p
	s.set.tasks.start(func() {
		defer stop()
		s.arrive(p, s.waitForTurn(ctx, turn))
	})
}

// patientLocked tells that what is due for the session can wait: an autosave, or a save in
// fallback as long as the record's lease outlasts the wait. A record that vouches for beats
// that do not land cannot, since others judge by it, nor can a look whether the session is lost.
func (s *Session) patientLocked() bool {
	if s.fallbackLocked() {
		o := s.set.node.Options()
		return s.set.clk.Now().Sub(s.mu.write.last)+o.Limits.BackgroundWait < o.LeaseTimeout
	}
	return s.dirtyLocked() && s.set.node.Beating()
}

// rushLocked ends a wait as background work that is none any more.
func (s *Session) rushLocked() {
	if p := s.mu.write.passage; p != nil && !s.patientLocked() {
		p.turn.Hurry()
	}
}

// waitForTurn waits for it. An autosave that has waited for BackgroundWait goes before loads
// from then on: what is not stored must not grow without end.
func (s *Session) waitForTurn(ctx context.Context, turn *node.Turn) error {
	if err := turn.Wait(ctx); err == nil || ctx.Err() != nil {
		return err
	}
	return s.set.node.Pass(ctx, node.ClassSave, node.KindWrite)
}

// arrive puts the session into its lane. When it was not let through, the worker finds out
// why, and says so to those who wait.
func (s *Session) arrive(p *passage, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.mu.write
	w.passage, w.paid = nil, err == nil
	w.queued[p.lane] = false
	if w.working {
		return // the worker looks itself for more
	}
	if err != nil && s.mu.reason == 0 {
		w.queued[p.lane] = true
		s.set.crew.add(s, p.lane)
		return
	}
	s.queueLocked(p.lane)
}

// pay uses up what the session has waited for, or waits for more: a write that is sent again.
func (s *Session) pay() error {
	if !s.set.node.Limited() {
		return nil
	}
	s.mu.Lock()
	paid := s.mu.write.paid
	s.mu.write.paid = false
	s.mu.Unlock()
	if paid {
		return nil
	}
	return s.set.node.Pass(s.set.life(), node.ClassSave, node.KindWrite)
}

// unpaid takes in that the budget did not let a write through: it was not made.
func (s *Session) unpaid(final bool, err error) {
	s.mu.Lock()
	w := &s.mu.write
	if w.flying == nil {
		w.flying, w.waiting = w.waiting, nil
	}
	s.mu.Unlock()
	s.failed(attempt{final: final}, err, true)
}

// passSoon waits a moment for the budget of what gives back what a load took.
func (s *Set) passSoon(ctx context.Context) error {
	ctx, cancel := clock.WithTimeout(ctx, s.clk, grace)
	defer cancel()
	return s.node.Pass(ctx, node.ClassSave, node.KindWrite)
}
