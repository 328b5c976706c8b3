package sqlitestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// bus is store.Bus: subscribers of this engine are called directly, those of other engines
// and processes get the message through their sockets in the folder.
type bus struct {
	hub   *hub
	peers *peers
	once  sync.Once
}

// startBus joins the bus of the folder.
func startBus(ctx context.Context, folder string, o Options) *bus {
	h := newHub(o.BusQueue)
	return &bus{hub: h, peers: startPeers(ctx, folder, o, h.deliver)}
}

// Publish implements store.Bus. It never waits for a receiver.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("sqlitestore: publish %s: %w", topic, ended(ctx))
	}
	if b.hub.isClosed() {
		return fmt.Errorf("sqlitestore: publish %s: %w", topic, store.ErrClosed)
	}
	b.hub.deliver(topic, payload)
	b.peers.send(encodeFrame(topic, payload))
	return nil
}

// Subscribe implements store.Bus.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func(payload []byte)) (store.Subscription, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("sqlitestore: subscribe %s: %w", topic, ended(ctx))
	}
	s, ok := b.hub.subscribe(topic, receive)
	if !ok {
		return nil, fmt.Errorf("sqlitestore: subscribe %s: %w", topic, store.ErrClosed)
	}
	return s, nil
}

// Close implements store.Bus.
func (b *bus) Close(ctx context.Context) error {
	b.once.Do(b.peers.stop)
	for _, s := range b.hub.close() {
		s.end()
	}
	if err := b.hub.wait(ctx); err != nil {
		return fmt.Errorf("sqlitestore: close the bus: %w", err)
	}
	if err := b.peers.wait(ctx); err != nil {
		return fmt.Errorf("sqlitestore: close the bus: %w", err)
	}
	return nil
}
