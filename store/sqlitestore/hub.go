package sqlitestore

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
)

// hub hands messages to the subscriptions of one engine.
type hub struct {
	limit int // messages that wait for a subscription
	mu    struct {
		sync.Mutex
		topics map[string][]*subscription
		all    map[*subscription]struct{} // until their goroutines are gone
		closed bool
	}
}

func newHub(limit int) *hub {
	h := &hub{limit: limit}
	h.mu.topics = make(map[string][]*subscription)
	h.mu.all = make(map[*subscription]struct{})
	return h
}

// deliver queues a copy of payload for every subscription of the topic. It never waits.
func (h *hub) deliver(topic string, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.mu.topics[topic] {
		s.queue(payload)
	}
}

// subscribe starts a subscription; ok is false when the hub is closed.
func (h *hub) subscribe(topic string, receive func([]byte)) (s *subscription, ok bool) {
	s = &subscription{
		hub: h, topic: topic, receive: receive,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.closed {
		return nil, false
	}
	h.mu.topics[topic] = append(h.mu.topics[topic], s)
	h.mu.all[s] = struct{}{}
	started := make(chan struct{})
	go s.run(started)
	<-started
	return s, true
}

// leave takes a subscription out of its topic.
func (h *hub) leave(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := slices.DeleteFunc(h.mu.topics[s.topic], func(other *subscription) bool { return other == s })
	if h.mu.topics[s.topic] = rest; len(rest) == 0 {
		delete(h.mu.topics, s.topic)
	}
}

func (h *hub) gone(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.all, s)
}

func (h *hub) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.closed
}

// close lets nobody in and answers who is still there.
func (h *hub) close() []*subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.closed = true
	all := make([]*subscription, 0, len(h.mu.all))
	for s := range h.mu.all {
		all = append(all, s)
	}
	return all
}

// wait waits for the receivers that are still running. Called by one of them, it leaves
// that one out.
func (h *hub) wait(ctx context.Context) error {
	for _, s := range h.close() {
		if s.isCaller() {
			continue
		}
		select {
		case <-s.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// subscription calls its receiver on a goroutine of its own, which ends with it.
type subscription struct {
	hub     *hub
	topic   string
	receive func([]byte)
	wake    chan struct{} // something is waiting, or the end
	done    chan struct{} // the goroutine is gone
	self    string        // names the goroutine; set before subscribe returns
	mu      struct {
		sync.Mutex
		waiting [][]byte
		ended   bool
	}
}

// queue adds a copy of payload. A subscriber that has fallen behind by the limit loses it.
func (s *subscription) queue(payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ended || len(s.mu.waiting) >= s.hub.limit {
		return
	}
	s.mu.waiting = append(s.mu.waiting, append(make([]byte, 0, len(payload)), payload...))
	s.signal()
}

func (s *subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// run calls the receiver, message by message.
func (s *subscription) run(started chan<- struct{}) {
	defer close(s.done)
	defer s.hub.gone(s)
	s.self = goroutineName()
	close(started)
	for {
		payload, ok, ended := s.next()
		switch {
		case ended:
			return
		case ok:
			s.receive(payload)
		default:
			<-s.wake
		}
	}
}

func (s *subscription) next() (payload []byte, ok, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ended {
		return nil, false, true
	}
	if len(s.mu.waiting) == 0 {
		s.mu.waiting = nil // do not keep what a burst needed
		return nil, false, false
	}
	payload = s.mu.waiting[0]
	s.mu.waiting[0] = nil
	s.mu.waiting = s.mu.waiting[1:]
	return payload, true, false
}

// Close implements store.Subscription.
func (s *subscription) Close() {
	s.end()
	if !s.isCaller() {
		<-s.done
	}
}

// end makes sure that no further call of the receiver begins.
func (s *subscription) end() {
	s.hub.leave(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.ended, s.mu.waiting = true, nil
	s.signal()
}

// isCaller tells that the receiver itself is calling.
func (s *subscription) isCaller() bool { return s.self == goroutineName() }

// goroutineName names the running goroutine. Close has to wait for a running receiver unless
// it is called by it, and nothing else in Go tells these apart: the runtime says it only in
// the first line of a stack trace ("goroutine 7 [running]:").
func goroutineName() string {
	var line [64]byte
	name, _, _ := bytes.Cut(line[:runtime.Stack(line[:], false)], []byte(" ["))
	return string(name)
}
