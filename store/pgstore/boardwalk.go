package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Walk implements store.Boards. The first call writes, so that the board remembers from then
// on what it replaces; later ones only when half of WalkFor has passed since one did. A walk
// that one call shows whole never does; of a sealed board only the first one ever.
func (h *boards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	cursor := from
	for kept := false; ; kept = true {
		page, next, keep, err := h.walk(ctx, board, cursor, limit, kept)
		if err != nil {
			return store.Page{}, from, err
		}
		if !keep || kept {
			return page, next, nil
		}
		if cursor, err = h.keepWalk(ctx, board, cursor); err != nil {
			return store.Page{}, from, err
		}
	}
}

// walk reads the next entries of a walk, unless the board must be told first (keep) and was
// not (kept).
func (h *boards) walk(ctx context.Context, board string, from store.Cursor, limit int, kept bool) (page store.Page, next store.Cursor, keep bool, err error) {
	err = h.read(ctx, "walk", board, func(ctx context.Context, s *snapshot) error {
		var r boardRow
		b := &pgx.Batch{}
		s.board(b, &r, board)
		if err := s.send(ctx, b); err != nil {
			return err
		}
		var at store.Cursor
		var err error
		if at, keep, err = standings.Walkable(r.info, r.log, r.idle, from); err != nil {
			return err
		}
		if from == (store.Cursor{}) && at.Total <= int64(limit) {
			keep = false // it begins and ends with this call
		}
		if keep && !kept {
			return nil
		}
		page, err = s.walk(ctx, r, at, limit)
		next = standings.Seen(at, page.Entries)
		return err
	})
	return page, next, keep, err
}

// keepWalk has the board remember what it replaces, for the walk at the cursor, and answers
// the cursor, which may have been the zero one.
func (h *boards) keepWalk(ctx context.Context, board string, from store.Cursor) (at store.Cursor, err error) {
	if err := h.gate.enter(ctx, "walk board "+board); err != nil {
		return from, err
	}
	defer h.gate.leave()
	give, err := h.turns.take(ctx, h.database, board)
	if err != nil {
		return from, boardError("walk", board, err)
	}
	defer give()
	began := false
	err = h.database.transact(ctx, func(ctx context.Context, t *transaction) error {
		var r boardRow
		found := false
		b := &pgx.Batch{}
		b.Queue(h.database.sql(lockBoard), board).QueryRow(func(row pgx.Row) (err error) {
			found, err = r.find(row, h.ahead.Load())
			return err
		})
		if err := t.send(ctx, b); err != nil {
			return err
		}
		if !found {
			return store.ErrNoBoard
		}
		var err error
		if at, _, err = standings.Walkable(r.info, r.log, r.idle, from); err != nil {
			return err
		}
		if !r.info.Sealed { // a sealed board replaces nothing
			began = !r.log.Fresh(r.idle)
			r.log.Keep(at.Version, r.idle)
		}
		if at.Tag == 0 {
			at.Tag = r.log.Tag(at.Version, standings.FreshTag())
		}
		b = &pgx.Batch{}
		r.save(h.database, b)
		b.Queue(h.database.sql(updateCalled), r.id, r.now, r.log.Walked.Bytes())
		return t.commit(ctx, b)
	})
	if errors.Is(err, store.ErrUnknown) { // a walk is a read: what was asked for was not done
		err = fmt.Errorf("%w: %v", store.ErrUnavailable, err) //nolint:errorlint // one word of the vocabulary
	}
	if err != nil {
		return from, boardError("walk", board, err)
	}
	if began {
		h.sweeper.wake() // it ends the log if nobody else does
	}
	return at, nil
}

// walk reads the next entries of the board as it was at the cursor's version.
func (s *snapshot) walk(ctx context.Context, r boardRow, from store.Cursor, limit int) (store.Page, error) {
	want := int(max(0, min(int64(limit), from.Total-from.Seen)))
	w := &walking{
		snapshot: s, row: r, version: int64(from.Version), at: standings.After(r.info.Order, from),
		want: want, most: int64(want + want/4 + s.boards.sizes.Stretch),
	}
	if err := w.run(ctx); err != nil {
		return store.Page{}, err
	}
	if len(w.rows) < want { // a cursor that no walk has answered
		return store.Page{}, fmt.Errorf("%w: %d entries were left, %d found", store.ErrCursor, want, len(w.rows))
	}
	return standings.WalkPage(r.info.Order, from, w.rows), nil
}

// walking reads one page of a walk.
type walking struct {
	*snapshot
	row     boardRow
	version int64
	at      standings.Position // behind which it goes on
	want    int
	most    int64 // entries, and rows of the log, that a stretch looks at
	rows    []standings.WalkRow
}

