package pgstore

import (
	"context"
	"slices"
)

const (
	deleteEntries = `DELETE FROM {s}.entries WHERE board = $1::bigint AND key = ANY ($2::text[])`
	clearHidden   = `UPDATE {s}.hidden SET scored = false, place = 0, sequence = 0, epoch = NULL, revision = NULL, meta = NULL
		WHERE board = $1::bigint AND key = ANY ($2::text[])`
	deleteHidden = `DELETE FROM {s}.hidden WHERE board = $1::bigint AND key = ANY ($2::text[])`
)

// Remove implements store.Boards.
func (h *boards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	removed := 0
	err := h.change(ctx, edit{operation: "remove from", board: board, keys: keys}, func(e *editing) error {
		removed = e.take(keys, func(old oldEntry) bool { return old.Exists }, clearHidden)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Erase implements store.Boards.
func (h *boards) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	erased := 0
	err := h.change(ctx, edit{operation: "erase from", board: board, keys: keys, sealed: true}, func(e *editing) error {
		erased = e.take(keys, func(old oldEntry) bool { return old.Exists || old.hidden }, deleteHidden)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return erased, nil
}

// take deletes the entries of keys, and does with the hidden ones what fromHidden says. It
// answers how many there were.
func (e *editing) take(keys []string, which func(oldEntry) bool, fromHidden string) int {
	var ranked, hidden []string
	version := int64(0)
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		old := e.known[key]
		if !which(old) {
			continue
		}
		if version == 0 {
			version = e.next() // so that a cache bound to the sequence notices
		}
		if old.hidden {
			hidden = append(hidden, key)
			continue
		}
		e.leave(key, old.at, version)
		ranked = append(ranked, key)
	}
	if len(ranked) > 0 {
		e.queue(deleteEntries, e.board.id, ranked)
	}
	if len(hidden) > 0 {
		e.queue(fromHidden, e.board.id, hidden)
		if fromHidden == deleteHidden {
			e.board.info.Hidden -= int64(len(hidden))
		}
	}
	return len(ranked) + len(hidden)
}
