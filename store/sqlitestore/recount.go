package sqlitestore

import (
	"context"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file makes the counts of a board anew while others read and write.
//
// The old counts go at once. Then shelf after shelf is counted, each in a write of its own,
// and the board's row says where the counts end: what is merged or removed there or beyond is
// not counted, and a rank beyond it is counted entry by entry. So every state in between is
// right, only slower, whoever writes or is killed; whoever opens the folder next goes on.

// newRecount begins to make the counts of a board anew, in which f was found.
func (h *boards) newRecount(board string, f *findings) *recount {
	return &recount{board: board, begin: true, newest: f.Newest, sizes: h.sizes}
}

// recount makes the counts of a board anew, in which f was found.
func (h *boards) recount(ctx context.Context, board string, f *findings) error {
	w := h.newRecount(board, f)
	for {
		if err := h.file.writer.do(ctx, w, sweepEntries, 0); err != nil {
			h.sweeper.wake() // it goes on
			return err
		}
		if w.missing {
			return store.ErrNoBoard
		}
		if w.done {
			return nil
		}
		w = &recount{board: board, sizes: h.sizes}
	}
}

// recount is one step of it: the beginning, or a shelf.
type recount struct {
	board string
	begin bool
	// newest is the highest sequence that was found, at the beginning: until all are counted
	// nobody else knows it, and none may be given twice.
	newest int64
	sizes  standings.Sizes

	// Written by the writer.
	missing, done bool
}

// apply implements work.
func (w *recount) apply(ctx context.Context, t *transaction) error {
	b, ok, err := findBoard(ctx, t.conn, w.board)
	if err != nil {
		return err
	}
	w.missing, w.done = !ok, ok && b.counted == nil && !w.begin
	switch {
	case w.missing || w.done: // somebody else was faster
		return nil
	case w.begin:
		b.info.Sequence = max(b.info.Sequence, uint64(w.newest))
		return b.uncount(ctx, t.conn)
	}
	w.done, err = b.countOn(ctx, t.conn, w.sizes)
	return err
}

const (
	deleteShelves = `DELETE FROM shelves WHERE board = ?`
	hideBoth      = `INSERT OR REPLACE INTO hidden (board, key, scored, place, sequence, epoch, revision, meta)
		SELECT e.board, e.key, 1, e.Place, e.Sequence, e.epoch, e.revision, e.meta
			FROM hidden h CROSS JOIN entries e ON e.board = h.board AND e.key = h.key WHERE h.board = ?`
	rankNoHidden = `DELETE FROM entries WHERE board = ?1 AND key IN (SELECT key FROM hidden WHERE board = ?1)`
)

// uncount forgets the counts. Hidden keys that are ranked are ranked no more.
func (b boardRow) uncount(ctx context.Context, c *conn) error {
	for _, sql := range [...]string{hideBoth, rankNoHidden, deleteShelves} {
		if _, err := c.exec(ctx, sql, b.id); err != nil {
			return err
		}
	}
	first := standings.FirstPosition()
	b.counted = &first
	b.info.Sequence++ // ranks that were wrong may be cached
	b.log.End()       // what left without a change of the board's sequence is in no log
	if err := b.save(ctx, c); err != nil {
		return err
	}
	return b.saveCounted(ctx, c)
}

// countOn counts one shelf more, the first whose entries are in no count; done tells that it
// was the last.
func (b boardRow) countOn(ctx context.Context, c *conn, z standings.Sizes) (done bool, err error) {
	from := *b.counted
	var buckets []standings.Bucket
	for at := from; len(buckets) < z.Shelf && !done; {
		row, err := c.first(ctx, selectNth, b.id, at.Place, at.Sequence, z.Bucket)
		if err != nil {
			return false, err
		}
		own, n := at, z.Bucket
		if done = row == nil; done {
			last := standings.LastPosition()
			n, err = c.number(ctx, countInside, b.id, at.Place, at.Sequence, last.Place, last.Sequence)
			if err != nil {
				return false, err
			}
		} else {
			at = standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}
			b.counted = &at
		}
		buckets = append(buckets, standings.Bucket{From: own, Entries: n})
	}
	if err := b.saveShelf(ctx, c, from, buckets); err != nil {
		return false, err
	}
	end := standings.LastPosition()
	if done {
		b.counted = nil
	} else {
		end = *b.counted
	}
	return done, b.finishCount(ctx, c, from, end)
}

func (b boardRow) saveShelf(ctx context.Context, c *conn, from standings.Position, buckets []standings.Bucket) error {
	sum := (&standings.Shelf{Buckets: buckets}).Entries()
	_, err := c.exec(ctx, upsertShelf, b.id, from.Place, from.Sequence, sum, standings.EncodeBuckets(buckets))
	return err
}

// finishCount notes what was counted, and the board's numbers when that was all.
func (b boardRow) finishCount(ctx context.Context, c *conn, from, end standings.Position) error {
	row, err := c.first(ctx, countBetween, b.id, from.Place, from.Sequence, end.Place, end.Sequence)
	if err != nil {
		return err
	}
	b.info.Sequence = max(b.info.Sequence, uint64(integer(row[1])))
	if b.counted == nil {
		if b, err = b.countWhole(ctx, c); err != nil {
			return err
		}
	}
	if err := b.save(ctx, c); err != nil {
		return err
	}
	return b.saveCounted(ctx, c)
}

// countWhole corrects the numbers of the board. When they were wrong, so is what was read
// since the beginning, and every walk that began with them.
func (b boardRow) countWhole(ctx context.Context, c *conn) (boardRow, error) {
	row, err := c.first(ctx, lookHidden, b.id)
	if err != nil {
		return b, err
	}
	hidden, newest := integer(row[0]), integer(row[1])
	count, err := c.number(ctx, sumAllShelves, b.id)
	if err != nil {
		return b, err
	}
	b.info.Sequence = max(b.info.Sequence, uint64(newest))
	if count != b.info.Count || hidden != b.info.Hidden {
		b.info.Count, b.info.Hidden = count, hidden
		b.info.Sequence++
		b.log.End()
	}
	return b, nil
}
