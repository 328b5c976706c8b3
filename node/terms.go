package node

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// This file lets a caller say on what terms its calls go to the store, also when they get there
// through somebody else: what a board's service does for the closing of a season waits as
// background work, and not in the line of boards.

// Terms are how calls go to the store. The zero Terms are the calls' own.
type Terms struct {
	// Class stands in for the class of [Node.For]. Default: that one.
	Class Class
	// Wait is how long a call waits for the request budget at most; then it is an [ErrBudget].
	// Default: until its context ends, or as long as background work waits.
	Wait time.Duration
	// Call is how long the request itself may take, from when the budget lets it through. A
	// call that the budget cuts into several has it for each. Default: until its context ends.
	Call time.Duration
}

// termsKey is where a context holds its terms.
type termsKey struct{}

// On is ctx for one call on these terms; cancel it afterwards. Only calls by [Node.For] and
// what is built on it know terms. Without limits Call bounds all that is done with the context.
func (n *Node) On(ctx context.Context, t Terms) (context.Context, context.CancelFunc) {
	switch {
	case n.gate != nil:
		return context.WithValue(ctx, termsKey{}, t), func() {}
	case t.Call > 0:
		return clock.WithTimeout(ctx, n.opts.Clock, t.Call)
	}
	return ctx, func() {}
}

// WithoutTerms is ctx for calls that others wait for too, and that go on their own terms.
func WithoutTerms(ctx context.Context) context.Context {
	if ctx.Value(termsKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, termsKey{}, Terms{})
}

// termsOf are the terms of a context, with the class that a call of class c has by them.
func termsOf(ctx context.Context, c Class) Terms {
	t, _ := ctx.Value(termsKey{}).(Terms)
	if t.Class == 0 {
		t.Class = c
	}
	return t
}

// on waits until a call may be made, on the terms of its context, and answers the context of
// the request; end it when it is answered.
func (g *gate) on(ctx context.Context, c Class, d demand) (call context.Context, end context.CancelFunc, err error) {
	t := termsOf(ctx, c)
	if err := g.passWithin(ctx, t, d); err != nil {
		return nil, nil, err
	}
	call, end = g.request(ctx, t)
	return call, end, nil
}

// passWithin is pass with the wait of the terms.
func (g *gate) passWithin(ctx context.Context, t Terms, d demand) error {
	if t.Wait <= 0 {
		return g.pass(ctx, t.Class, d)
	}
	ctx, cancel := clock.WithTimeout(ctx, g.clock, t.Wait)
	defer cancel()
	return g.pass(ctx, t.Class, d)
}

// request is the context of a request that has been let through.
func (g *gate) request(ctx context.Context, t Terms) (context.Context, context.CancelFunc) {
	if t.Call <= 0 {
		return ctx, func() {}
	}
	return clock.WithTimeout(ctx, g.clock, t.Call)
}
