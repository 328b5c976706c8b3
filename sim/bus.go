package sim

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"

	"github.com/shoalworks/shoal/store"
)

// bus is a process's handle on the bus. A publish is a call; each delivery is a step.
type bus struct{ p *Process }

// subscription is a standing order.
type subscription struct {
	p       *Process
	topic   string
	receive func([]byte)
	closed  atomic.Bool
}

// Publish implements store.Bus.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	w, message := b.p.w, bytes.Clone(payload)
	return b.p.call(ctx, request{
		part: Bus, op: opPublish, key: topic, units: 1,
		apply: func(int) error {
			w.carry(b.p, topic, message)
			return nil
		},
		tell: func(int) string { return string(message) },
	})[0]
}

// carry brings a message on its way to all subscribers.
func (w *World) carry(from *Process, topic string, payload []byte) {
	name := fold(foldText(from.hash, topic), from.counts[foldText(1, topic)])
	from.counts[foldText(1, topic)]++
	weather := &w.Weather[Bus]
	for i, s := range w.topics[topic] {
		rng := newStream(fold(fold(w.seed, name), uint64(i)))
		drop, double := rng.chance(weather.Drop), rng.chance(weather.Double)
		first, second := rng.within(weather.Carry), rng.within(weather.Carry)
		if drop {
			continue
		}
		deliver := func() bool { return s.deliver(payload, name) }
		w.schedule(w.now()+first, s.p, fold(name, 2*uint64(i)), deliver)
		if double {
			w.schedule(w.now()+second, s.p, fold(name, 2*uint64(i)+1), deliver)
		}
	}
}

// deliver is the step in which a message arrives. Receivers must not block; they run on a
// goroutine of their own all the same, so that one that does is found.
func (s *subscription) deliver(payload []byte, name uint64) bool {
	w := s.p.w
	if s.closed.Load() || s.p.Cut[Bus] || w.Down[Bus] {
		return false
	}
	w.tally.Messages++
	w.trace.mark(w.now(), s.p, name, 7)
	w.say(s.p, "receives %s", payload)
	w.watch.Heard(s.p, payload)
	go s.receive(payload)
	return true
}

// Subscribe implements store.Bus.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error) {
	s := &subscription{p: b.p, topic: topic, receive: receive}
	err := b.p.call(ctx, request{
		part: Bus, op: opSubscribe, key: topic, units: 1,
		apply: func(int) error {
			b.p.w.topics[topic] = append(b.p.w.topics[topic], s)
			return nil
		},
	})[0]
	if err != nil {
		s.closed.Store(true)
		return nil, err
	}
	return s, nil
}

// Close implements store.Subscription. A closed one stays among the subscribers, and hears
// nothing.
func (s *subscription) Close() { s.closed.Store(true) }

// unsubscribe forgets the orders of a process that has ended.
func (w *World) unsubscribe(p *Process) {
	for topic, list := range w.topics {
		w.topics[topic] = slices.DeleteFunc(slices.Clone(list), func(s *subscription) bool { return s.p == p })
	}
}

// Close implements store.Bus.
func (b *bus) Close(context.Context) error { return nil }
