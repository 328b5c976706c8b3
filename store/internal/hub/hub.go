package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// Options of a [Hub].
type Options struct {
	// Queue is how many messages wait for each subscription, at least 1.
	Queue int

	// LoseOldest makes a full queue lose the message that has waited longest instead of the one
	// that comes. Default: the one that comes is lost.
	LoseOldest bool

	// Changed is called after the first subscription has come to a topic and after the last has
	// left it. Calls may come at once, and in another order than the changes: it should look at
	// [Hub.Topics], or have somebody look. Default nil: nobody is told.
	Changed func()
}

// Hub knows the subscriptions of one bus.
type Hub struct {
	options Options
	mu      struct {
		sync.Mutex
		topics map[string][]*Subscription // in the order of subscribing
		all    map[*Subscription]struct{} // until their goroutines are gone
		closed bool
	}
}

// New makes a hub without subscriptions. It has no goroutine of its own.
func New(o Options) *Hub {
	h := &Hub{options: o}
	h.options.Queue = max(o.Queue, 1)
	h.mu.topics = make(map[string][]*Subscription)
	h.mu.all = make(map[*Subscription]struct{})
	return h
}

// Deliver queues a copy of payload for every subscription of the topic, and answers how many of
// them have lost a message because their queue was full. It never waits for a receiver.
func (h *Hub) Deliver(topic string, payload []byte) (lost int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.mu.topics[topic] {
		if s.push(payload) {
			lost++
		}
	}
	return lost
}

// Subscribe has receive called for every message of the topic that is delivered from now on. It
// answers [store.ErrClosed] after Close.
func (h *Hub) Subscribe(topic string, receive func(payload []byte)) (*Subscription, error) {
	s := newSubscription(h, topic, receive)
	first, ok := h.enter(s)
	if !ok {
		s.stop()
		<-s.gone
		return nil, store.ErrClosed
	}
	if first {
		h.changed()
	}
	return s, nil
}

// enter takes a subscription in, or not when the hub is closed; first tells that it is the only
// one of its topic.
func (h *Hub) enter(s *Subscription) (first, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.closed {
		return false, false
	}
	h.mu.topics[s.topic] = append(h.mu.topics[s.topic], s)
	h.mu.all[s] = struct{}{}
	return len(h.mu.topics[s.topic]) == 1, true
}

// leave takes a subscription out of its topic; last tells that nobody is left there. Again does
// nothing.
func (h *Hub) leave(s *Subscription) (last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.mu.topics[s.topic])
	rest := slices.DeleteFunc(h.mu.topics[s.topic], func(other *Subscription) bool { return other == s })
	if h.mu.topics[s.topic] = rest; len(rest) > 0 {
		return false
	}
	delete(h.mu.topics, s.topic)
	return before > 0
}

// forget is the last that a subscription's goroutine does.
func (h *Hub) forget(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.mu.all, s)
}

func (h *Hub) changed() {
	if h.options.Changed != nil {
		h.options.Changed()
	}
}

// Topics are those that somebody subscribes to, in no order.
func (h *Hub) Topics() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.mu.topics))
}

// Closed tells that Close has been called.
func (h *Hub) Closed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.closed
}

// Close lets nobody in and ends every subscription. Receivers that run go on until they return:
// see [Hub.Wait]. Again is harmless.
func (h *Hub) Close() {
	h.mu.Lock()
	h.mu.closed = true
	h.mu.Unlock()
	for _, s := range h.running() {
		s.end()
	}
}

// running are the subscriptions whose goroutines are not gone.
func (h *Hub) running() []*Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.mu.all))
}

// Wait waits, after Close, for the receivers that still run. Called by one of them, it leaves that
// one out. When ctx ends first it names their topics in a [store.ErrUnavailable].
func (h *Hub) Wait(ctx context.Context) error {
	var errs []error
	for _, s := range h.running() {
		if err := s.wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("a receiver of %s still runs: %w: %w", s.topic, store.ErrUnavailable, err))
		}
	}
	return errors.Join(errs...)
}
