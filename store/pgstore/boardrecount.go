package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file makes the counts of a board anew while others read and write.
//
// The old counts go at once. Then shelf after shelf is counted, each in a transaction of its
// own, and the board's row says where the counts end: what is merged or removed there or
// beyond is not counted, and a rank beyond it is counted entry by entry. So every state in
// between is right, only slower, whoever writes or is killed; whoever opens the schema next
// goes on.

// recount makes the counts of a board anew, in which f was found. Until all are counted nobody
// else knows the highest sequence that was found, and none may be given twice.
func (h *boards) recount(ctx context.Context, board string, f *standings.Findings) error {
	for begin, done := true, false; !done; begin = false {
		err := h.database.transact(ctx, func(ctx context.Context, t *transaction) error {
			r, found, err := h.lock(ctx, t, lockBoard, board)
			switch {
			case err != nil:
				return err
			case !found:
				return store.ErrNoBoard
			case begin:
				r.info.Sequence = max(r.info.Sequence, uint64(f.Newest))
				return h.uncount(ctx, t, r)
			}
			if done = r.counted == nil; done { // somebody else was faster
				return nil
			}
			done, err = h.countOn(ctx, t, r)
			return err
		})
		if err != nil {
			h.sweeper.wake() // it goes on
			return damage(err)
		}
	}
	return nil
}

// lock reads and locks a board's row with a statement that answers boardColumns.
func (h *boards) lock(ctx context.Context, t *transaction, sql string, arguments ...any) (r boardRow, found bool, err error) {
	b := &pgx.Batch{}
	b.Queue(h.database.sql(sql), arguments...).QueryRow(func(row pgx.Row) (err error) {
		found, err = r.find(row, h.ahead.Load())
		return err
	})
	err = t.send(ctx, b)
	return r, found, err
}

const (
	deleteShelves = `DELETE FROM {s}.shelves WHERE board = $1::bigint`
	hideBoth      = `INSERT INTO {s}.hidden (board, key, scored, place, sequence, epoch, revision, meta)
		SELECT e.board, e.key, true, e.place, e.sequence, e.epoch, e.revision, e.meta
			FROM {s}.hidden h JOIN {s}.entries e ON e.board = h.board AND e.key = h.key WHERE h.board = $1::bigint
		ON CONFLICT (board, key) DO UPDATE SET scored = true, place = excluded.place, sequence = excluded.sequence,
			epoch = excluded.epoch, revision = excluded.revision, meta = excluded.meta`
	rankNoHidden = `DELETE FROM {s}.entries WHERE board = $1::bigint
		AND key IN (SELECT key FROM {s}.hidden WHERE board = $1::bigint)`
	selectMost    = `SELECT coalesce(max(sequence), 0) FROM {s}.entries WHERE ` + between
	sumAllShelves = `SELECT coalesce(sum(entries), 0)::bigint FROM {s}.shelves WHERE board = $1::bigint`
	lookHidden    = `SELECT count(*), coalesce(max(sequence), 0), count(*) FILTER (WHERE scored) FROM {s}.hidden WHERE board = $1::bigint`
)

// uncount forgets the counts. Hidden keys that are ranked are ranked no more.
func (h *boards) uncount(ctx context.Context, t *transaction, r boardRow) error {
	b := &pgx.Batch{}
	for _, sql := range [...]string{hideBoth, rankNoHidden, deleteShelves} {
		b.Queue(h.database.sql(sql), r.id)
	}
	first := standings.FirstPosition()
	r.counted = &first
	r.info.Sequence++ // ranks that were wrong may be cached
	r.log.End()       // what left without a change of the board's sequence is in no log
	r.save(h.database, b)
	r.saveCounted(h.database, b)
	return t.commit(ctx, b)
}

// countOn counts one shelf more, the first whose entries are in no count; done tells that it
// was the last.
func (h *boards) countOn(ctx context.Context, t *transaction, r boardRow) (done bool, err error) {
	from, size := *r.counted, h.sizes.Bucket
	buckets := []standings.Bucket{{From: from, Entries: size}}
	b := &pgx.Batch{}
	b.Queue(h.database.sql(selectCuts), r.id, []int64{from.Place}, []int64{from.Sequence}, []int64{int64(h.sizes.Shelf)*size + 1}, size).
		Query(func(rows pgx.Rows) error {
			var at, start standings.Position
			_, err := pgx.ForEachRow(rows, []any{&at.Place, &at.Sequence, &start.Place, &start.Sequence}, func() error {
				buckets = append(buckets, standings.Bucket{From: at, Entries: size})
				return nil
			})
			return err
		})
	if err := t.send(ctx, b); err != nil {
		return false, err
	}
	end, last := standings.LastPosition(), len(buckets)-1
	if done = last < h.sizes.Shelf; !done {
		end, buckets = buckets[last].From, buckets[:last]
	}
	return done, h.shelve(ctx, t, r, newShelf{buckets, end, done})
}

// newShelf is a shelf of new counts.
type newShelf struct {
	buckets []standings.Bucket
	end     standings.Position
	last    bool // nothing is behind it; how many entries its last bucket has is not counted yet
}

// shelve saves a shelf of new counts, and the board's numbers when it is the last.
func (h *boards) shelve(ctx context.Context, t *transaction, r boardRow, n newShelf) error {
	from, end, last := n.buckets[0].From, n.end, &n.buckets[len(n.buckets)-1]
	var newest, hidden, newestHidden, scored, count int64
	b := &pgx.Batch{}
	b.Queue(h.database.sql(selectMost), r.id, from.Place, from.Sequence, end.Place, end.Sequence).
		QueryRow(func(row pgx.Row) error { return row.Scan(&newest) })
	if n.last {
		b.Queue(h.database.sql(countInside), r.id, last.From.Place, last.From.Sequence, end.Place, end.Sequence).
			QueryRow(func(row pgx.Row) error { return row.Scan(&last.Entries) })
		b.Queue(h.database.sql(sumShelves), r.id, from.Place, from.Sequence).
			QueryRow(func(row pgx.Row) error { return row.Scan(&count) })
		b.Queue(h.database.sql(lookHidden), r.id).
			QueryRow(func(row pgx.Row) error { return row.Scan(&hidden, &newestHidden, &scored) })
	}
	if err := t.send(ctx, b); err != nil {
		return err
	}
	shelf := &standings.Shelf{Buckets: n.buckets, Changed: true}
	r.info.Sequence = max(r.info.Sequence, uint64(newest), uint64(newestHidden))
	if r.counted = &end; n.last {
		r.counted = nil
		r.whole(count+shelf.Entries(), hidden)
	}
	b = &pgx.Batch{}
	saveShelves(h.database, b, r.id, &standings.Directory{Shelves: []*standings.Shelf{shelf}})
	r.save(h.database, b)
	r.saveCounted(h.database, b)
	return t.commit(ctx, b)
}

// whole corrects the numbers of the board. When they were wrong, so is what was read since the
// beginning, and every walk that began with them.
func (b *boardRow) whole(count, hidden int64) {
	if count != b.info.Count || hidden != b.info.Hidden {
		b.info.Count, b.info.Hidden = count, hidden
		b.info.Sequence++
		b.log.End()
	}
}
