package redisstore

import "sync"

// heard knows which topics the server sends, on the connection of now, and who waits to be among
// them. What is wanted is what the hub's topics are.
type heard struct {
	topics func() []string // that are wanted
	wake   chan struct{}   // somebody should look at what is wanted
	mu     struct {
		sync.Mutex
		now     map[string]struct{}
		waiting map[string][]waiter
		closed  bool
	}
}

// waiter gets one word: nil when the topic is heard, or why it could not be.
type waiter chan error

func newHeard(topics func() []string) *heard {
	h := &heard{topics: topics, wake: make(chan struct{}, 1)}
	h.mu.now = make(map[string]struct{})
	h.mu.waiting = make(map[string][]waiter)
	return h
}

func (h *heard) signal() {
	select {
	case h.wake <- struct{}{}:
	default: // somebody will look anyway
	}
}

// wait answers nil when a topic, which is wanted already, is heard, or who waits for that.
func (h *heard) wait(topic string) waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.mu.now[topic]; ok {
		return nil
	}
	w := make(waiter, 1)
	if h.mu.closed {
		w <- errDeaf
		return w
	}
	h.mu.waiting[topic] = append(h.mu.waiting[topic], w)
	h.signal()
	return w
}

// difference is what a connection that hears have should begin and end to hear. Who waits for
// a topic that it hears already is told so. What is to end counts as not heard from here on:
// whoever wants it again after that waits until it has begun again.
func (h *heard) difference(have map[string]bool) (begin, end []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wanted := make(map[string]struct{})
	for _, topic := range h.topics() {
		wanted[topic] = struct{}{}
		if !have[topic] {
			begin = append(begin, topic)
			continue
		}
		h.hearsLocked(topic)
	}
	for topic := range have {
		if _, ok := wanted[topic]; !ok {
			delete(h.mu.now, topic)
			end = append(end, topic)
		}
	}
	for topic := range h.mu.waiting {
		if _, ok := wanted[topic]; !ok {
			h.tellLocked(topic, errDeaf) // they have given up
		}
	}
	return begin, end
}

// hears tells those who wait that the topics are heard.
func (h *heard) hears(topics []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		h.hearsLocked(topic)
	}
}

func (h *heard) hearsLocked(topic string) {
	h.mu.now[topic] = struct{}{}
	h.tellLocked(topic, nil)
}

// deaf tells that nothing is heard any more, and those who wait why.
func (h *heard) deaf(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.mu.now)
	h.tellAllLocked(err)
}

// close tells those who wait, and whoever comes later, that they are not heard: there may be no
// ear that would.
func (h *heard) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.closed = true
	h.tellAllLocked(errDeaf)
}

func (h *heard) tellLocked(topic string, err error) {
	for _, w := range h.mu.waiting[topic] {
		w <- err
	}
	delete(h.mu.waiting, topic)
}

func (h *heard) tellAllLocked(err error) {
	for topic := range h.mu.waiting {
		h.tellLocked(topic, err)
	}
}
