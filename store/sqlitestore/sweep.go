package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// sweepEntries is how many rows one sweep removes: some ten milliseconds.
const sweepEntries = 1000

// sweep is one step: some rows of one dropped board, or the rest of it; some rows of an ended
// log; the end of logs; or one shelf of new counts.
type sweep struct {
	sizes standings.Sizes

	// Written by the writer.
	clean bool // nothing is left
	logs  bool // there are logs that will end
}

const (
	selectDropped = `SELECT id FROM boards WHERE name IS NULL LIMIT 1`
	sweepEntry    = `DELETE FROM entries WHERE board = ?1 AND key IN (SELECT key FROM entries WHERE board = ?1 LIMIT ?2)`
	sweepSources  = `DELETE FROM sources WHERE board = ?`
	sweepHidden   = `DELETE FROM hidden WHERE board = ?`
	sweepBoard    = `DELETE FROM boards WHERE id = ?`

	selectStale    = `SELECT id FROM boards INDEXED BY boards_stale WHERE stale = 1 LIMIT 1`
	selectLogged   = `SELECT id FROM boards INDEXED BY boards_logged WHERE log_from > 0`
	selectRecount  = `SELECT id FROM boards INDEXED BY boards_recounted WHERE counted_place IS NOT NULL LIMIT 1`
	selectMovedEnd = `SELECT log, place, sequence, at FROM moved WHERE board = ? AND log <= ?
		ORDER BY log, place, sequence, at LIMIT 1 OFFSET ?`
	sweepMoved    = `DELETE FROM moved WHERE board = ? AND (log, place, sequence, at) < (?, ?, ?, ?)`
	sweepAllMoved = `DELETE FROM moved WHERE board = ? AND log <= ?`
)

// apply implements work.
func (w *sweep) apply(ctx context.Context, t *transaction) error {
	w.clean, w.logs = false, false
	for _, step := range [...]struct {
		which string
		do    func(context.Context, *transaction, boardRow) error
	}{
		{selectDropped, w.dropped},
		{selectStale, w.stale},
		{selectRecount, w.recount},
	} {
		row, err := t.first(ctx, step.which)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		b, err := boardAt(ctx, t.conn, integer(row[0]))
		if err != nil {
			return err
		}
		return step.do(ctx, t, b)
	}
	return w.ended(ctx, t)
}

// boardAt is the row of a board that exists, dropped or not.
func boardAt(ctx context.Context, c *conn, id int64) (boardRow, error) {
	row, err := c.first(ctx, selectBoardID, id)
	if err != nil || row == nil {
		return boardRow{id: id}, err
	}
	return scanBoard(row), nil
}

// dropped removes some of what a dropped board held.
func (w *sweep) dropped(ctx context.Context, t *transaction, b boardRow) error {
	removed, err := t.exec(ctx, sweepEntry, b.id, int64(sweepEntries))
	if err != nil || removed > 0 {
		return err
	}
	if more, err := sweepLogs(ctx, t, b.id, b.log.Number); err != nil || more {
		return err
	}
	for _, sql := range [...]string{deleteShelves, sweepSources, sweepHidden, sweepBoard} {
		if _, err := t.exec(ctx, sql, b.id); err != nil {
			return err
		}
	}
	return nil
}

// stale removes some rows of ended logs.
func (w *sweep) stale(ctx context.Context, t *transaction, b boardRow) error {
	last := b.log.Number
	if b.log.From > 0 {
		last-- // this one is kept
	}
	more, err := sweepLogs(ctx, t, b.id, last)
	if err != nil || more {
		return err
	}
	b.log.Stale = false
	return b.saveLog(ctx, t.conn)
}

// sweepLogs removes some rows of the logs up to the last one; more tells that some are left.
func sweepLogs(ctx context.Context, t *transaction, board, last int64) (more bool, err error) {
	row, err := t.first(ctx, selectMovedEnd, board, last, int64(sweepEntries))
	if err != nil {
		return false, err
	}
	if row == nil {
		_, err = t.exec(ctx, sweepAllMoved, board, last)
		return false, err
	}
	_, err = t.exec(ctx, sweepMoved, board, integer(row[0]), integer(row[1]), integer(row[2]), integer(row[3]))
	return true, err
}

// recount goes on with new counts.
func (w *sweep) recount(ctx context.Context, t *transaction, b boardRow) error {
	_, err := b.countOn(ctx, t.conn, w.sizes)
	return err
}

// ended ends the logs whose time is over. When there are none nothing is left to do.
func (w *sweep) ended(ctx context.Context, t *transaction) error {
	var ids []int64
	err := t.query(ctx, selectLogged, func(row []driver.Value) error {
		ids = append(ids, integer(row[0]))
		return nil
	})
	if err != nil {
		return err
	}
	w.clean = true
	for _, id := range ids {
		b, err := boardAt(ctx, t.conn, id)
		if err != nil {
			return err
		}
		if b.log.Fresh(b.called.since(t.at)) {
			w.logs = true
			continue
		}
		b.log.End()
		if err := b.saveLog(ctx, t.conn); err != nil {
			return err
		}
		w.clean = false
	}
	return nil
}
