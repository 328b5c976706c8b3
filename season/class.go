package season

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/node"
)

// This file says who goes first when the request budget is short: look-ups for somebody who
// joins are loads, what has to be on the boards before a season is closed is boards' work, and
// everything else the seasons do by themselves waits until nobody else wants the budget.

// How long a call waits for the budget before it fails and is made again later. Background work
// has its own wait (node.Limits.BackgroundWait, 150 s).
const (
	loadWait  = 10 * time.Second // titles can come later, the player cannot
	boardWait = 70 * time.Second // of a Grace of 300 s; an empty budget is full after 60 s
)

// classKey is where a context holds the class of what is done with it.
type classKey struct{}

// as is ctx for what is done in a class.
func as(ctx context.Context, c node.Class) context.Context {
	return context.WithValue(ctx, classKey{}, c)
}

// inBackground is ctx for closing, sweeps, rebuilds, inspection and corrections.
func inBackground(ctx context.Context) context.Context { return as(ctx, node.ClassBackground) }

// classOf is the class of what is done with a context; boards' when nobody has said another.
func classOf(ctx context.Context) node.Class {
	if c, ok := ctx.Value(classKey{}).(node.Class); ok {
		return c
	}
	return node.ClassBoard
}

// budgetWait is how long a call of a class waits for the budget; 0 is what the node says.
func budgetWait(c node.Class) time.Duration {
	switch c {
	case node.ClassSave, node.ClassLoad:
		return loadWait
	case node.ClassBoard:
		return boardWait
	case node.ClassBackground:
	}
	return 0
}
