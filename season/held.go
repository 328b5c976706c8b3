package season

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// held is what a read answered, kept for a while. One read is in flight at a time, in its
// caller's hands, and whoever comes meanwhile waits for it. A caller that gives up strands
// nobody: the next in line reads.
type held[T any] struct {
	turn chan struct{} // holds a token while somebody reads
	now  atomic.Pointer[answer[T]]
}

type answer[T any] struct {
	value T
	err   error
	until time.Time // by the local clock
}

func newHeld[T any]() *held[T] { return &held[T]{turn: make(chan struct{}, 1)} }

// peek is what is held at now, or nil.
func (h *held[T]) peek(now time.Time) *answer[T] {
	if a := h.now.Load(); a != nil && now.Before(a.until) {
		return a
	}
	return nil
}

// get answers what is held, or reads. read is given what was held before, or nil, and answers
// also for how long its answer, or its error, is to be held. Each read ends after callWait. What
// failed because its caller gave up is not held.
func (h *held[T]) get(ctx context.Context, local clock.Clock, read func(context.Context, *T) (T, time.Duration, error)) (T, error) {
	if a := h.peek(local.Now()); a != nil {
		return a.value, a.err
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("season: read: %w", context.Cause(ctx))
	}
	began := local.Now()
	if a := h.peek(began); a != nil {
		return a.value, a.err
	}
	var before *T
	if a := h.now.Load(); a != nil && a.err == nil {
		before = &a.value
	}
	bounded, cancel := clock.WithTimeout(ctx, local, callWait)
	defer cancel()
	value, hold, err := read(bounded, before)
	switch {
	case err == nil:
		h.now.Store(&answer[T]{value: value, until: began.Add(hold)})
	case ctx.Err() == nil:
		h.now.Store(&answer[T]{err: err, until: local.Now().Add(hold)})
	}
	return value, err
}
