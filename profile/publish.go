package profile

import (
	"slices"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
)

// maxUnpublished is how many commits may wait for the listeners; beyond it transactions are
// refused with ErrBusy.
const maxUnpublished = 1024

// publishing is how commits reach those who follow them. Listeners get them in order, each
// once, one at a time; watches at their own pace.
type publishing struct {
	listeners []*listener // never changed in place
	queue     []Commit
	running   bool
	current   *listener   // the one that is running
	since     time.Time   // when it was called
	alarm     clock.Timer // somebody will look how long it takes; nil: nobody
	reported  time.Time   // when the last slow one was called
	watches   []*Watch
}

type listener struct {
	name string
	call func(Commit)
	slow bool // has been logged
}

// OnCommit has fn called with every commit from now on, in order, one at a time, after the
// commit; normally before Transact returns, unless another goroutine is already delivering.
// fn may read the session and call Transact; it should not block, since later commits wait
// for it: one that takes longer than ListenerTimeout is named in the log, once, and when 1,024
// commits wait, transactions are refused with an ErrBusy that names it. A panic is caught,
// counted and logged. stop ends it; the session's end does too.
func (s *Session) OnCommit(fn func(Commit)) (stop func()) {
	l := &listener{name: funcName(fn), call: fn}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.publish.listeners = append(slices.Clip(s.mu.publish.listeners), l)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.publish.listeners = slices.DeleteFunc(slices.Clone(s.mu.publish.listeners), func(o *listener) bool { return o == l })
	}
}

// publishLocked hands a commit to everybody who follows the session. Its edits are nobody
// else's.
func (s *Session) publishLocked(c Commit) {
	if len(s.mu.publish.listeners) > 0 {
		s.mu.publish.queue = append(s.mu.publish.queue, c)
	}
	for _, w := range s.mu.publish.watches {
		w.add(c)
	}
	s.auditLocked(c)
}

// retractLocked takes back what was published and can never be stored: the session is back at
// an earlier state, and about to end.
func (s *Session) retractLocked(data doc.Value, revision uint64) {
	for _, w := range s.mu.publish.watches {
		w.resync(data, revision)
	}
	s.mu.beside.audit.retract(revision + 1)
}

// deliver calls the listeners with what is queued, unless somebody is at it already: then
// that one does.
func (s *Session) deliver() {
	s.mu.Lock()
	if s.mu.publish.running || len(s.mu.publish.queue) == 0 {
		s.mu.Unlock()
		return
	}
	s.mu.publish.running = true
	s.armLocked(s.set.opts.ListenerTimeout)
	for len(s.mu.publish.queue) > 0 {
		c, listeners := s.mu.publish.queue[0], s.mu.publish.listeners
		s.mu.publish.queue = s.mu.publish.queue[1:]
		s.mu.Unlock()
		for _, l := range listeners {
			s.tell(l, c.own())
		}
		s.mu.Lock()
	}
	s.mu.publish.running, s.mu.publish.queue = false, nil
	s.mu.Unlock()
}

// tell calls one listener and catches its panic.
func (s *Session) tell(l *listener, c Commit) {
	now := s.set.clk.Now()
	s.mu.Lock()
	s.mu.publish.current, s.mu.publish.since = l, now
	s.mu.Unlock()
	defer func() {
		p := recover()
		s.mu.Lock()
		s.mu.publish.current = nil
		s.mu.Unlock()
		if p != nil {
			s.set.stats.panics.Add(1)
			s.set.log.ErrorContext(s.set.life(), "listener panicked", "key", s.key, "listener", l.name, "panic", p)
		}
	}()
	l.call(c)
}

// armLocked has somebody look at the listener that is running then: one timer a session at
// most, and none while nothing is delivered.
func (s *Session) armLocked(after time.Duration) {
	if s.mu.publish.alarm == nil {
		s.mu.publish.alarm = s.set.clk.AfterFunc(after, s.lookAtListener)
	}
}

// disarmLocked has nobody look any more: the session has ended.
func (s *Session) disarmLocked() {
	if t := s.mu.publish.alarm; t != nil {
		t.Stop()
		s.mu.publish.alarm = nil
	}
}

// lookAtListener counts and names a listener that takes too long.
func (s *Session) lookAtListener() {
	now, limit := s.set.clk.Now(), s.set.opts.ListenerTimeout
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.mu.publish
	p.alarm = nil
	if !p.running || s.mu.reason != 0 {
		return
	}
	ran, next := now.Sub(p.since), limit
	switch {
	case p.current == nil:
	case ran < limit:
		next = limit - ran
	case !p.reported.Equal(p.since): // once a call
		p.reported = p.since
		s.set.stats.slow.Add(1)
		if !p.current.slow {
			p.current.slow = true
			s.set.log.WarnContext(s.set.life(), "listener is slow: later commits wait for it", "key", s.key, "listener", p.current.name, "timeout", limit, "waiting", len(p.queue))
		}
	}
	s.armLocked(next)
}

// stuckListener names the listener that is running now, empty when none is.
func (s *Session) stuckListener() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.currentListenerLocked()
}

func (s *Session) currentListenerLocked() string {
	if l := s.mu.publish.current; l != nil {
		return l.name
	}
	return ""
}
