package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file reads boards. Every call reads one state of the board.

// read calls f with the board's row inside a read transaction.
func (h *boards) read(ctx context.Context, operation, board string, f func(context.Context, *conn, boardRow) error) error {
	missing := false
	err := h.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		return snapshot(ctx, c, func(ctx context.Context, c *conn) error {
			b, ok, err := findBoard(ctx, c, board)
			if missing = !ok; err != nil || missing {
				return err
			}
			return f(ctx, c, b)
		})
	})
	if err == nil && missing {
		err = store.ErrNoBoard
	}
	if err != nil {
		return fmt.Errorf("sqlitestore: %s of board %s: %w", operation, board, err)
	}
	return nil
}

// Info implements store.Boards.
func (h *boards) Info(ctx context.Context, board string) (info store.BoardInfo, err error) {
	err = h.read(ctx, "info", board, func(_ context.Context, _ *conn, b boardRow) error {
		info = b.info
		return nil
	})
	return info, err
}

// Page implements store.Boards.
func (h *boards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (page store.Page, err error) {
	err = h.read(ctx, "page", board, func(ctx context.Context, c *conn, b boardRow) error {
		page, err = b.page(ctx, c, offset, limit, mode)
		return err
	})
	return page, err
}

// Standing implements store.Boards.
func (h *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (s store.Standing, ok bool, err error) {
	err = h.read(ctx, "standing", board, func(ctx context.Context, c *conn, b boardRow) error {
		var at standings.Position
		if s.Entry, at, ok, err = b.entry(ctx, c, key); err != nil || !ok {
			return err
		}
		s.Rank, err = b.rank(ctx, c, mode, at)
		return err
	})
	return s, ok && err == nil, err
}

// Around implements store.Boards.
func (h *boards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (page store.Page, err error) {
	err = h.read(ctx, "surroundings", board, func(ctx context.Context, c *conn, b boardRow) error {
		_, at, ok, err := b.entry(ctx, c, key)
		if err != nil {
			return err
		}
		if !ok {
			page = store.Page{Total: b.info.Count, Info: b.info}
			return nil
		}
		better, err := b.better(ctx, c, at)
		if err != nil {
			return err
		}
		first := max(0, better-int64(n))
		page, err = b.page(ctx, c, first, int(better-first)+1+n, mode)
		return err
	})
	return page, err
}

// Scores implements store.Boards.
func (h *boards) Scores(ctx context.Context, board string, keys ...string) (found map[string]store.Entry, err error) {
	err = h.read(ctx, "scores", board, func(ctx context.Context, c *conn, b boardRow) error {
		found = make(map[string]store.Entry, len(keys))
		for _, key := range keys {
			e, _, ok, err := b.entry(ctx, c, key)
			if err != nil {
				return err
			}
			if ok {
				found[key] = e
			}
		}
		return nil
	})
	return found, err
}

const selectWhole = `SELECT place, sequence, meta FROM entries WHERE board = ? AND key = ?`

// entry reads the entry of a key.
func (b boardRow) entry(ctx context.Context, c *conn, key string) (e store.Entry, at standings.Position, ok bool, err error) {
	row, err := c.first(ctx, selectWhole, b.id, key)
	if err != nil || row == nil {
		return store.Entry{}, standings.Position{}, false, err
	}
	at = standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}
	return store.Entry{
		Key:      key,
		Score:    standings.ScoreAt(b.info.Order, at.Place),
		Sequence: uint64(at.Sequence),
		Meta:     blob(row[2]),
	}, at, true, nil
}

const (
	selectOwnShelf = `SELECT place, sequence, buckets FROM shelves
		WHERE board = ? AND (place, sequence) <= (?, ?) ORDER BY place DESC, sequence DESC LIMIT 1`
	sumShelves = `SELECT coalesce(sum(entries), 0) FROM shelves INDEXED BY shelf_counts
		WHERE board = ? AND (place, sequence) < (?, ?)`
	countInside = `SELECT count(*) FROM entries INDEXED BY standings
		WHERE board = ? AND (place, sequence) >= (?, ?) AND (place, sequence) < (?, ?)`
)

// better is how many entries are better than the position.
func (b boardRow) better(ctx context.Context, c *conn, at standings.Position) (int64, error) {
	if end := b.counted; end != nil && at.Compare(*end) >= 0 {
		counted, err := c.number(ctx, sumShelves, b.id, end.Place, end.Sequence)
		if err != nil {
			return 0, err
		}
		rest, err := c.number(ctx, countInside, b.id, end.Place, end.Sequence, at.Place, at.Sequence)
		return counted + rest, err
	}
	row, err := c.first(ctx, selectOwnShelf, b.id, at.Place, at.Sequence)
	if err != nil {
		return 0, err
	}
	if row == nil {
		return 0, standings.Damaged("a board with entries has none")
	}
	from := standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}
	buckets, err := standings.DecodeBuckets(blob(row[2]))
	if err != nil {
		return 0, err
	}
	shelves, err := c.number(ctx, sumShelves, b.id, from.Place, from.Sequence)
	if err != nil {
		return 0, err
	}
	own, better := standings.BetterThan(buckets, at)
	inside, err := c.number(ctx, countInside, b.id, own.From.Place, own.From.Sequence, at.Place, at.Sequence)
	return shelves + better + inside, err
}

const (
	selectStandings = `SELECT key, place, sequence, NULL FROM entries INDEXED BY standings
		WHERE board = ? AND (place, sequence) >= (?, ?) ORDER BY place, sequence LIMIT ? OFFSET ?`
	selectStandingsMeta = `SELECT s.key, s.Place, s.Sequence, e.meta FROM
		(SELECT board, key, place, sequence FROM entries INDEXED BY standings
			WHERE board = ? AND (place, sequence) >= (?, ?) ORDER BY place, sequence LIMIT ? OFFSET ?) s
		CROSS JOIN entries e ON e.board = s.board AND e.key = s.key ORDER BY s.Place, s.Sequence`
)

// page reads the standings from offset on.
func (b boardRow) page(ctx context.Context, c *conn, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	page := store.Page{Total: b.info.Count, Info: b.info}
	if offset >= b.info.Count || limit == 0 {
		return page, nil
	}
	start, inside, err := b.locate(ctx, c, offset)
	if err != nil {
		return store.Page{}, err
	}
	page.Entries = make([]store.Standing, 0, min(int64(limit), b.info.Count-offset))
	sql := selectStandings
	if b.metas {
		sql = selectStandingsMeta
	}
	err = c.query(ctx, sql, func(row []driver.Value) error {
		page.Entries = append(page.Entries, store.Standing{
			Entry: store.Entry{
				Key:      text(row[0]),
				Score:    standings.ScoreAt(b.info.Order, integer(row[1])),
				Sequence: uint64(integer(row[2])),
				Meta:     blob(row[3]),
			},
		})
		return nil
	}, b.id, start.Place, start.Sequence, int64(limit), inside)
	if err != nil || len(page.Entries) == 0 {
		return page, err
	}
	page.Offset = offset
	first := offset + 1
	if mode != store.Ordinal && offset > 0 {
		best := page.Entries[0]
		at := standings.Position{Place: standings.PlaceOf(b.info.Order, best.Score), Sequence: int64(best.Sequence)}
		if first, err = b.rank(ctx, c, mode, at); err != nil {
			return store.Page{}, err
		}
	}
	standings.RankAll(mode, page.Entries, first, offset)
	return page, nil
}

const selectShelfCounts = `SELECT place, sequence, entries FROM shelves INDEXED BY shelf_counts
	WHERE board = ? ORDER BY place, sequence`

// locate finds the bucket that the entry at offset is in, and its place in it.
func (b boardRow) locate(ctx context.Context, c *conn, offset int64) (from standings.Position, inside int64, err error) {
	found := false
	err = c.query(ctx, selectShelfCounts, func(row []driver.Value) error {
		from = standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}
		if n := integer(row[2]); offset >= n {
			offset -= n
			return nil
		}
		found = true
		return errStop
	}, b.id)
	switch {
	case err != nil:
		return standings.Position{}, 0, err
	case !found && b.counted != nil:
		return *b.counted, offset, nil
	case !found:
		return standings.Position{}, 0, standings.Damaged("they count fewer entries than there are")
	}
	row, err := c.first(ctx, selectShelf, b.id, from.Place, from.Sequence)
	if err != nil {
		return standings.Position{}, 0, err
	}
	if row == nil {
		return standings.Position{}, 0, standings.Damaged("a shelf has gone")
	}
	buckets, err := standings.DecodeBuckets(blob(row[0]))
	if err != nil {
		return standings.Position{}, 0, err
	}
	own, inside := standings.Locate(buckets, offset)
	return own.From, inside, nil
}
