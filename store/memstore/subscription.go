package memstore

import (
	"bytes"
	"context"
	"runtime"
	"strconv"
	"sync"
)

// subscription calls its receiver on a goroutine of its own.
type subscription struct {
	topic    string
	limit    int
	receive  func([]byte)
	onClose  func(*subscription)
	wake     chan struct{} // a message came, or the end
	ended    chan struct{} // closed when the goroutine is gone
	identity uint64        // of the goroutine; set before newSubscription returns
	mu       struct {
		sync.Mutex
		queue  [][]byte
		closed bool
	}
}

// newSubscription starts the goroutine, which ends with close.
func newSubscription(topic string, limit int, receive func([]byte), onClose func(*subscription)) *subscription {
	s := &subscription{
		topic: topic, limit: limit, receive: receive, onClose: onClose,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	started := make(chan struct{})
	go func() {
		defer close(s.ended)
		s.identity = goroutine()
		close(started)
		s.run()
	}()
	<-started
	return s
}

// run hands the queued messages to the receiver, one at a time, until the end.
func (s *subscription) run() {
	for range s.wake {
		for {
			payload, ok := s.next()
			if !ok {
				break
			}
			s.receive(payload)
		}
		if s.isClosed() {
			return
		}
	}
}

// next takes the oldest message; none after the end.
func (s *subscription) next() (payload []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed || len(s.mu.queue) == 0 {
		return nil, false
	}
	payload = s.mu.queue[0]
	s.mu.queue[0] = nil
	s.mu.queue = s.mu.queue[1:]
	return payload, true
}

// push queues a copy of payload; when the queue is full the oldest message is lost.
func (s *subscription) push(payload []byte) (lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return false
	}
	if lost = len(s.mu.queue) >= s.limit; lost {
		s.mu.queue[0] = nil
		s.mu.queue = s.mu.queue[1:]
	}
	s.mu.queue = append(s.mu.queue, append(make([]byte, 0, len(payload)), payload...))
	s.wakeUp()
	return lost
}

func (s *subscription) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *subscription) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closed
}

// Close implements store.Subscription.
func (s *subscription) Close() {
	s.end()
	_ = s.wait(context.Background()) // it cannot end early
}

// end makes sure that no call of the receiver begins any more.
func (s *subscription) end() {
	s.mu.Lock()
	first := !s.mu.closed
	s.mu.closed, s.mu.queue = true, nil
	s.mu.Unlock()
	if first {
		s.onClose(s)
	}
	s.wakeUp()
}

// wait waits for the goroutine to be gone, unless this is it.
func (s *subscription) wait(ctx context.Context) error {
	if s.identity == goroutine() {
		return nil
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// goroutine is the number of the running goroutine. A receiver may close its own
// subscription, and nothing but the goroutine tells that call from one by somebody else,
// who has to wait; the runtime shows the number in stack traces only.
func goroutine() uint64 {
	var trace [64]byte
	text := bytes.TrimPrefix(trace[:runtime.Stack(trace[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("memstore: the runtime's stack trace begins with " + string(trace[:]))
	}
	return n
}
