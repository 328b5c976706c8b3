package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// snapshot is a transaction that reads one state of the database, on one connection. Nothing is
// sent before the first batch, which takes BEGIN along.
type snapshot struct {
	boards *boards
	conn   *pgx.Conn
	begun  bool
}

// read calls f with a snapshot. f may run several times, and must begin anew each time.
func (h *boards) read(ctx context.Context, operation, board string, f func(ctx context.Context, s *snapshot) error) error {
	if err := h.gate.enter(ctx, operation+" board "+board); err != nil {
		return err
	}
	defer h.gate.leave()
	err := h.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		s := &snapshot{boards: h, conn: c}
		err := f(ctx, s)
		s.end(ctx)
		return damage(err)
	})
	if err != nil {
		return boardError(operation, board, err)
	}
	return nil
}

// send sends statements in one round trip, and runs their callbacks in order.
func (s *snapshot) send(ctx context.Context, b *pgx.Batch) error {
	if !s.begun {
		s.begun = true
		all := &pgx.Batch{}
		all.Queue("BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ")
		all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
		b = all
	}
	return s.conn.SendBatch(ctx, b).Close()
}

// last is send for the last statements.
func (s *snapshot) last(ctx context.Context, b *pgx.Batch) error {
	b.Queue("COMMIT")
	return s.send(ctx, b)
}

// end ends the transaction, unless last has.
func (s *snapshot) end(ctx context.Context) {
	if !s.begun || s.conn.IsClosed() || s.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := s.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = s.conn.Close(ctx)
	}
}

func (s *snapshot) queue(b *pgx.Batch, sql string, arguments ...any) *pgx.QueuedQuery {
	return b.Queue(s.boards.database.sql(sql), arguments...)
}

// board queues the reading of a board's row; a missing one is store.ErrNoBoard.
func (s *snapshot) board(b *pgx.Batch, r *boardRow, name string) {
	s.queue(b, selectBoard, name).QueryRow(func(row pgx.Row) error { return s.found(row, r) })
}

// found scans a row that begins with boardColumns.
func (s *snapshot) found(row pgx.Row, r *boardRow, more ...any) error {
	found, err := r.find(row, s.boards.ahead.Load(), more...)
	if err == nil && !found {
		err = store.ErrNoBoard
	}
	return err
}

// Standing implements store.Boards: two round trips for the ordinal and the competition rank.
func (h *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (out store.Standing, ok bool, err error) {
	err = h.read(ctx, "find a standing of", board, func(ctx context.Context, s *snapshot) error {
		out, ok = store.Standing{}, false
		p, err := s.place(ctx, board, key, mode)
		if err != nil || !p.exists {
			return err
		}
		out.Entry, ok = p.entry, true
		out.Rank, err = s.rank(ctx, p.board, mode, p.at, p.own)
		return err
	})
	if err != nil {
		return store.Standing{}, false, err
	}
	return out, ok, nil
}

// Around implements store.Boards: two round trips for ordinal ranks.
func (h *boards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (page store.Page, err error) {
	err = h.read(ctx, "read the surroundings in", board, func(ctx context.Context, s *snapshot) error {
		p, err := s.place(ctx, board, key, store.Ordinal)
		if err != nil {
			return err
		}
		if page = (store.Page{Total: p.board.info.Count, Info: p.board.info}); !p.exists {
			return nil
		}
		b := &pgx.Batch{}
		var above, below []store.Standing
		s.entries(b, &above, p.board.info.Order, selectAbove, p.board.id, p.at.Place, p.at.Sequence, int64(n))
		s.entries(b, &below, p.board.info.Order, selectStandings, p.board.id, p.at.Place, p.at.Sequence, int64(n)+1)
		better, err := s.better(ctx, p.board, p.at, p.own, b)
		if err != nil {
			return err
		}
		page.Offset = better - int64(len(above))
		page.Entries = append(reversed(above), below...)
		return s.rankPage(ctx, p.board, &page, mode)
	})
	if err != nil {
		return store.Page{}, err
	}
	return page, nil
}

// reversed is the list from its end.
func reversed(list []store.Standing) []store.Standing {
	out := make([]store.Standing, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i])
	}
	return out
}

