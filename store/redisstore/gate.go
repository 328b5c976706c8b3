package redisstore

import (
	"context"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// gate counts the calls of one part of the engine and refuses them after its close. The zero
// value is open.
type gate struct {
	// free is called once, when the gate is closed and nobody is inside. Nil is fine.
	free func()
	mu   struct {
		sync.Mutex
		inside int
		closed bool
		freed  chan struct{} // closed after free; made by close
	}
}

// enter begins a call, which ends with leave, or refuses it.
func (g *gate) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		return store.ErrClosed
	}
	g.mu.inside++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	g.mu.inside--
	last := g.mu.closed && g.mu.inside == 0
	g.mu.Unlock()
	if last {
		g.finish()
	}
}

// close refuses later calls and waits for those inside. When ctx ends first, the last of them
// frees what the part holds.
func (g *gate) close(ctx context.Context) error {
	g.mu.Lock()
	first := !g.mu.closed
	if first {
		g.mu.closed, g.mu.freed = true, make(chan struct{})
	}
	last := first && g.mu.inside == 0
	freed := g.mu.freed
	g.mu.Unlock()
	if last {
		g.finish()
		return nil
	}
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-freed:
		return nil
	default:
		return ended(ctx)
	}
}

func (g *gate) finish() {
	if g.free != nil {
		g.free()
	}
	close(g.mu.freed)
}
