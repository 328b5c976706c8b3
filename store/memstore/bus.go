package memstore

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/hub"
)

// bus is one handle on the bus.
type bus struct {
	gate
	wire *wire
	hub  *hub.Hub // of this handle's subscriptions
}

// Publish implements store.Bus. It never waits for a receiver.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	if err := b.enter(ctx, "publish"); err != nil {
		return err
	}
	defer b.leave()
	b.wire.publish(topic, payload)
	return nil
}

// Subscribe implements store.Bus.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error) {
	if err := b.enter(ctx, "subscribe"); err != nil {
		return nil, err
	}
	defer b.leave()
	b.wire.join(b.hub)
	s, err := b.hub.Subscribe(topic, receive)
	if err != nil {
		return nil, fmt.Errorf("memstore: subscribe: %w", err)
	}
	return s, nil
}

// Close implements store.Bus. Called from within a receiver it waits for the others only.
func (b *bus) Close(ctx context.Context) error {
	b.close()
	b.wire.leave(b.hub)
	b.hub.Close()
	if err := b.hub.Wait(ctx); err != nil {
		return fmt.Errorf("memstore: close: %w", err)
	}
	return nil
}
