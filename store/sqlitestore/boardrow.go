package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// boardRow is the row of a board.
type boardRow struct {
	id     int64
	info   store.BoardInfo
	metas  bool // some entry has had metadata
	log    standings.WalkLog
	called moment // the last call of a walk that was written down
	// counted is where the bucket counts end while they are made anew: what stands there or
	// after it is in none. Nil: they are whole.
	counted *standings.Position
}

const (
	selectBoardRow = `SELECT id, ascending, generation, count, sequence, sealed, with_meta, hidden,
		log, log_from, log_upto, log_rows, log_shown, log_boot, log_up, log_wall, stale,
		counted_place, counted_sequence FROM boards `
	selectBoard   = selectBoardRow + `WHERE name = ?`
	selectBoardID = selectBoardRow + `WHERE id = ?`
	insertBoard   = `INSERT INTO boards (name, ascending, generation, count, sequence, sealed, with_meta) VALUES (?, ?, ?, 0, 0, 0, 0)`
	updateBoard   = `UPDATE boards SET count = ?, sequence = ?, with_meta = ?, hidden = ? WHERE id = ?`
	updateLog     = `UPDATE boards SET log = ?, log_from = ?, log_upto = ?, log_rows = ?, log_shown = ?,
		log_boot = ?, log_up = ?, log_wall = ?, stale = ? WHERE id = ?`
	updateCounted = `UPDATE boards SET counted_place = ?, counted_sequence = ? WHERE id = ?`
	sealBoard     = `UPDATE boards SET sealed = 1 WHERE id = ?`
)

// findBoard reads the row of a board; ok is false when there is none.
func findBoard(ctx context.Context, c *conn, name string) (b boardRow, ok bool, err error) {
	row, err := c.first(ctx, selectBoard, name)
	if err != nil || row == nil {
		return boardRow{}, false, err
	}
	return scanBoard(row), true, nil
}

// scanBoard reads a row of selectBoard.
func scanBoard(row []driver.Value) boardRow {
	order := store.Descending
	if integer(row[1]) != 0 {
		order = store.Ascending
	}
	b := boardRow{
		id: integer(row[0]),
		info: store.BoardInfo{
			Order:      order,
			Generation: text(row[2]),
			Count:      integer(row[3]),
			Sequence:   uint64(integer(row[4])),
			Sealed:     integer(row[5]) != 0,
			Hidden:     integer(row[7]),
		},
		metas: integer(row[6]) != 0,
		log: standings.WalkLog{
			Number: integer(row[8]), From: integer(row[9]), Upto: integer(row[10]),
			Rows: integer(row[11]), Shown: integer(row[12]), Stale: integer(row[16]) != 0,
		},
		called: moment{boot: integer(row[13]), up: integer(row[14]), wall: integer(row[15])},
	}
	if row[17] != nil {
		b.counted = &standings.Position{Place: integer(row[17]), Sequence: integer(row[18])}
	}
	return b
}

// save writes what changes while a board lives.
func (b boardRow) save(ctx context.Context, c *conn) error {
	if b.log.Changed {
		if err := b.saveLog(ctx, c); err != nil {
			return err
		}
	}
	_, err := c.exec(ctx, updateBoard, b.info.Count, int64(b.info.Sequence), flag(b.metas), b.info.Hidden, b.id)
	return err
}

func (b boardRow) saveLog(ctx context.Context, c *conn) error {
	l := b.log
	_, err := c.exec(ctx, updateLog, l.Number, l.From, l.Upto, l.Rows, l.Shown,
		b.called.boot, b.called.up, b.called.wall, flag(l.Stale), b.id)
	return err
}

// saveCounted writes how far the bucket counts go.
func (b boardRow) saveCounted(ctx context.Context, c *conn) error {
	var place, sequence any
	if b.counted != nil {
		place, sequence = b.counted.Place, b.counted.Sequence
	}
	_, err := c.exec(ctx, updateCounted, place, sequence, b.id)
	return err
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
