package memstore

import (
	"slices"
	"sync"

	"github.com/shoalworks/shoal/store/internal/hub"
)

// wire carries a message to the subscriptions of all handles on one bus.
type wire struct {
	mu struct {
		sync.Mutex
		hubs    []*hub.Hub // of the handles that have subscribed, in the order of doing so
		dropped int64
	}
}

// publish queues payload for every subscription of the topic. It never waits.
func (w *wire) publish(topic string, payload []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.mu.hubs {
		w.mu.dropped += int64(h.Deliver(topic, payload))
	}
}

// join adds the hub of a handle. Again does nothing.
func (w *wire) join(h *hub.Hub) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.mu.hubs, h) {
		w.mu.hubs = append(w.mu.hubs, h)
	}
}

func (w *wire) leave(h *hub.Hub) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.hubs = slices.DeleteFunc(w.mu.hubs, func(other *hub.Hub) bool { return other == h })
}

func (w *wire) dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.dropped
}

// Dropped is how many messages were lost because a subscription's queue was full.
func (e *Engine) Dropped() int64 { return e.wire.dropped() }
