package memstore

import (
	"slices"
	"sync"
)

// hub knows the subscriptions of all handles on one bus.
type hub struct {
	queue int // messages that a subscription holds
	mu    struct {
		sync.Mutex
		topics  map[string][]*subscription // in the order of subscribing
		dropped int64
	}
}

func newHub(queue int) *hub {
	h := &hub{queue: queue}
	h.mu.topics = make(map[string][]*subscription)
	return h
}

// publish queues payload for every subscription of the topic. It never waits.
func (h *hub) publish(topic string, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.mu.topics[topic] {
		if s.push(payload) {
			h.mu.dropped++
		}
	}
}

func (h *hub) add(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.topics[s.topic] = append(h.mu.topics[s.topic], s)
}

func (h *hub) remove(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := slices.DeleteFunc(h.mu.topics[s.topic], func(other *subscription) bool { return other == s })
	if len(left) == 0 {
		delete(h.mu.topics, s.topic)
		return
	}
	h.mu.topics[s.topic] = left
}

func (h *hub) dropped() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.dropped
}

// Dropped is how many messages were lost because a subscription's queue was full.
func (e *Engine) Dropped() int64 { return e.hub.dropped() }
