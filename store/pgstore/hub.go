package pgstore

import (
	"bytes"
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
)

// hub hands messages to the subscriptions of one engine.
type hub struct {
	limit   int                // messages that wait for a subscription
	changed func(topic string) // called when the first comes to a topic, or the last leaves it
	mu      struct {
		sync.Mutex
		topics map[string][]*subscription
		all    map[*subscription]struct{} // until their goroutines are gone
		closed bool
	}
}

func newHub(limit int, changed func(topic string)) *hub {
	h := &hub{limit: limit, changed: changed}
	h.mu.topics = make(map[string][]*subscription)
	h.mu.all = make(map[*subscription]struct{})
	return h
}

// topics are those that somebody subscribes to.
func (h *hub) topics() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.mu.topics))
}

// deliver queues a copy of payload for every subscription of the topic. It never waits.
func (h *hub) deliver(topic string, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.mu.topics[topic] {
		s.push(payload)
	}
}

// add starts a subscription; nil when the hub is closed.
func (h *hub) add(topic string, receive func([]byte)) *subscription {
	s := &subscription{
		hub: h, topic: topic, receive: receive,
		wake: make(chan struct{}, 1), gone: make(chan struct{}), started: make(chan struct{}),
	}
	if !h.enrol(s) {
		return nil
	}
	go s.run()
	<-s.started
	return s
}

func (h *hub) enrol(s *subscription) bool {
	h.mu.Lock()
	if h.mu.closed {
		h.mu.Unlock()
		return false
	}
	h.mu.topics[s.topic] = append(h.mu.topics[s.topic], s)
	h.mu.all[s] = struct{}{}
	first := len(h.mu.topics[s.topic]) == 1
	h.mu.Unlock()
	if first {
		h.changed(s.topic)
	}
	return true
}

// leave takes a subscription out of its topic.
func (h *hub) leave(s *subscription) {
	h.mu.Lock()
	before := len(h.mu.topics[s.topic])
	rest := slices.DeleteFunc(h.mu.topics[s.topic], func(other *subscription) bool { return other == s })
	if h.mu.topics[s.topic] = rest; len(rest) == 0 {
		delete(h.mu.topics, s.topic)
	}
	h.mu.Unlock()
	if before > 0 && len(rest) == 0 {
		h.changed(s.topic)
	}
}

func (h *hub) forget(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.all, s)
}

func (h *hub) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.closed
}

// close lets nobody in and ends whoever is there.
func (h *hub) close() []*subscription {
	h.mu.Lock()
	h.mu.closed = true
	all := slices.Collect(maps.Keys(h.mu.all))
	h.mu.Unlock()
	for _, s := range all {
		s.end()
	}
	return all
}

// subscription calls its receiver on a goroutine of its own, which ends with it.
type subscription struct {
	hub     *hub
	topic   string
	receive func([]byte)
	wake    chan struct{} // something is waiting, or the end
	started chan struct{} // runner is set
	gone    chan struct{} // the goroutine is gone
	runner  string        // names the goroutine; set before started is closed
	mu      struct {
		sync.Mutex
		waiting [][]byte
		ended   bool
	}
}

// push queues a copy of payload. A subscriber that has fallen behind by the limit loses it.
func (s *subscription) push(payload []byte) {
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
func (s *subscription) run() {
	defer close(s.gone)
	defer s.hub.forget(s)
	s.runner = goroutine()
	close(s.started)
	for range s.wake {
		for {
			payload, ok := s.next()
			if !ok {
				break
			}
			s.receive(payload)
		}
		if s.hasEnded() {
			return
		}
	}
}

func (s *subscription) next() (payload []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ended || len(s.mu.waiting) == 0 {
		s.mu.waiting = nil // do not keep what a burst needed
		return nil, false
	}
	payload = s.mu.waiting[0]
	s.mu.waiting[0] = nil
	s.mu.waiting = s.mu.waiting[1:]
	return payload, true
}

func (s *subscription) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.ended
}

// Close implements store.Subscription.
func (s *subscription) Close() {
	s.end()
	_ = s.wait(context.Background()) // it cannot end early
}

// end makes sure that no further call of the receiver begins.
func (s *subscription) end() {
	s.mu.Lock()
	s.mu.ended, s.mu.waiting = true, nil
	s.signal()
	s.mu.Unlock()
	s.hub.leave(s)
}

// wait waits for the goroutine to be gone, unless it is the caller: a receiver may close its
// own subscription.
func (s *subscription) wait(ctx context.Context) error {
	if s.runner == goroutine() {
		return nil
	}
	select {
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// goroutine names the running goroutine. Nothing but the first line of a stack trace
// ("goroutine 7 [running]:") tells a receiver that closes its own subscription from somebody
// else, who has to wait.
func goroutine() string {
	var line [64]byte
	name, _, _ := bytes.Cut(line[:runtime.Stack(line[:], false)], []byte(" ["))
	return string(name)
}
