package sqlitestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// Erase implements store.Boards.
func (h *boards) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	w := &erase{board: board, keys: slices.Compact(slices.Sorted(slices.Values(keys))), sizes: h.sizes}
	if err := h.change(ctx, w, &w.edited, max(1, len(keys)), 0); err != nil {
		return 0, fmt.Errorf("sqlitestore: erase from board %s: %w", board, err)
	}
	return w.erased, nil
}

// erase is the work of Erase.
type erase struct {
	board string
	keys  []string // sorted, each once
	sizes standings.Sizes

	// Written by the writer.
	edited
	erased int
}

// apply implements work.
func (w *erase) apply(ctx context.Context, t *transaction) error {
	e, refused, err := editSealed(ctx, t, w.board, w.sizes)
	if w.refused = refused; err != nil || refused != nil {
		return err
	}
	w.erased = 0
	version := e.next()
	for _, key := range w.keys {
		old, err := e.board.readEntry(ctx, t.conn, key)
		if err != nil {
			return err
		}
		if !old.Exists && !old.hidden {
			continue
		}
		w.erased++
		if err := e.erase(ctx, key, old, version); err != nil {
			return err
		}
	}
	if w.erased == 0 {
		return nil
	}
	return e.end(ctx, &w.edited)
}

// erase forgets a key that is hidden or has an entry.
func (e *editing) erase(ctx context.Context, key string, old oldEntry, version int64) error {
	if old.hidden {
		e.board.info.Hidden--
		_, err := e.conn.exec(ctx, showKey, e.board.id, key)
		return err
	}
	if err := e.leave(ctx, key, old.position, version); err != nil {
		return err
	}
	_, err := e.conn.exec(ctx, deleteEntry, e.board.id, key)
	return err
}
