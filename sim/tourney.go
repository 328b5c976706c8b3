package sim

import (
	"context"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// This file says what a library must offer to have its seasons tested: see seasons.go.

// Seasonal is a host with the seasons of Settings.Seasons.
type Seasonal interface {
	Host
	// Fish opens a player's profile for the seasons.
	Fish(ctx context.Context, key string) (Angler, error)
	// Hear has an ear told of what the seasons tell a game.
	Hear(e Ear)
	// Look reads a board of the running season, and a player's place on it.
	Look(ctx context.Context, board, key string) (store.Page, error)
	// CloseDue closes what is due.
	CloseDue(ctx context.Context) error
}

// Angler is an open session of somebody who plays the seasons.
type Angler interface {
	Data() doc.Value
	// Record counts an event, or nothing.
	Record(event string) error
	Sync(ctx context.Context) error
	Save(ctx context.Context) error
	Release(ctx context.Context) error
	Done() <-chan struct{}
	End() End
}

// Ear is what a game hears of its seasons.
type Ear interface {
	Told(key string, titles []season.Title)
	Late(r season.Refused)
	Over(c season.Closed, r *season.Result)
}
