package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file keeps hidden keys: in a table of their own, so that neither the standings nor the
// counts ever meet them. A key is in it or among the entries, never in both. Merges look
// there only for keys without an entry, and only on a board that hides any.

const (
	selectHidden  = `SELECT place, sequence, epoch, revision, scored FROM hidden WHERE board = ? AND key = ?`
	selectHiddens = `SELECT key, place, sequence, meta, scored FROM hidden WHERE board = ? AND key > ? ORDER BY key LIMIT ?`
	hideEntry     = `INSERT INTO hidden (board, key, scored, place, sequence, epoch, revision, meta)
		SELECT board, key, 1, place, sequence, epoch, revision, meta FROM entries WHERE board = ? AND key = ?`
	hideKey   = `INSERT INTO hidden (board, key, scored, place, sequence, epoch, revision) VALUES (?, ?, 0, 0, 0, 0, 0)`
	showEntry = `INSERT INTO entries (board, key, place, sequence, epoch, revision, meta)
		SELECT board, key, place, sequence, epoch, revision, meta FROM hidden WHERE board = ? AND key = ?`
	showKey      = `DELETE FROM hidden WHERE board = ? AND key = ?`
	updateHidden = `UPDATE hidden SET scored = 1, place = ?, sequence = ?, epoch = ?, revision = ?, meta = ? WHERE board = ? AND key = ?`
	stampHidden  = `UPDATE hidden SET epoch = ?, revision = ? WHERE board = ? AND key = ?`
	clearHidden  = `UPDATE hidden SET scored = 0, place = 0, sequence = 0, epoch = 0, revision = 0, meta = NULL WHERE board = ? AND key = ?`
)

// readEntry reads the entry of a key as rules look at it, hidden or not.
func (b boardRow) readEntry(ctx context.Context, c *conn, key string) (oldEntry, error) {
	row, err := c.first(ctx, selectEntry, b.id, key)
	hidden := false
	if err == nil && row == nil && b.info.Hidden != 0 {
		row, err = c.first(ctx, selectHidden, b.id, key)
		hidden = row != nil
	}
	if err != nil || row == nil {
		return oldEntry{}, err
	}
	if hidden && integer(row[4]) == 0 {
		return oldEntry{hidden: true}, nil
	}
	at := standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}
	return oldEntry{
		position: at, hidden: hidden,
		Stored: standings.Stored{
			Exists: true,
			Score:  standings.ScoreAt(b.info.Order, at.Place),
			Stamp:  store.Stamp{Epoch: uint64(integer(row[2])), Revision: uint64(integer(row[3]))},
		},
	}, nil
}

// Hide implements store.Boards.
func (h *boards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	w := &hide{board: board, hidden: hidden, keys: slices.Compact(slices.Sorted(slices.Values(keys))), sizes: h.sizes}
	if err := h.change(ctx, w, &w.edited, max(1, len(keys)), 0); err != nil {
		return 0, fmt.Errorf("sqlitestore: hide keys of board %s: %w", board, err)
	}
	return w.changed, nil
}

// hide is the work of Hide.
type hide struct {
	board  string
	hidden bool
	keys   []string
	sizes  standings.Sizes

	// Written by the writer.
	edited
	changed int
}

// apply implements work.
func (w *hide) apply(ctx context.Context, t *transaction) error {
	e, refused, err := edit(ctx, t, w.board, w.sizes)
	if w.refused = refused; err != nil || refused != nil {
		return err
	}
	olds, changed := make([]oldEntry, len(w.keys)), 0
	for i, key := range w.keys {
		if olds[i], err = e.board.readEntry(ctx, t.conn, key); err != nil {
			return err
		}
		if olds[i].hidden != w.hidden {
			changed++
		}
	}
	switch w.changed = changed; {
	case changed == 0:
		return nil
	case w.hidden && e.board.info.Hidden+int64(changed) > store.MaxHidden:
		w.refused = fmt.Errorf("%w: at most %d hidden keys, there are %d", store.ErrTooLarge, store.MaxHidden, e.board.info.Hidden)
		return nil
	}
	version := e.next()
	for i, key := range w.keys {
		switch {
		case olds[i].hidden == w.hidden:
		case w.hidden:
			err = e.hide(ctx, key, olds[i], version)
		default:
			err = e.show(ctx, key, olds[i], version)
		}
		if err != nil {
			return err
		}
	}
	return e.end(ctx, &w.edited)
}

// hide moves an entry to the hidden ones, or hides its key in advance.
func (e *editing) hide(ctx context.Context, key string, old oldEntry, version int64) error {
	e.board.info.Hidden++
	if !old.Exists {
		_, err := e.conn.exec(ctx, hideKey, e.board.id, key)
		return err
	}
	if err := e.leave(ctx, key, old.position, version); err != nil {
		return err
	}
	if _, err := e.conn.exec(ctx, hideEntry, e.board.id, key); err != nil {
		return err
	}
	_, err := e.conn.exec(ctx, deleteEntry, e.board.id, key)
	return err
}

// show moves a hidden entry back to where it stood, or ends that its key is hidden.
func (e *editing) show(ctx context.Context, key string, old oldEntry, version int64) error {
	e.board.info.Hidden--
	if old.Exists {
		if _, err := e.conn.exec(ctx, showEntry, e.board.id, key); err != nil {
			return err
		}
		if err := e.returns(ctx, key, old.position, version); err != nil {
			return err
		}
		if err := e.count(ctx, old.position, 1); err != nil {
			return err
		}
	}
	_, err := e.conn.exec(ctx, showKey, e.board.id, key)
	return err
}

// Hidden implements store.Boards.
func (h *boards) Hidden(ctx context.Context, board, after string, limit int) (all []store.HiddenEntry, err error) {
	err = h.read(ctx, "hidden keys", board, func(ctx context.Context, c *conn, b boardRow) error {
		all = nil
		return c.query(ctx, selectHiddens, func(row []driver.Value) error {
			e := store.HiddenEntry{Entry: store.Entry{Key: text(row[0])}, Scored: integer(row[4]) != 0}
			if e.Scored {
				e.Score, e.Sequence, e.Meta = standings.ScoreAt(b.info.Order, integer(row[1])), uint64(integer(row[2])), blob(row[3])
			}
			all = append(all, e)
			return nil
		}, b.id, after, int64(limit))
	})
	return all, err
}
