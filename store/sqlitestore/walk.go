package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Walk implements store.Boards. The first call writes, so that the board remembers from then
// on what it replaces; later ones only when half of WalkFor has passed since one did. A
// walk that one call shows whole, or through a sealed board, never does.
func (h *boards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	cursor := from
	for kept := false; ; kept = true {
		var page store.Page
		next, keep := cursor, false
		var refused error
		err := h.read(ctx, "walk", board, func(ctx context.Context, c *conn, b boardRow) (err error) {
			var at store.Cursor
			if at, keep, refused = b.walkable(cursor, h.file.now()); refused != nil {
				return nil //nolint:nilerr // it is not the engine's
			}
			if cursor == (store.Cursor{}) && at.Total <= int64(limit) {
				keep = false // it begins and ends with this call
			}
			if keep && !kept {
				return nil
			}
			page, refused, err = b.walk(ctx, c, at, limit, h.sizes.Stretch)
			next = standings.Seen(at, page.Entries)
			return err
		})
		if refused != nil {
			err = fmt.Errorf("sqlitestore: walk of board %s: %w", board, refused)
		}
		if err != nil {
			return store.Page{}, from, err
		}
		if !keep || kept {
			return page, next, nil
		}
		if cursor, err = h.keepWalk(ctx, board, cursor); err != nil {
			return store.Page{}, from, fmt.Errorf("sqlitestore: walk of board %s: %w", board, err)
		}
	}
}

// keepWalk has the board remember what it replaces, for the walk at the cursor, and answers
// the cursor, which may have been the zero one.
func (h *boards) keepWalk(ctx context.Context, board string, from store.Cursor) (store.Cursor, error) {
	w := &keepWalk{board: board, from: from}
	err := h.file.writer.do(ctx, w, 1, len(board))
	switch {
	case errors.Is(err, store.ErrUnknown): // a walk is a read: what was asked for was not done
		return from, fmt.Errorf("%w: %v", store.ErrUnavailable, err) //nolint:errorlint // one word of the vocabulary
	case err != nil:
		return from, err
	case w.refused != nil:
		return from, w.refused
	}
	if w.began {
		h.sweeper.wake() // it ends the log if nobody else does
	}
	return w.at, nil
}

// walkable is standings.Walkable of the board.
func (b boardRow) walkable(from store.Cursor, now moment) (at store.Cursor, keep bool, err error) {
	return standings.Walkable(b.info, b.log, b.called.since(now), from)
}

// keepWalk is the work of it.
type keepWalk struct {
	board string
	from  store.Cursor

	// Written by the writer.
	at      store.Cursor
	refused error
	began   bool // a log began
}

// apply implements work.
func (w *keepWalk) apply(ctx context.Context, t *transaction) error {
	b, ok, err := findBoard(ctx, t.conn, w.board)
	if err != nil {
		return err
	}
	w.refused = store.ErrNoBoard
	if ok {
		w.at, _, w.refused = b.walkable(w.from, t.at)
	}
	if w.refused != nil {
		return nil //nolint:nilerr // the refusal is this job's own; the transaction goes on
	}
	w.began = !b.log.Fresh(b.called.since(t.at))
	b.log.Keep(w.at.Version, b.called.since(t.at))
	b.called = t.at
	return b.saveLog(ctx, t.conn)
}

// walk reads the next entries of the board as it was at the cursor's version.
func (b boardRow) walk(ctx context.Context, c *conn, from store.Cursor, limit, stretch int) (page store.Page, refused, err error) {
	want := int(max(0, min(int64(limit), from.Total-from.Seen)))
	w := &walking{conn: c, board: b, version: int64(from.Version), at: standings.After(b.info.Order, from), want: want, most: want + want/4 + stretch}
	if err := w.run(ctx); err != nil {
		return store.Page{}, nil, err
	}
	if len(w.rows) < want { // a cursor that no walk has answered
		return store.Page{}, fmt.Errorf("%w: %d entries were left, %d found", store.ErrCursor, want, len(w.rows)), nil
	}
	return standings.WalkPage(b.info.Order, from, w.rows), nil, nil
}

// walking reads one page of a walk.
type walking struct {
	conn    *conn
	board   boardRow
	version int64
	at      standings.Position // behind which it goes on
	want    int
	most    int // entries, and rows of the log, that a stretch looks at
	rows    []standings.WalkRow
}

