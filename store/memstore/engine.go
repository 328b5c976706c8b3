package memstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/hub"
)

// DefaultQueue is how many messages a subscription queues by default.
const DefaultQueue = 1024

// Options of an [Engine]. A nil *Options is all defaults.
type Options struct {
	// Clock is the clock of the machine that holds the memory: Now and Age come from it, and
	// when a walk of a board is forgotten. Default: the system's.
	Clock clock.Clock

	// Apart keeps the fast records in a map of their own, with a clock of their own, so that
	// one may be lost without the other; no transaction then spans both. Default: one map
	// plays both parts.
	Apart bool

	// SingleKey makes the records refuse transactions of several keys, as an engine does
	// that shards by key. Default: a transaction may write several keys.
	SingleKey bool

	// Queue is how many messages a subscription holds for its receiver; when it is full the
	// oldest is lost. Default 0: DefaultQueue.
	Queue int
}

// Engine is a store in the memory of this process. It needs no Close: the handles do.
type Engine struct {
	options Options
	durable *recordMap
	fast    *recordMap // the durable one unless Options.Apart
	boards  *boardMap
	wire    *wire
}

// New makes an empty engine.
func New(o *Options) *Engine {
	e := &Engine{}
	if o != nil {
		e.options = *o
	}
	if e.options.Queue <= 0 {
		e.options.Queue = DefaultQueue
	}
	e.options.Clock = clock.Or(e.options.Clock)
	e.wire = &wire{}
	e.boards = newBoardMap(e.options.Clock)
	e.durable = newRecordMap(e.options.Clock)
	e.fast = e.durable
	if e.options.Apart {
		e.fast = newRecordMap(e.options.Clock)
	}
	return e
}

// Records opens a handle on the durable records (the only ones unless Options.Apart).
func (e *Engine) Records() store.Records {
	return &records{memory: e.durable, singleKey: e.options.SingleKey}
}

// Fast opens a handle on the fast records.
func (e *Engine) Fast() store.Records {
	return &records{memory: e.fast, singleKey: e.options.SingleKey}
}

// Boards opens a handle on the boards.
func (e *Engine) Boards() store.Boards { return &boards{memory: e.boards} }

// Bus opens a handle on the bus. Messages reach the subscriptions of all handles.
func (e *Engine) Bus() store.Bus {
	return &bus{wire: e.wire, hub: hub.New(hub.Options{Queue: e.options.Queue, LoseOldest: true})}
}

// Parts opens one handle of each kind, for a decorator. Fast is nil unless Options.Apart.
func (e *Engine) Parts() store.Parts {
	p := store.Parts{Durable: e.Records(), Boards: e.Boards(), Bus: e.Bus()}
	if e.options.Apart {
		p.Fast = e.Fast()
	}
	return p
}

// Store opens one handle of each kind behind the contract's checks, as one process of a
// fleet would. Closing it leaves the memory and other handles as they are.
func (e *Engine) Store() (*store.Store, error) { return store.New(e.Parts()) }

// gate counts the calls of one handle and refuses them after Close. The read lock is held
// for as long as a call runs.
type gate struct {
	mu struct {
		sync.RWMutex
		closed bool
	}
}

// enter begins a call, which ends with leave, or refuses it.
func (g *gate) enter(ctx context.Context, operation string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("memstore: %s: %w: %w", operation, store.ErrUnavailable, context.Cause(ctx))
	}
	g.mu.RLock()
	if g.mu.closed {
		g.mu.RUnlock()
		return fmt.Errorf("memstore: %s: %w", operation, store.ErrClosed)
	}
	return nil
}

func (g *gate) leave() { g.mu.RUnlock() }

// close waits for the calls in flight and refuses later ones.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.closed = true
}
