package sim

import (
	"context"

	"github.com/shoalworks/shoal/doc"
)

// This file says what a library must offer to have its claims tested: see deeds.go.

// Claimant is a session with claims.
type Claimant interface {
	Hold
	// OnCommit has fn called with every commit from now on, whoever makes it.
	OnCommit(fn func(data doc.Value, revision uint64))
	// Grant applies operations once for a receipt.
	Grant(ctx context.Context, id string, ops ...doc.Op) Answer
	// Gift applies operations, and sends mail with them.
	Gift(ctx context.Context, m Mail, ops ...doc.Op) Answer
}

// Clearing is a host with claims.
type Clearing interface {
	Host
	// Send sends mail that is nobody's.
	Send(ctx context.Context, m Mail) Answer
	// Edit changes a profile wherever it is.
	Edit(ctx context.Context, key, id string, ops ...doc.Op) Answer
	// Trade changes several profiles that are open here, or none.
	Trade(ctx context.Context, id string, sides ...Side) Answer
}

// Mail is what is sent.
type Mail struct {
	ID, To string
	Ops    []doc.Op
}

// Side is one of those who trade.
type Side struct {
	Hold Hold
	Ops  []doc.Op
}