const (
	walkRange = `board = $1::bigint AND place BETWEEN $2::bigint AND $4::bigint
		AND (place, sequence) > ($2::bigint, $3::bigint) AND (place, sequence) <= ($4::bigint, $5::bigint)`
	selectWalk = `SELECT key, place, sequence, meta FROM {s}.entries
		WHERE ` + walkRange + ` AND sequence <= $6::bigint ORDER BY place, sequence LIMIT $7::bigint`
	selectMoved = `SELECT key, place, sequence, meta FROM {s}.moved
		WHERE ` + walkRange + ` AND since <= $6::bigint AND log = $7::bigint AND at > $6::bigint AND at < 9223372036854775807
		ORDER BY place, sequence`
	selectShown = `SELECT place, sequence FROM {s}.moved
		WHERE ` + walkRange + ` AND since > $6::bigint AND log = $7::bigint AND at = 9223372036854775807`
	skipEntries = `SELECT place, sequence FROM {s}.entries
		WHERE board = $1::bigint AND (place, sequence) > ($2::bigint, $3::bigint) ORDER BY place, sequence LIMIT 1 OFFSET $4::bigint`
	skipMoved = `SELECT place, sequence FROM {s}.moved
		WHERE board = $1::bigint AND log = $5::bigint AND (place, sequence) > ($2::bigint, $3::bigint)
		ORDER BY place, sequence LIMIT 1 OFFSET $4::bigint`
)

// run reads the whole page at once when nothing has changed since the version. Else it reads
// stretch by stretch, each of which looks at a bounded number of entries and rows of the log,
// however few of them the version has: so a walk looks at each of them hardly more than once.
func (w *walking) run(ctx context.Context) error {
	if w.version == int64(w.row.info.Sequence) {
		b := &pgx.Batch{}
		w.collect(b, &w.rows, selectWalk, standings.LastPosition(), int64(w.want))
		return w.send(ctx, b)
	}
	for more := true; more && len(w.rows) < w.want; {
		var end standings.Position
		var err error
		if end, more, err = w.stretch(ctx); err != nil {
			return err
		}
		if err := w.read(ctx, end); err != nil {
			return err
		}
		w.at = end
	}
	w.rows = w.rows[:min(len(w.rows), w.want)]
	return nil
}

// stretch is where the next stretch ends; more tells that there are others behind it.
func (w *walking) stretch(ctx context.Context) (end standings.Position, more bool, err error) {
	end = standings.LastPosition()
	earlier := func(row pgx.Row) error {
		var p standings.Position
		err := row.Scan(&p.Place, &p.Sequence)
		if isMissing(err) {
			return nil
		}
		if more = true; p.Compare(end) < 0 {
			end = p
		}
		return err
	}
	b := &pgx.Batch{}
	w.queue(b, skipEntries, w.row.id, w.at.Place, w.at.Sequence, w.most-1).QueryRow(earlier)
	w.queue(b, skipMoved, w.row.id, w.at.Place, w.at.Sequence, w.most-1, w.row.log.Number).QueryRow(earlier)
	return end, more, w.send(ctx, b)
}

// read reads what stood there at the version up to end: what stands there still, without what
// was shown since, and what has left.
func (w *walking) read(ctx context.Context, end standings.Position) error {
	var entries, moved []standings.WalkRow
	b := &pgx.Batch{}
	w.collect(b, &entries, selectWalk, end, nil)
	w.collect(b, &moved, selectMoved, end, w.row.log.Number)
	shown := make(map[standings.Position]bool)
	if w.row.log.Shown > 0 {
		w.queue(b, selectShown, w.between(end, w.row.log.Number)...).Query(func(rows pgx.Rows) error {
			var at standings.Position
			_, err := pgx.ForEachRow(rows, []any{&at.Place, &at.Sequence}, func() error {
				shown[at] = true
				return nil
			})
			return err
		})
	}
	err := w.send(ctx, b)
	entries = slices.DeleteFunc(entries, func(r standings.WalkRow) bool { return shown[r.At] })
	w.rows = append(w.rows, standings.Weave(entries, moved)...)
	return err
}

// between are the arguments of walkRange, the version, and one more.
func (w *walking) between(end standings.Position, last any) []any {
	return []any{w.row.id, w.at.Place, w.at.Sequence, end.Place, end.Sequence, w.version, last}
}

func (w *walking) collect(b *pgx.Batch, out *[]standings.WalkRow, sql string, end standings.Position, last any) {
	w.queue(b, sql, w.between(end, last)...).Query(func(rows pgx.Rows) error {
		return eachEntry(rows, func(at standings.Position, e store.Entry) {
			e.Score = standings.ScoreAt(w.row.info.Order, at.Place)
			*out = append(*out, standings.WalkRow{At: at, Entry: e})
		})
	})
}
