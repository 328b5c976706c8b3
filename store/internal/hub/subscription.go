package hub

import (
	"bytes"
	"context"
	"runtime"
	"sync"
)

// Subscription calls its receiver on a goroutine of its own, which ends with it. It is a
// store.Subscription.
type Subscription struct {
	hub     *Hub
	topic   string
	receive func([]byte)
	wake    chan struct{} // a message came, or the end
	gone    chan struct{} // closed when the goroutine has ended
	runner  string        // names the goroutine; set before anybody else has the subscription
	mu      struct {
		sync.Mutex
		waiting [][]byte
		ended   bool
	}
}

// newSubscription starts the goroutine.
func newSubscription(h *Hub, topic string, receive func([]byte)) *Subscription {
	s := &Subscription{
		hub: h, topic: topic, receive: receive,
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	started := make(chan struct{})
	go s.run(started)
	<-started
	return s
}

// run calls the receiver, message by message, until the end.
func (s *Subscription) run(started chan<- struct{}) {
	defer close(s.gone)
	defer s.hub.forget(s)
	s.runner = goroutine()
	close(started)
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

// next takes the message that has waited longest; none after the end.
func (s *Subscription) next() (payload []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.waiting) == 0 {
		s.mu.waiting = nil // do not keep what a burst needed
		return nil, false
	}
	return s.takeLocked(), true
}

func (s *Subscription) takeLocked() []byte {
	payload := s.mu.waiting[0]
	s.mu.waiting[0] = nil
	s.mu.waiting = s.mu.waiting[1:]
	return payload
}

// push queues a copy of payload; lost tells that a message, this one or another, is lost because
// the queue is full.
func (s *Subscription) push(payload []byte) (lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.ended {
		return false
	}
	if lost = len(s.mu.waiting) >= s.hub.options.Queue; lost {
		if !s.hub.options.LoseOldest {
			return true
		}
		s.takeLocked()
	}
	s.mu.waiting = append(s.mu.waiting, append(make([]byte, 0, len(payload)), payload...))
	s.signal()
	return lost
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *Subscription) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.ended
}

// Close ends the subscription and waits for a running receiver, unless it is the receiver that
// calls. Again does nothing but wait.
func (s *Subscription) Close() {
	s.end()
	if !s.isCaller() {
		<-s.gone
	}
}

// end makes sure that no further call of the receiver begins.
func (s *Subscription) end() {
	s.stop()
	if s.hub.leave(s) {
		s.hub.changed()
	}
}

// stop has the goroutine end.
func (s *Subscription) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.ended, s.mu.waiting = true, nil
	s.signal()
}

// wait waits for the goroutine to be gone, unless this is it.
func (s *Subscription) wait(ctx context.Context) error {
	if s.isCaller() {
		return nil
	}
	select {
	case <-s.gone:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-s.gone:
		return nil
	default:
		return context.Cause(ctx)
	}
}

// isCaller tells that the receiver itself is calling.
func (s *Subscription) isCaller() bool { return s.runner == goroutine() }

// goroutine names the running goroutine. A receiver may close its own subscription, and nothing
// but the first line of a stack trace ("goroutine 7 [running]:") tells that call from one by
// somebody else, who has to wait.
func goroutine() string {
	var line [64]byte
	name, _, _ := bytes.Cut(line[:runtime.Stack(line[:], false)], []byte(" ["))
	return string(name)
}
