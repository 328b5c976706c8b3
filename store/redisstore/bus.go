package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/hub"
)

// bus is store.Bus by publish and subscribe. On a cluster every server passes every message
// on, so it does not matter which one a subscription stands at.
type bus struct {
	gate
	client rueidis.Client
	keys   keys
	hub    *hub.Hub
	heard  *heard
	ear    *ear
	start  sync.Once
	look   func(context.Context) (store.Inspection, error)
}

func newBus(e *Engine, k keys) *bus {
	b := &bus{client: e.clients.bus, keys: k, look: e.inspect}
	b.hub = hub.New(hub.Options{Queue: e.options.BusQueue, Changed: func() { b.heard.signal() }})
	b.heard = newHeard(b.hub.Topics)
	deliver := func(topic, message string) { b.hub.Deliver(topic, []byte(message)) }
	b.ear = newEar(e.clients.bus, k, b.heard, deliver, e.options)
	return b
}

// Inspect implements store.Inspector.
func (b *bus) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := b.enter(ctx); err != nil {
		return store.Inspection{}, fmt.Errorf("redisstore: inspect: %w", err)
	}
	defer b.leave()
	return b.look(ctx)
}

// Publish implements store.Bus.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	if err := b.enter(ctx); err != nil {
		return fmt.Errorf("redisstore: publish %s: %w", topic, err)
	}
	defer b.leave()
	err := b.client.Do(ctx, b.client.B().Publish().Channel(b.keys.channel(topic)).Message(string(payload)).Build()).Error()
	if err != nil {
		return fmt.Errorf("redisstore: publish %s: %w", topic, classify(err, writing))
	}
	return nil
}

// Subscribe implements store.Bus. It answers when the server has confirmed the subscription,
// or an error when it could not be asked. Later, when the connection is lost, it is made again
// and again, and messages meanwhile are lost.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func(payload []byte)) (store.Subscription, error) {
	if err := b.enter(ctx); err != nil {
		return nil, fmt.Errorf("redisstore: subscribe %s: %w", topic, err)
	}
	defer b.leave()
	b.start.Do(b.ear.start)
	s, err := b.hub.Subscribe(topic, receive)
	if err != nil {
		return nil, fmt.Errorf("redisstore: subscribe %s: %w", topic, err)
	}
	heard := b.heard.wait(topic)
	if heard == nil {
		return s, nil
	}
	select {
	case err = <-heard:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("redisstore: subscribe %s: %w: %w", topic, store.ErrUnavailable, err)
	}
	return s, nil
}

// Close implements store.Bus. A receiver that is in a call may go on until it returns.
func (b *bus) Close(ctx context.Context) error {
	b.start.Do(b.ear.never)
	b.hub.Close()
	b.heard.close()
	b.ear.stop()
	if err := errors.Join(b.hub.Wait(ctx), b.ear.wait(ctx), b.close(ctx)); err != nil {
		return fmt.Errorf("redisstore: close the bus: %w", err)
	}
	return nil
}
