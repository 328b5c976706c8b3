package shoal

import (
	"context"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// This file shows profiles and boards to package season by the interfaces it declares.

// player is a profile's session as seasons see it.
type player struct{ *profile.Session }

// Change applies what fn derives as one transaction of the season.
func (p player) Change(note string, fn func(doc.Value) ([]doc.Op, error)) error {
	_, err := p.Session.Change(profile.Source{Kind: profile.SourceSeason, Note: note}, fn)
	return err
}

// OnChange has fn called after every commit.
func (p player) OnChange(fn func()) (stop func()) {
	return p.OnCommit(func(profile.Commit) { fn() })
}

// Synced is what survives this node.
func (p player) Synced() (doc.Value, store.Stamp) {
	v, revision := p.Session.Synced()
	return v, store.Stamp{Epoch: p.Epoch(), Revision: revision}
}

// seasonProfiles scans a set.
type seasonProfiles struct{ set *profile.Set }

// Scan reads all stored profiles.
func (p seasonProfiles) Scan(ctx context.Context, fn func(season.Profile) error) error {
	return p.set.Scan(ctx, func(v profile.View) error {
		return fn(season.Profile{Key: v.Key, Data: v.Data, Stamp: store.Stamp{Epoch: v.Epoch, Revision: v.Revision}})
	})
}

// seasonBoards are a node's boards with the shape that a season wants.
type seasonBoards struct{ *board.Service }

// Define tells the boards of one of a season's.
func (b seasonBoards) Define(name string, shape season.Shape) error {
	return b.Service.Define(name, board.Config{Order: shape.Order, CacheFor: shape.CacheFor, MaxEntries: shape.Entries})
}

// Forget drops a board whose season is over from memory.
func (b seasonBoards) Forget(name string) {
	_ = b.Service.Forget(name) // a hint: while scores wait the board stays
}
