package sim

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// This file says what a library must offer to have its boards tested: see bids.go.

// Ranking is a host with boards: those of Settings.Boards.
type Ranking interface {
	Host
	Ladder() Ladder
}

// Ladder is the boards of a host.
type Ladder interface {
	// Submit takes a score into memory. Nil promises that it will be written, or reported to
	// OnRefused, unless the process dies before.
	Submit(board string, s store.Submission) error
	// Durable is Done when the store has acknowledged the score, and Undone when it was refused.
	Durable(ctx context.Context, board string, s store.Submission) Answer
	// Flush writes what waits.
	Flush(ctx context.Context) error
	// Remove deletes the entries of keys, and what waits for them here.
	Remove(ctx context.Context, board string, keys ...string) Answer
	// Seal ends all writes to a board.
	Seal(ctx context.Context, board string) Answer
	// Top is the best entries, from a page that is shared.
	Top(ctx context.Context, board string, count int) (store.Page, error)
	// Look reads a key's place, its neighbours, and the page it is on, and compares nothing.
	Look(ctx context.Context, board, key string) error
	// OnRefused has fn called with scores that were accepted and will never be written;
	// unknown tells that they may have been.
	OnRefused(fn func(board string, values []store.Submission, unknown bool))
	// Left is, after the host was closed, how many scores it does not know to be written.
	Left() int
}
