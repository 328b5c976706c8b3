package sqlitestore

import (
	"context"
	"database/sql/driver"
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
func openDirectory(ctx context.Context, c *conn, b boardRow, z sizes) (*directory, error) {
	board := b.id
	d := &directory{sizes: z, until: b.counted, load: func(from position) ([]bucket, error) {
		row, err := c.first(ctx, selectShelf, board, from.place, from.sequence)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return nil, damaged("a shelf has gone")
		}
		return decodeBuckets(blob(row[0]))
	}}
	err := c.query(ctx, selectShelves, func(row []driver.Value) error {
		from := position{place: integer(row[0]), sequence: integer(row[1])}
		d.shelves = append(d.shelves, &shelf{buckets: []bucket{{from: from}}, stored: true})
		return nil
	}, board)
	if err != nil {
		return nil, err
	}
	if len(d.shelves) == 0 {
		d.shelves = []*shelf{firstShelf()}
	}
	return d, nil
}

// saveDirectory balances the directory and writes what has changed.
func saveDirectory(ctx context.Context, c *conn, board int64, d *directory) error {
	err := d.balance(func(from position, n int64) (position, error) {
		row, err := c.first(ctx, selectNth, board, from.place, from.sequence, n)
		if err != nil {
			return position{}, err
		}
		if row == nil {
			return position{}, damaged("a bucket counts more entries than there are")
		}
		return position{place: integer(row[0]), sequence: integer(row[1])}, nil
	})
	if err != nil {
		return err
	}
	for _, from := range d.dropped {
		if _, err := c.exec(ctx, deleteShelf, board, from.place, from.sequence); err != nil {
			return err
		}
	}
	for _, s := range d.shelves {
		if !s.changed {
			continue
		}
		from := s.from()
		if _, err := c.exec(ctx, upsertShelf, board, from.place, from.sequence, s.entries(), encodeBuckets(s.buckets)); err != nil {
			return err
		}
	}
	return nil
}
