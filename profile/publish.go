package profile

import (
	"slices"
)

// maxUnpublished is how many commits may wait for the listeners; beyond it transactions are
// refused with ErrBusy.
const maxUnpublished = 1024

// publishing is how commits reach listeners: in order, each once, one at a time.
type publishing struct {
	listeners []*listener // never changed in place
	queue     []Commit
	running   bool
	current   *listener // the one that is running, for the report of Close
}

type listener struct {
	name string
	call func(Commit)
}

// OnCommit has fn called with every commit from now on, in order, one at a time, after the
// commit; normally before Transact returns, unless another goroutine is already delivering.
// fn may read the session and call Transact; it should not block, since later commits wait
// for it. A panic is caught, counted and logged. stop ends it; the session's end does too.
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

// deliver calls the listeners with what is queued, unless somebody is at it already: then
// that one does.
func (s *Session) deliver() {
	s.mu.Lock()
	if s.mu.publish.running || len(s.mu.publish.queue) == 0 {
		s.mu.Unlock()
		return
	}
	s.mu.publish.running = true
	for len(s.mu.publish.queue) > 0 {
		c, listeners := s.mu.publish.queue[0], s.mu.publish.listeners
		s.mu.publish.queue = s.mu.publish.queue[1:]
		s.mu.Unlock()
		for _, l := range listeners {
			s.tell(l, c)
		}
		s.mu.Lock()
	}
	s.mu.publish.running, s.mu.publish.queue = false, nil
	s.mu.Unlock()
}

// tell calls one listener and catches its panic.
func (s *Session) tell(l *listener, c Commit) {
	s.mu.Lock()
	s.mu.publish.current = l
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

// stuckListener names the listener that is running now, empty when none is.
func (s *Session) stuckListener() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.mu.publish.current; l != nil {
		return l.name
	}
	return ""
}
