package sqlitestore

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// boardRow is the row of a board.
type boardRow struct {
	id    int64
	info  store.BoardInfo
	metas bool // some entry has had metadata
}

const (
	selectBoard = `SELECT id, ascending, generation, count, sequence, sealed, metas FROM boards WHERE name = ?`
	insertBoard = `INSERT INTO boards (name, ascending, generation, count, sequence, sealed, metas) VALUES (?, ?, ?, 0, 0, 0, 0)`
	updateBoard = `UPDATE boards SET count = ?, sequence = ?, metas = ? WHERE id = ?`
	sealBoard   = `UPDATE boards SET sealed = 1 WHERE id = ?`
)

// findBoard reads the row of a board; ok is false when there is none.
func findBoard(ctx context.Context, c *conn, name string) (b boardRow, ok bool, err error) {
	row, err := c.first(ctx, selectBoard, name)
	if err != nil || row == nil {
		return boardRow{}, false, err
	}
	order := store.Descending
	if integer(row[1]) != 0 {
		order = store.Ascending
	}
	return boardRow{
		id: integer(row[0]),
		info: store.BoardInfo{
			Order:      order,
			Generation: text(row[2]),
			Count:      integer(row[3]),
			Sequence:   uint64(integer(row[4])),
			Sealed:     integer(row[5]) != 0,
		},
		metas: integer(row[6]) != 0,
	}, true, nil
}

// save writes what changes while a board lives.
func (b boardRow) save(ctx context.Context, c *conn) error {
	_, err := c.exec(ctx, updateBoard, b.info.Count, int64(b.info.Sequence), flag(b.metas), b.id)
	return err
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
