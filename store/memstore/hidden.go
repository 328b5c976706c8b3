package memstore

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// Walk implements store.Boards.
func (h *boards) Walk(_ context.Context, _ string, from store.Cursor, _ int) (store.Page, store.Cursor, error) {
	return store.Page{}, from, store.ErrUnsupported
}

// Hide implements store.Boards.
func (h *boards) Hide(context.Context, string, bool, ...string) (int, error) {
	return 0, store.ErrUnsupported
}

// Hidden implements store.Boards.
func (h *boards) Hidden(context.Context, string, string, int) ([]store.HiddenEntry, error) {
	return nil, store.ErrUnsupported
}

// Check implements store.Boards.
func (h *boards) Check(context.Context, string, bool) (store.BoardCheck, error) {
	return store.BoardCheck{}, store.ErrUnsupported
}
