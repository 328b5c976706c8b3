package redisstore

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
)

// hub knows the subscriptions of one bus.
type hub struct {
	limit int // messages that wait for a subscription
	mu    struct {
		sync.Mutex
		topics map[string]*topicState
		all    map[*subscription]struct{} // until their goroutines are gone
		closed bool
	}
	wake chan struct{} // the topics have changed, or the end
}

// topicState is a topic that somebody subscribes to.
type topicState struct {
	subscriptions []*subscription
	heard         bool     // the server sends its messages, on the connection of now
	waiting       []waiter // for it to be heard
}

// waiter gets one word: nil when the topic is heard, or why it could not be.
type waiter chan error

func newHub(limit int) *hub {
	h := &hub{limit: limit, wake: make(chan struct{}, 1)}
	h.mu.topics = make(map[string]*topicState)
	h.mu.all = make(map[*subscription]struct{})
	return h
}

func (h *hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default: // somebody will look anyway
	}
}

// deliver queues a copy of the message for every subscription of the topic. It never waits.
func (h *hub) deliver(topic, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.mu.topics[topic]
	if t == nil {
		return
	}
	for _, s := range t.subscriptions {
		s.queue([]byte(message))
	}
}

// subscribe starts a subscription; ok is false when the hub is closed. heard is nil when the
// topic is heard already.
func (h *hub) subscribe(topic string, receive func([]byte)) (s *subscription, heard waiter, ok bool) {
	s = &subscription{
		hub: h, topic: topic, receive: receive,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.closed {
		return nil, nil, false
	}
	t := h.mu.topics[topic]
	if t == nil {
		t = &topicState{}
		h.mu.topics[topic] = t
	}
	t.subscriptions = append(t.subscriptions, s)
	h.mu.all[s] = struct{}{}
	if !t.heard {
		heard = make(waiter, 1)
		t.waiting = append(t.waiting, heard)
		h.signal()
	}
	started := make(chan struct{})
	go s.run(started)
	<-started
	return s, heard, true
}

// leave takes a subscription out of its topic.
func (h *hub) leave(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.mu.topics[s.topic]
	if t == nil {
		return
	}
	t.subscriptions = slices.DeleteFunc(t.subscriptions, func(other *subscription) bool { return other == s })
	if len(t.subscriptions) == 0 {
		delete(h.mu.topics, s.topic)
		h.signal()
	}
}

func (h *hub) gone(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.all, s)
}

// difference is what a connection that hears have should begin and end to hear. Who waits for
// a topic that it hears already is told so.
func (h *hub) difference(have map[string]bool) (begin, end []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic, t := range h.mu.topics {
		if !have[topic] {
			begin = append(begin, topic)
			continue
		}
		t.heard = true
		t.tell(nil)
	}
	for topic := range have {
		if h.mu.topics[topic] == nil {
			end = append(end, topic)
		}
	}
	return begin, end
}

// hears tells those who wait that the topics are heard.
func (h *hub) hears(topics []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		if t := h.mu.topics[topic]; t != nil {
			t.heard = true
			t.tell(nil)
		}
	}
}

// deaf tells that nothing is heard any more, and those who wait why.
func (h *hub) deaf(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.mu.topics {
		t.heard = false
		t.tell(err)
	}
}

func (t *topicState) tell(err error) {
	for _, w := range t.waiting {
		w <- err
	}
	t.waiting = nil
}

// close lets nobody in, tells those who wait that they are not heard (there may be no ear that
// would), and answers who is still there.
func (h *hub) close() []*subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.closed = true
	for _, t := range h.mu.topics {
		t.tell(errDeaf)
	}
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
			return ended(ctx)
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

// queue adds a message. A subscriber that has fallen behind by the limit loses it.
func (s *subscription) queue(payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ended || len(s.mu.waiting) >= s.hub.limit {
		return
	}
	s.mu.waiting = append(s.mu.waiting, payload)
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
		payload, ok, over := s.next()
		switch {
		case over:
			return
		case ok:
			s.receive(payload)
		default:
			<-s.wake
		}
	}
}

func (s *subscription) next() (payload []byte, ok, over bool) {
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
