package pgstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// closing is a handle's gate: it counts calls, and refuses them after close. Its zero value is
// open.
type closing struct {
	mu struct {
		sync.Mutex
		closed bool
		calls  int
		idle   chan struct{} // closed when it is closed and no call is left
	}
}

// enter begins a call, which ends with leave, or refuses it.
func (g *closing) enter(ctx context.Context, operation string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.mu.closed:
		return fmt.Errorf("pgstore: %s: %w", operation, store.ErrClosed)
	case ctx.Err() != nil:
		return fmt.Errorf("pgstore: %s: %w", operation, ended(ctx))
	}
	g.mu.calls++
	return nil
}

func (g *closing) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.calls--; g.mu.calls == 0 && g.mu.closed {
		close(g.mu.idle)
	}
}

// close refuses later calls, and waits for those in flight until ctx ends. Again is harmless.
func (g *closing) close(ctx context.Context) error {
	select {
	case <-g.shut():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *closing) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.mu.closed {
		g.mu.closed, g.mu.idle = true, make(chan struct{})
		if g.mu.calls == 0 {
			close(g.mu.idle)
		}
	}
	return g.mu.idle
}
