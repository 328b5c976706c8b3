package memstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// bus is one handle on the bus.
type bus struct {
	gate
	hub *hub
	own struct {
		sync.Mutex
		subscriptions map[*subscription]struct{}
	}
}

// Publish implements store.Bus. It never waits for a receiver.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	if err := b.enter(ctx, "publish"); err != nil {
		return err
	}
	defer b.leave()
	b.hub.publish(topic, payload)
	return nil
}

// Subscribe implements store.Bus.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func([]byte)) (store.Subscription, error) {
	if err := b.enter(ctx, "subscribe"); err != nil {
		return nil, err
	}
	defer b.leave()
	s := newSubscription(topic, b.hub.queue, receive, b.forget)
	b.own.Lock()
	defer b.own.Unlock()
	if b.own.subscriptions == nil {
		b.own.subscriptions = make(map[*subscription]struct{})
	}
	b.own.subscriptions[s] = struct{}{}
	b.hub.add(s)
	return s, nil
}

func (b *bus) forget(s *subscription) {
	b.hub.remove(s)
	b.own.Lock()
	defer b.own.Unlock()
	delete(b.own.subscriptions, s)
}

// Close implements store.Bus. Called from within a receiver it waits for the others only.
func (b *bus) Close(ctx context.Context) error {
	b.close()
	standing := b.standing()
	for _, s := range standing {
		s.end()
	}
	var errs []error
	for _, s := range standing {
		if err := s.wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("memstore: close: a receiver of %s still runs: %w: %w", s.topic, store.ErrUnavailable, err))
		}
	}
	return errors.Join(errs...)
}

func (b *bus) standing() []*subscription {
	b.own.Lock()
	defer b.own.Unlock()
	standing := make([]*subscription, 0, len(b.own.subscriptions))
	for s := range b.own.subscriptions {
		standing = append(standing, s)
	}
	return standing
}
