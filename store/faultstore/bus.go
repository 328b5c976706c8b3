package faultstore

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/shoalworks/shoal/store"
)

// bus decorates a bus.
type bus struct {
	port
	next store.Bus
}

// Publish implements store.Bus.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	payload = bytes.Clone(payload) // it may be needed after the call
	_, err := through(ctx, b.port, b.call("publish", true, topic), func(ctx context.Context) (nothing, error) {
		return nothing{}, b.next.Publish(ctx, topic, payload)
	})
	return err
}

// Subscribe implements store.Bus. Each message is a call "deliver" of its own, which may be
// lost or come twice; every other fault of a delivery loses it, and nothing delays it.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error) {
	s := &subscription{bus: b, topic: topic, receive: receive}
	next, err := through(ctx, b.port, b.call("subscribe", false, topic), func(ctx context.Context) (store.Subscription, error) {
		var err error
		s.next, err = b.next.Subscribe(ctx, topic, s.deliver)
		return s.next, err
	})
	if next == nil {
		if s.next != nil {
			s.next.Close() // the answer was lost, and nobody else could close it
		}
		return nil, err
	}
	return s, nil
}

// subscription is what a decorated bus hands out.
type subscription struct {
	bus     *bus
	topic   string
	receive func([]byte)
	next    store.Subscription // set before Subscribe returns
	closed  atomic.Bool
}

// Close implements store.Subscription.
func (s *subscription) Close() {
	s.closed.Store(true)
	s.next.Close()
}

// deliver hands a message on under its fault.
func (s *subscription) deliver(payload []byte) {
	faults, calls := s.bus.faults, []Call{s.bus.call("deliver", false, s.topic)}
	fault := faults.decide(calls)[0]
	switch fault.Kind {
	case Pass:
		faults.log(calls[0], fault, "delivered")
		s.receive(payload)
	case Twice:
		faults.log(calls[0], fault, "delivered twice")
		again := bytes.Clone(payload)
		s.receive(payload)
		if !s.closed.Load() { // by the receiver, who is not to hear of it again
			s.receive(again)
		}
	case FailBefore, FailAfter, Late, Hang, HangApplied, Lose:
		faults.log(calls[0], fault, "lost")
	case Crash, CrashAfter:
		faults.Crash()
		faults.log(calls[0], fault, "lost")
	}
}

// Close implements store.Bus. It meets no faults.
func (b *bus) Close(ctx context.Context) error {
	b.close()
	return b.next.Close(ctx)
}
