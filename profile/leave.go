package profile

import (
	"context"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Release ends the session in order: the OnLeave functions run, one final save stores the
// data and frees the profile, in one write or not at all. It returns nil when that is done,
// also if another node was given the session meanwhile, and ErrLost when it was taken.
//
// Releasing is a decision: when ctx ends first, the error is an ErrUnknown and the release
// goes on by itself until it is stored. While the store refuses it the session can still be
// changed; when an answer was lost it is frozen until the outcome is known.
func (s *Session) Release(ctx context.Context) error {
	lv := s.leave(Released, nil)
	if lv == nil {
		return s.farewell()
	}
	select {
	case <-lv.over:
		return s.farewell()
	case <-ctx.Done():
		return fmt.Errorf("profile: release %s: %w: %w", s.key, context.Cause(ctx), store.ErrUnknown)
	}
}

// farewell is what Release says of an ended session.
func (s *Session) farewell() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.reason == Lost {
		return s.endedLocked()
	}
	if err := s.mu.unstored; err != nil {
		return fmt.Errorf("profile: release %s: %w", s.key, err)
	}
	return nil
}

// Leaving is why the session is about to end, or 0: Released, HandedOver or Closed. Another
// node waits for a session that is handed over, so an OnLeave function should not keep it.
func (s *Session) Leaving() Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch lv := s.mu.leaving; {
	case lv == nil || s.mu.reason != 0:
		return 0
	case lv.to != nil:
		return HandedOver
	default:
		return lv.why
	}
}

// leave begins the end of the session, or joins it; nil when it has ended. An asker joins
// an end under way, and the newest goes first: the final save that is sent next names it.
func (s *Session) leave(why Reason, to *asker) *leaving {
	now := s.set.clk.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.reason != 0 {
		return nil
	}
	lv := s.mu.leaving
	if lv == nil {
		lv = &leaving{why: why, over: make(chan struct{})}
		s.mu.leaving = lv
		s.mu.write.fails = 0
		s.sayGoodbyeLocked(lv)
	}
	if why != HandedOver && lv.why == HandedOver {
		lv.why = why
	}
	if why == Closed {
		lv.why = Closed
	}
	if s.mu.void { // whoever ends it
		lv.why = Lost
	}
	if to != nil && (lv.to == nil || lv.to.token != to.token) {
		lv.to, lv.begun, lv.accepted = to, now, false
	}
	return lv
}

// sayGoodbyeLocked runs the leave hooks, then has the final save sent.
func (s *Session) sayGoodbyeLocked(lv *leaving) {
	if s.postponesLocked(lv) {
		return
	}
	hooks := s.set.hooks.leaving()
	if len(hooks) == 0 || s.errand {
		lv.ready = true
		s.queueLocked(urgent)
		return
	}
	s.set.tasks.start(func() {
		s.set.run(s.set.life(), "OnLeave", hooks, s)
		s.mu.Lock()
		defer s.mu.Unlock()
		lv.ready = true
		s.queueLocked(urgent)
	})
}

// last makes the final record: granted to the asker, or free.
func (lv *leaving) last(rec record, now time.Time) record {
	if lv.to != nil {
		return granted(rec, *lv.to, now)
	}
	return released(rec, now)
}

// giveUpLocked ends a hand-over whose ask has become void while the store refused the final
// save: the session lives on. A release is never given up.
func (s *Session) giveUpLocked(now time.Time) {
	lv := s.mu.leaving
	if lv == nil || lv.to == nil || now.Sub(lv.begun) <= s.set.opts.LoadTimeout {
		return
	}
	lv.to = nil
	if lv.why == HandedOver {
		s.mu.leaving = nil
		close(lv.over)
	}
}

// left ends a session whose final save is stored, and tells the asker.
func (s *Session) left(lv *leaving) {
	s.mu.Lock()
	rec, why := s.mu.rec, lv.why // a Release may join the end until it is over
	s.tidyLocked(true)
	s.mu.Unlock()
	if rec.session != nil {
		if why != Lost {
			why = HandedOver
		}
		s.set.tasks.start(func() { s.set.tellGrantee(s.key, rec.session, s.token) })
	}
	s.end(why)
}

// tellGrantee tells the next holder that it is one. It would find out by itself.
func (s *Set) tellGrantee(key string, to *tenure, from string) {
	ctx, cancel := s.call()
	defer cancel()
	err := s.node.Tell(ctx, to.node, node.Note{
		Kind: node.NoteGranted, Set: s.name, Key: key, Token: to.token, Node: s.node.ID(), For: from,
	})
	if err != nil {
		s.log.DebugContext(ctx, "hand-over not told", "key", key, "to", to.node, "err", err)
	}
}

// over is closed when the end that is under way has come, or was given up; nil when the
// session is not leaving.
func (s *Session) over() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.reason != 0 {
		return s.slot.gone
	}
	if s.mu.leaving == nil {
		return nil
	}
	return s.mu.leaving.over
}
