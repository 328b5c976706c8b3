package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file keeps hidden keys: in a table of their own, so that neither the standings nor the
// counts ever meet them. A key is in it or among the entries, never in both.

const (
	hideEntries = `INSERT INTO {s}.hidden (board, key, scored, place, sequence, epoch, revision, meta)
		SELECT board, key, true, place, sequence, epoch, revision, meta FROM {s}.entries
		WHERE board = $1::bigint AND key = ANY ($2::text[])`
	hideKeys    = `INSERT INTO {s}.hidden (board, key, scored) SELECT $1::bigint, u, false FROM unnest($2::text[]) AS u`
	showEntries = `INSERT INTO {s}.entries (board, key, place, sequence, epoch, revision, meta)
		SELECT board, key, place, sequence, epoch, revision, meta FROM {s}.hidden
		WHERE board = $1::bigint AND key = ANY ($2::text[]) AND scored`
	selectHidden = `SELECT key, scored, place, sequence, meta FROM {s}.hidden
		WHERE board = ` + boardNamed + ` AND key > $2::text ORDER BY key LIMIT $3::bigint`
)

// Hide implements store.Boards.
func (h *boards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	changed := 0
	err := h.change(ctx, edit{operation: "hide keys of", board: board, keys: keys}, func(e *editing) error {
		which := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(keys))), func(key string) bool {
			return e.known[key].hidden == hidden
		})
		changed = len(which)
		switch {
		case changed == 0:
			return nil
		case hidden && e.board.info.Hidden+int64(changed) > store.MaxHidden:
			return fmt.Errorf("%w: at most %d hidden keys, there are %d", store.ErrTooLarge, store.MaxHidden, e.board.info.Hidden)
		case hidden:
			e.hide(which)
		default:
			e.show(which)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

// hide moves entries to the hidden ones, or hides their keys in advance.
func (e *editing) hide(keys []string) {
	version := e.next()
	e.board.info.Hidden += int64(len(keys))
	var ranked, others []string
	for _, key := range keys {
		old := e.known[key]
		if !old.Exists {
			others = append(others, key)
			continue
		}
		e.leave(key, old.at, version)
		ranked = append(ranked, key)
	}
	if len(ranked) > 0 {
		e.queue(hideEntries, e.board.id, ranked)
		e.queue(deleteEntries, e.board.id, ranked)
	}
	if len(others) > 0 {
		e.queue(hideKeys, e.board.id, others)
	}
}

// show moves hidden entries back to where they stood, or ends that their keys are hidden.
func (e *editing) show(keys []string) {
	version := e.next()
	e.board.info.Hidden -= int64(len(keys))
	for _, key := range keys {
		if old := e.known[key]; old.Exists {
			e.returns(key, old.at, version)
		}
	}
	e.queue(showEntries, e.board.id, keys)
	e.queue(deleteHidden, e.board.id, keys)
}

// Hidden implements store.Boards.
func (h *boards) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	var all []store.HiddenEntry
	err := h.read(ctx, "list hidden keys of", board, func(ctx context.Context, s *snapshot) error {
		all = nil
		var r boardRow
		b := &pgx.Batch{}
		s.board(b, &r, board)
		b.Queue(h.database.sql(selectHidden), board, after, int64(limit)).Query(func(rows pgx.Rows) error {
			var e store.HiddenEntry
			var at standings.Position
			_, err := pgx.ForEachRow(rows, []any{&e.Key, &e.Scored, &at.Place, &at.Sequence, &e.Meta}, func() error {
				if e.Scored {
					e.Score, e.Sequence = standings.ScoreAt(r.info.Order, at.Place), uint64(at.Sequence)
				} else {
					e = store.HiddenEntry{Entry: store.Entry{Key: e.Key}}
				}
				all = append(all, e)
				e = store.HiddenEntry{}
				return nil
			})
			return err
		})
		return s.last(ctx, b)
	})
	return all, err
}
