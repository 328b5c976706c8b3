package sqlitestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/hub"
)

// bus is store.Bus: subscribers of this engine are called directly, those of other engines
// and processes get the message through their sockets in the folder.
type bus struct {
	hub   *hub.Hub
	peers *peers
	once  sync.Once
}

// startBus joins the bus of the folder.
func startBus(ctx context.Context, folder string, o Options) *bus {
	h := hub.New(hub.Options{Queue: o.BusQueue})
	deliver := func(topic string, payload []byte) { h.Deliver(topic, payload) }
	return &bus{hub: h, peers: startPeers(ctx, folder, o, deliver)}
}

// Publish implements store.Bus. It never waits for a receiver.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("sqlitestore: publish %s: %w", topic, ended(ctx))
	}
	if b.hub.Closed() {
		return fmt.Errorf("sqlitestore: publish %s: %w", topic, store.ErrClosed)
	}
	b.hub.Deliver(topic, payload)
	b.peers.send(encodeFrame(topic, payload))
	return nil
}

// Subscribe implements store.Bus.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func(payload []byte)) (store.Subscription, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("sqlitestore: subscribe %s: %w", topic, ended(ctx))
	}
	s, err := b.hub.Subscribe(topic, receive)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: subscribe %s: %w", topic, err)
	}
	return s, nil
}

// Close implements store.Bus.
func (b *bus) Close(ctx context.Context) error {
	b.once.Do(b.peers.stop)
	b.hub.Close()
	if err := b.hub.Wait(ctx); err != nil {
		return fmt.Errorf("sqlitestore: close the bus: %w", err)
	}
	if err := b.peers.wait(ctx); err != nil {
		return fmt.Errorf("sqlitestore: close the bus: %w", err)
	}
	return nil
}