// Page implements store.Boards: one round trip at the top, two elsewhere, for ordinal ranks.
func (h *boards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (page store.Page, err error) {
	err = h.read(ctx, "read a page of", board, func(ctx context.Context, s *snapshot) error {
		var r boardRow
		at, inside, top, err := s.locate(ctx, &r, board, offset, limit)
		if err != nil {
			return err
		}
		page = store.Page{Total: r.info.Count, Info: r.info, Entries: top}
		if offset >= r.info.Count || limit == 0 {
			page.Entries = nil
			return nil
		}
		if offset > 0 {
			b := &pgx.Batch{}
			s.entries(b, &page.Entries, r.info.Order, selectSlice, r.id, at.Place, at.Sequence, int64(limit), inside)
			if err := s.send(ctx, b); err != nil {
				return err
			}
		}
		if page.Offset = offset; len(page.Entries) == 0 {
			page.Offset = 0
		}
		return s.rankPage(ctx, r, &page, mode)
	})
	if err != nil {
		return store.Page{}, err
	}
	return page, nil
}

// rankPage ranks the entries of a page.
func (s *snapshot) rankPage(ctx context.Context, r boardRow, page *store.Page, mode store.RankMode) error {
	if len(page.Entries) == 0 {
		return nil
	}
	first := page.Offset + 1
	if mode != store.Ordinal && page.Offset > 0 {
		best := page.Entries[0]
		at := standings.Position{Place: standings.PlaceOf(r.info.Order, best.Score), Sequence: int64(best.Sequence)}
		own, err := s.ownShelf(ctx, r, rankFrom(mode, at))
		if err != nil {
			return err
		}
		if first, err = s.rank(ctx, r, mode, at, own); err != nil {
			return err
		}
	}
	standings.RankAll(mode, page.Entries, first, page.Offset)
	return nil
}

const (
	selectStandings = `SELECT key, place, sequence, meta FROM {s}.entries
		WHERE board = $1::bigint AND (place, sequence) >= ($2::bigint, $3::bigint)
		ORDER BY place, sequence LIMIT $4::bigint`
	// selectSlice skips entries in the index alone, as far as it knows them to be visible.
	selectSlice = `SELECT key, place, sequence, meta FROM {s}.entries
		WHERE board = $1::bigint AND (place, sequence) >= (SELECT place, sequence FROM {s}.entries
			WHERE board = $1::bigint AND (place, sequence) >= ($2::bigint, $3::bigint)
			ORDER BY place, sequence LIMIT 1 OFFSET $5::bigint)
		ORDER BY place, sequence LIMIT $4::bigint`
	selectAbove = `SELECT key, place, sequence, meta FROM {s}.entries
		WHERE board = $1::bigint AND (place, sequence) < ($2::bigint, $3::bigint)
		ORDER BY place DESC, sequence DESC LIMIT $4::bigint`
	selectTop = `SELECT key, place, sequence, meta FROM {s}.entries
		WHERE board = ` + boardNamed + ` ORDER BY place, sequence LIMIT $2::bigint`
	selectScores = `SELECT key, place, sequence, meta FROM {s}.entries
		WHERE board = ` + boardNamed + ` AND key = ANY ($2::text[])`
)

// entries queues a statement that answers key, place, sequence and meta.
func (s *snapshot) entries(b *pgx.Batch, out *[]store.Standing, order store.Order, sql string, arguments ...any) {
	s.queue(b, sql, arguments...).Query(func(rows pgx.Rows) error {
		return eachEntry(rows, func(at standings.Position, e store.Entry) {
			e.Score = standings.ScoreAt(order, at.Place)
			*out = append(*out, store.Standing{Entry: e})
		})
	})
}

// eachEntry reads rows of key, place, sequence and meta. The score is left to f.
func eachEntry(rows pgx.Rows, f func(at standings.Position, e store.Entry)) error {
	var key string
	var meta []byte
	var at standings.Position
	_, err := pgx.ForEachRow(rows, []any{&key, &at.Place, &at.Sequence, &meta}, func() error {
		f(at, store.Entry{Key: key, Sequence: uint64(at.Sequence), Meta: meta})
		return nil
	})
	return err
}

// Scores implements store.Boards, in one round trip.
func (h *boards) Scores(ctx context.Context, board string, keys ...string) (found map[string]store.Entry, err error) {
	err = h.read(ctx, "read scores of", board, func(ctx context.Context, s *snapshot) error {
		var r boardRow
		b := &pgx.Batch{}
		found = make(map[string]store.Entry, len(keys))
		s.board(b, &r, board)
		s.queue(b, selectScores, board, keys).Query(func(rows pgx.Rows) error {
			return eachEntry(rows, func(at standings.Position, e store.Entry) {
				e.Score = standings.ScoreAt(r.info.Order, at.Place)
				found[e.Key] = e
			})
		})
		return s.last(ctx, b)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
