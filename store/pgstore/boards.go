package pgstore

import "github.com/shoalworks/shoal/store"

// newBoards are the boards of a schema.
func newBoards(*database) store.Boards { return nil }
