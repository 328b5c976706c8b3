package storetest_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shoalworks/shoal/store"
)

// bus replaces some methods of a driver.
type bus struct {
	store.Bus
	publish   func(ctx context.Context, topic string, payload []byte) error
	subscribe func(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error)
	close     func(ctx context.Context) error
}

func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	if b.publish != nil {
		return b.publish(ctx, topic, payload)
	}
	return b.Bus.Publish(ctx, topic, payload)
}

func (b *bus) Subscribe(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error) {
	if b.subscribe != nil {
		return b.subscribe(ctx, topic, receive)
	}
	return b.Bus.Subscribe(ctx, topic, receive)
}

func (b *bus) Close(ctx context.Context) error {
	if b.close != nil {
		return b.close(ctx)
	}
	return b.Bus.Close(ctx)
}

func ofBus(change func(b *bus)) func() func(store.Bus) store.Bus {
	return func() func(store.Bus) store.Bus {
		return func(next store.Bus) store.Bus {
			b := &bus{Bus: next}
			change(b)
			return b
		}
	}
}

// closing is a subscription with a Close of its own.
type closing struct{ close func() }

func (c closing) Close() { c.close() }

// eachSubscription changes receiver and subscription.
func eachSubscription(receiver func(receive func([]byte)) func([]byte), end func(next store.Subscription) func()) func() func(store.Bus) store.Bus {
	return ofBus(func(b *bus) {
		b.subscribe = func(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error) {
			s, err := b.Bus.Subscribe(ctx, topic, receiver(receive))
			if err != nil {
				return nil, err
			}
			return closing{end(s)}, nil
		}
	})
}

func same(receive func([]byte)) func([]byte)         { return receive }
func closeOf(next store.Subscription) func()         { return next.Close }
func ownGoroutine(receive func([]byte)) func([]byte) { return func(p []byte) { go receive(p) } }

func brokenBuses() []broken {
	return []broken{
		{name: "topics fold case", topic: "deliver", bus: ofBus(func(b *bus) {
			b.publish = func(ctx context.Context, topic string, payload []byte) error {
				_ = b.Bus.Publish(ctx, strings.ToUpper(topic), payload)
				return b.Bus.Publish(ctx, topic, payload)
			}
		})},
		{name: "topics are prefixes", topic: "deliver", bus: ofBus(func(b *bus) {
			b.publish = func(ctx context.Context, topic string, payload []byte) error {
				for i := range topic {
					_ = b.Bus.Publish(ctx, topic[:i], payload)
				}
				return b.Bus.Publish(ctx, topic, payload)
			}
		})},
		{name: "payloads are cut", topic: "deliver", bus: ofBus(func(b *bus) {
			b.publish = func(ctx context.Context, topic string, payload []byte) error {
				return b.Bus.Publish(ctx, topic, payload[:min(len(payload), 8000)])
			}
		})},
		{name: "payloads are shared", topic: "deliver", bus: sharedPayloads},
		{name: "payloads are read later", topic: "deliver", bus: ofBus(func(b *bus) {
			var mu sync.Mutex
			var last []byte
			b.publish = func(ctx context.Context, topic string, payload []byte) error {
				mu.Lock()
				defer mu.Unlock()
				if len(last) > 0 {
					_ = b.Bus.Publish(ctx, topic, last)
				}
				last = payload
				return b.Bus.Publish(ctx, topic, payload)
			}
		})},
		{name: "publish ignores its context", topic: "deliver", bus: ofBus(func(b *bus) {
			b.publish = func(ctx context.Context, topic string, payload []byte) error {
				return b.Bus.Publish(context.WithoutCancel(ctx), topic, payload)
			}
		})},
		{name: "receivers overlap", topic: "receiver", bus: eachSubscription(ownGoroutine, closeOf)},
		{name: "unsubscribe does nothing", topic: "unsubscribe", bus: eachSubscription(same, func(store.Subscription) func() { return func() {} })},
		{name: "unsubscribe does not wait", topic: "unsubscribe", bus: eachSubscription(same, func(next store.Subscription) func() {
			return func() { go next.Close() }
		})},
		{name: "closed bus takes messages", topic: "close", bus: ofBus(func(b *bus) {
			b.publish = func(ctx context.Context, topic string, payload []byte) error {
				_ = b.Bus.Publish(ctx, topic, payload)
				return nil
			}
		})},
		{name: "bus close does not wait", topic: "close", bus: ofBus(func(b *bus) {
			var begun atomic.Bool
			b.publish = func(ctx context.Context, topic string, payload []byte) error {
				if begun.Load() {
					return store.ErrClosed
				}
				return b.Bus.Publish(ctx, topic, payload)
			}
			b.subscribe = func(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error) {
				if begun.Load() {
					return nil, store.ErrClosed
				}
				return b.Bus.Subscribe(ctx, topic, receive)
			}
			b.close = func(ctx context.Context) error {
				if !begun.Swap(true) {
					go func() { _ = b.Bus.Close(context.WithoutCancel(ctx)) }()
				}
				return nil
			}
		})},
	}
}

// sharedPayloads hands the same slice to all receivers of a message.
func sharedPayloads() func(store.Bus) store.Bus {
	var mu sync.Mutex
	sent := make(map[string][]byte)
	return eachSubscription(func(receive func([]byte)) func([]byte) {
		return func(payload []byte) {
			mu.Lock()
			shared, ok := sent[string(payload)]
			if !ok {
				shared = payload
				sent[string(payload)] = shared
			}
			mu.Unlock()
			receive(shared)
		}
	}, closeOf)()
}
