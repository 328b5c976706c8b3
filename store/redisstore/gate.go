package redisstore

import (
	"context"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// gate counts the calls of one part of the engine and refuses them after its close. The zero
// value is open.
type gate struct {
	mu struct {
		sync.Mutex
		inside int
		closed bool
		empty  chan struct{} // closed when nobody is inside; made by close
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
	defer g.mu.Unlock()
	if g.mu.inside--; g.mu.inside == 0 && g.mu.closed {
		close(g.mu.empty)
	}
}

// close refuses later calls and waits for those inside.
func (g *gate) close(ctx context.Context) error {
	g.mu.Lock()
	if !g.mu.closed {
		g.mu.closed, g.mu.empty = true, make(chan struct{})
		if g.mu.inside == 0 {
			close(g.mu.empty)
		}
	}
	empty := g.mu.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	default:
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}
