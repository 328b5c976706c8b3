package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file reads and writes the directory of a board.

const (
	selectShelves = `SELECT place, sequence FROM shelves INDEXED BY shelf_counts WHERE board = ? ORDER BY place, sequence`
	selectShelf   = `SELECT buckets FROM shelves WHERE board = ? AND place = ? AND sequence = ?`
	upsertShelf   = `INSERT INTO shelves (board, place, sequence, entries, buckets) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (board, place, sequence) DO UPDATE SET entries = excluded.entries, buckets = excluded.buckets`
	deleteShelf = `DELETE FROM shelves WHERE board = ? AND place = ? AND sequence = ?`
	selectNth   = `SELECT place, sequence FROM entries INDEXED BY standings
		WHERE board = ? AND (place, sequence) >= (?, ?) ORDER BY place, sequence LIMIT 1 OFFSET ?`
)

// openDirectory reads where the shelves of a board start; their buckets come when needed.
func openDirectory(ctx context.Context, c *conn, b boardRow, z standings.Sizes) (*standings.Directory, error) {
	board := b.id
	d := &standings.Directory{Sizes: z, Until: b.counted, Load: func(from standings.Position) ([]standings.Bucket, error) {
		row, err := c.first(ctx, selectShelf, board, from.Place, from.Sequence)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return nil, standings.Damaged("a shelf has gone")
		}
		return standings.DecodeBuckets(blob(row[0]))
	}}
	err := c.query(ctx, selectShelves, func(row []driver.Value) error {
		from := standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}
		d.Shelves = append(d.Shelves, &standings.Shelf{Buckets: []standings.Bucket{{From: from}}, Stored: true})
		return nil
	}, board)
	if err != nil {
		return nil, err
	}
	if len(d.Shelves) == 0 {
		d.Shelves = []*standings.Shelf{standings.FirstShelf()}
	}
	return d, nil
}

// saveDirectory balances the directory and writes what has changed.
func saveDirectory(ctx context.Context, c *conn, board int64, d *standings.Directory) error {
	err := d.Balance(func(from standings.Position, n int64) (standings.Position, error) {
		row, err := c.first(ctx, selectNth, board, from.Place, from.Sequence, n)
		if err != nil {
			return standings.Position{}, err
		}
		if row == nil {
			return standings.Position{}, standings.Damaged("a bucket counts more entries than there are")
		}
		return standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}, nil
	})
	if err != nil {
		return err
	}
	for _, from := range d.Dropped {
		if _, err := c.exec(ctx, deleteShelf, board, from.Place, from.Sequence); err != nil {
			return err
		}
	}
	for _, s := range d.Shelves {
		if !s.Changed {
			continue
		}
		from := s.From()
		if _, err := c.exec(ctx, upsertShelf, board, from.Place, from.Sequence, s.Entries(), standings.EncodeBuckets(s.Buckets)); err != nil {
			return err
		}
	}
	return nil
}
