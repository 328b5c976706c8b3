package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// boards is store.Boards on one file.
type boards struct {
	file    *file
	sweeper *sweeper
	sizes   standings.Sizes
}

// Create implements store.Boards.
func (h *boards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	w := &create{board: board, spec: spec}
	err := h.file.writer.do(ctx, w, 1, len(board)+len(spec.Generation))
	if err == nil {
		err = w.refused
	}
	if err != nil {
		return store.BoardInfo{}, fmt.Errorf("sqlitestore: create board %s: %w", board, err)
	}
	return w.info, nil
}

// create is the work of Create.
type create struct {
	board string
	spec  store.BoardSpec

	// Written by the writer.
	refused error
	info    store.BoardInfo
}

// apply implements work.
func (w *create) apply(ctx context.Context, t *transaction) error {
	b, ok, err := findBoard(ctx, t.conn, w.board)
	if err != nil {
		return err
	}
	if ok {
		w.info = b.info
		if b.info.Order != w.spec.Order {
			w.refused = fmt.Errorf("%w: it exists %s, not %s", store.ErrInvalid, b.info.Order, w.spec.Order)
		}
		return nil
	}
	w.info = store.BoardInfo{Order: w.spec.Order, Generation: w.spec.Generation}
	_, err = t.exec(ctx, insertBoard, w.board, flag(w.spec.Order == store.Ascending), w.spec.Generation)
	return err
}

// Merge implements store.Boards.
func (h *boards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	w := newMerge(board, batch, h.sizes)
	if err := h.change(ctx, w, &w.edited, max(1, len(batch.Entries)), w.bytes()); err != nil {
		return nil, fmt.Errorf("sqlitestore: merge into board %s: %w", board, err)
	}
	return w.changes, nil
}

// Remove implements store.Boards.
func (h *boards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	w := &remove{board: board, keys: slices.Clone(keys), sizes: h.sizes}
	if err := h.change(ctx, w, &w.edited, max(1, len(keys)), 0); err != nil {
		return 0, fmt.Errorf("sqlitestore: remove from board %s: %w", board, err)
	}
	return w.removed, nil
}

// remove is the work of Remove.
type remove struct {
	board string
	keys  []string
	sizes standings.Sizes

	// Written by the writer.
	edited
	removed int
}

const deleteEntry = `DELETE FROM entries WHERE board = ? AND key = ?`

// apply implements work.
func (w *remove) apply(ctx context.Context, t *transaction) error {
	e, refused, err := edit(ctx, t, w.board, w.sizes)
	if w.refused = refused; err != nil || refused != nil {
		return err
	}
	w.removed = 0
	version := e.next() // so that a cache bound to the sequence notices
	for _, key := range w.keys {
		old, err := e.board.readEntry(ctx, t.conn, key)
		if err != nil {
			return err
		}
		if !old.Exists {
			continue
		}
		w.removed++
		sql := clearHidden
		if !old.hidden {
			sql = deleteEntry
			if err := e.leave(ctx, key, old.position, version); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, sql, e.board.id, key); err != nil {
			return err
		}
	}
	if w.removed == 0 {
		return nil
	}
	return e.end(ctx, &w.edited)
}

// Seal implements store.Boards. The writer's transaction excludes every Merge, also of other
// processes.
func (h *boards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	w := &seal{board: board}
	err := h.file.writer.do(ctx, w, 1, len(board))
	if err == nil {
		err = w.refused
	}
	if err != nil {
		return store.BoardInfo{}, fmt.Errorf("sqlitestore: seal board %s: %w", board, err)
	}
	return w.info, nil
}

// seal is the work of Seal.
type seal struct {
	board string

	// Written by the writer.
	refused error
	info    store.BoardInfo
}

// apply implements work.
func (w *seal) apply(ctx context.Context, t *transaction) error {
	b, ok, err := findBoard(ctx, t.conn, w.board)
	if err != nil {
		return err
	}
	if !ok {
		w.refused = store.ErrNoBoard
		return nil
	}
	w.info = b.info
	w.info.Sealed = true
	if !b.info.Sealed {
		_, err = t.exec(ctx, sealBoard, b.id)
	}
	return err
}

const selectNames = `SELECT name FROM boards WHERE name >= ? AND name < ? ORDER BY name LIMIT ?`

// List implements store.Boards.
func (h *boards) List(ctx context.Context, prefix, after string, limit int) (names []string, err error) {
	from := prefix
	if after >= prefix {
		from = after + afterKey
	}
	err = h.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		names = nil
		return c.query(ctx, selectNames, func(row []driver.Value) error {
			names = append(names, text(row[0]))
			return nil
		}, from, prefix+afterAll, int64(limit))
	})
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: list boards: %w", err)
	}
	return names, nil
}

// Close implements store.Boards.
func (h *boards) Close(ctx context.Context) error {
	if err := h.sweeper.close(ctx); err != nil {
		return err
	}
	return h.file.close(ctx)
}
