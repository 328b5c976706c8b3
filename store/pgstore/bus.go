package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/hub"
)

// bus is store.Bus: subscribers of this engine get a message at once, those of others by
// LISTEN and NOTIFY, or by polling a table where that is not to be had.
type bus struct {
	database *database
	origin   string // of this engine's messages
	hub      *hub.Hub
	outgoing chan outgoing
	changes  changes
	polls    atomic.Bool // messages go through the table; once true it stays
	fetch    chan frame  // payloads to be read from the table
	stop     context.CancelFunc
	workers  sync.WaitGroup
	ended    chan struct{} // the workers are gone
}

// outgoing is a message that waits to be sent.
type outgoing struct {
	topic   string
	payload []byte
}

// startBus starts the goroutines of a bus, which belong to it until Close.
func startBus(ctx context.Context, d *database) *bus {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	b := &bus{
		database: d, origin: newOrigin(), stop: stop, ended: make(chan struct{}),
		outgoing: make(chan outgoing, d.options.BusQueue), fetch: make(chan frame, d.options.BusQueue),
	}
	b.hub = hub.New(hub.Options{Queue: d.options.BusQueue, Changed: b.changes.note})
	b.polls.Store(d.address.pooler)
	for _, work := range []func(context.Context){b.publishing, b.receiving, b.fetching} {
		b.workers.Go(func() { work(ctx) })
	}
	go func() {
		b.workers.Wait()
		close(b.ended)
	}()
	return b
}

func newOrigin() string {
	var random [originBytes / 2]byte
	_, _ = rand.Read(random[:]) // it never fails
	return hex.EncodeToString(random[:])
}

// Publish implements store.Bus. It never waits: when BusQueue messages wait to be sent, other
// processes do not get this one.
func (b *bus) Publish(ctx context.Context, topic string, payload []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("pgstore: publish %s: %w", topic, ended(ctx))
	}
	if b.hub.Closed() {
		return fmt.Errorf("pgstore: publish %s: %w", topic, store.ErrClosed)
	}
	b.hub.Deliver(topic, payload)
	select {
	case b.outgoing <- outgoing{topic, append(make([]byte, 0, len(payload)), payload...)}:
	default: // the engine is slow or away: a message may be lost
	}
	return nil
}

// listenPatience is how long Subscribe waits for the engine to know of the subscription.
const listenPatience = time.Second

// Subscribe implements store.Bus. It waits, briefly, until messages of other processes come,
// too; when the engine is away they come as soon as it is back.
func (b *bus) Subscribe(ctx context.Context, topic string, receive func(payload []byte)) (store.Subscription, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("pgstore: subscribe %s: %w", topic, ended(ctx))
	}
	s, err := b.hub.Subscribe(topic, receive)
	if err != nil {
		return nil, fmt.Errorf("pgstore: subscribe %s: %w", topic, err)
	}
	ctx, cancel := clock.WithTimeout(ctx, b.database.options.Clock, listenPatience)
	defer cancel()
	select {
	case <-b.changes.applied():
	case <-ctx.Done():
	}
	return s, nil
}

// Close implements store.Bus.
func (b *bus) Close(ctx context.Context) error {
	b.hub.Close()
	b.stop()
	var errs []error
	if err := b.hub.Wait(ctx); err != nil {
		errs = append(errs, fmt.Errorf("pgstore: close the bus: %w", err))
	}
	select {
	case <-b.ended:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("pgstore: close the bus: %w", context.Cause(ctx)))
	}
	return errors.Join(errs...)
}

// changes tells the receiving goroutine that topics came or went, and others that it knows.
type changes struct {
	mu struct {
		sync.Mutex
		interrupt context.CancelFunc // ends the wait for messages
		pending   chan struct{}      // of changes that wait to be taken; nil when there are none
		taken     chan struct{}      // of changes that are being made known; nil when none are
	}
}

// note says that something has changed.
func (c *changes) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.pending == nil {
		c.mu.pending = make(chan struct{})
	}
	if c.mu.interrupt != nil {
		c.mu.interrupt()
	}
}

// watch has interrupt called for what changes from now on, and takes nothing over.
func (c *changes) watch(interrupt context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.interrupt = interrupt
}

// applied is closed when the changes so far are known to the engine, or cannot be made known
// just now.
func (c *changes) applied() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.pending != nil:
		return c.mu.pending
	case c.mu.taken != nil:
		return c.mu.taken
	}
	return closedChannel()
}

func closedChannel() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// take takes over what has changed: interrupt will be called for what changes from now on, and
// release tells those who wait that their changes are dealt with.
func (c *changes) take(interrupt context.CancelFunc) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.interrupt = interrupt
	taken := c.mu.pending
	c.mu.pending, c.mu.taken = nil, taken
	return sync.OnceFunc(func() { c.release(taken) })
}

// release ends what take began.
func (c *changes) release(taken chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if taken != nil {
		close(taken)
	}
	if c.mu.taken == taken {
		c.mu.taken = nil
	}
}