const (
	selectWalk = `SELECT key, place, sequence, NULL FROM entries INDEXED BY standings
		WHERE board = ? AND (place, sequence) > (?, ?) AND (place, sequence) <= (?, ?) AND sequence <= ?
		ORDER BY place, sequence LIMIT ?`
	selectWalkMeta = `SELECT s.key, s.Place, s.Sequence, e.meta FROM
		(SELECT board, key, place, sequence FROM entries INDEXED BY standings
			WHERE board = ? AND (place, sequence) > (?, ?) AND (place, sequence) <= (?, ?) AND sequence <= ?
			ORDER BY place, sequence LIMIT ?) s
		CROSS JOIN entries e ON e.board = s.board AND e.key = s.key ORDER BY s.Place, s.Sequence`
	selectMoved = `SELECT key, place, sequence, meta FROM moved
		WHERE board = ?1 AND log = ?2 AND (place, sequence) > (?3, ?4) AND (place, sequence) <= (?5, ?6)
			AND since <= ?7 AND at > ?7 AND at < 9223372036854775807 ORDER BY place, sequence`
	selectShown = `SELECT place, sequence FROM moved INDEXED BY moved_shown
		WHERE board = ? AND log = ? AND (place, sequence) > (?, ?) AND (place, sequence) <= (?, ?)
			AND since > ? AND at = 9223372036854775807`
	skipEntries = `SELECT place, sequence FROM entries INDEXED BY standings
		WHERE board = ? AND (place, sequence) > (?, ?) ORDER BY place, sequence LIMIT 1 OFFSET ?`
	skipMoved = `SELECT place, sequence FROM moved
		WHERE board = ? AND log = ? AND (place, sequence) > (?, ?) ORDER BY place, sequence LIMIT 1 OFFSET ?`
)

// run reads the whole page at once when nothing has changed since the version. Else it reads
// stretch by stretch, each of which looks at a bounded number of entries and rows of the log,
// however few of them the version has: so a walk looks at each of them hardly more than once.
func (w *walking) run(ctx context.Context) error {
	if w.version == int64(w.board.info.Sequence) {
		rows, err := w.entries(ctx, standings.LastPosition(), w.want)
		w.rows = rows
		return err
	}
	for more := true; more && len(w.rows) < w.want; {
		var end standings.Position
		var err error
		if end, more, err = w.stretch(ctx); err != nil {
			return err
		}
		entries, err := w.stood(ctx, end)
		if err != nil {
			return err
		}
		log := w.board.log
		moved, err := w.collect(ctx, selectMoved, w.board.id, log.Number,
			w.at.Place, w.at.Sequence, end.Place, end.Sequence, w.version)
		if err != nil {
			return err
		}
		w.rows, w.at = append(w.rows, standings.Weave(entries, moved)...), end
	}
	w.rows = w.rows[:min(len(w.rows), w.want)]
	return nil
}

// stretch is where the next stretch ends; more tells that there are others behind it.
func (w *walking) stretch(ctx context.Context) (end standings.Position, more bool, err error) {
	end, skip := standings.LastPosition(), int64(w.most-1)
	row, err := w.conn.first(ctx, skipEntries, w.board.id, w.at.Place, w.at.Sequence, skip)
	if err != nil {
		return end, false, err
	}
	if row != nil {
		end, more = standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}, true
	}
	row, err = w.conn.first(ctx, skipMoved, w.board.id, w.board.log.Number, w.at.Place, w.at.Sequence, skip)
	if err != nil || row == nil {
		return end, more, err
	}
	if p := (standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}); p.Compare(end) < 0 {
		end = p
	}
	return end, true, nil
}

// entries reads what stands now.
func (w *walking) entries(ctx context.Context, end standings.Position, limit int) ([]standings.WalkRow, error) {
	sql := selectWalk
	if w.board.metas {
		sql = selectWalkMeta
	}
	return w.collect(ctx, sql, w.board.id, w.at.Place, w.at.Sequence, end.Place, end.Sequence, w.version, int64(limit))
}

// stood reads what stands now and stood there at the version: without what was shown since.
func (w *walking) stood(ctx context.Context, end standings.Position) ([]standings.WalkRow, error) {
	entries, err := w.entries(ctx, end, -1)
	log := w.board.log
	if err != nil || len(entries) == 0 || log.Shown == 0 {
		return entries, err
	}
	shown := make(map[standings.Position]bool)
	err = w.conn.query(ctx, selectShown, func(row []driver.Value) error {
		shown[standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}] = true
		return nil
	}, w.board.id, log.Number, w.at.Place, w.at.Sequence, end.Place, end.Sequence, w.version)
	return slices.DeleteFunc(entries, func(r standings.WalkRow) bool { return shown[r.At] }), err
}

func (w *walking) collect(ctx context.Context, sql string, args ...any) (rows []standings.WalkRow, err error) {
	err = w.conn.query(ctx, sql, func(row []driver.Value) error {
		at := standings.Position{Place: integer(row[1]), Sequence: integer(row[2])}
		rows = append(rows, standings.WalkRow{At: at, Entry: store.Entry{
			Key: text(row[0]), Score: standings.ScoreAt(w.board.info.Order, at.Place), Sequence: uint64(at.Sequence), Meta: blob(row[3]),
		}})
		return nil
	}, args...)
	return rows, err
}
