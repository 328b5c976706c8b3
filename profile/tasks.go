package profile

import (
	"context"
	"sync"
)

// tasks counts the goroutines of a set, so that its Close can wait for them.
type tasks struct {
	mu struct {
		sync.Mutex
		running int
		idle    chan struct{} // closed when the last one ends; nil while nobody waits
	}
}

// start runs f on a goroutine of its own.
func (t *tasks) start(f func()) {
	t.begin()
	go func() {
		defer t.end()
		f()
	}()
}

// begin counts the caller in, until end.
func (t *tasks) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.running++
}

func (t *tasks) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.running--
	if t.mu.running == 0 && t.mu.idle != nil {
		close(t.mu.idle)
		t.mu.idle = nil
	}
}

// wait waits until none runs, or ctx ends; it tells which.
func (t *tasks) wait(ctx context.Context) bool {
	t.mu.Lock()
	if t.mu.running == 0 {
		t.mu.Unlock()
		return true
	}
	if t.mu.idle == nil {
		t.mu.idle = make(chan struct{})
	}
	idle := t.mu.idle
	t.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}
