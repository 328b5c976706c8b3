package sqlitestore

import (
	"context"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// Sources are bounded: see standings.SourcesMost.

const (
	selectSource = `SELECT n FROM sources WHERE board = ? AND source = ?`
	upsertSource = `INSERT INTO sources (board, source, n, used) VALUES (?1, ?2, ?3,
			1 + coalesce((SELECT max(used) FROM sources WHERE board = ?1), 0))
		ON CONFLICT (board, source) DO UPDATE SET n = excluded.n, used = excluded.used`
	forgetSources = `DELETE FROM sources WHERE board = ?1 AND source IN (
		SELECT source FROM sources WHERE board = ?1 ORDER BY used DESC LIMIT -1 OFFSET ?2)`
)

// countSource tells whether the batch was counted before, and remembers it otherwise.
func countSource(ctx context.Context, c *conn, board int64, source string, n uint64) (counted bool, err error) {
	row, err := c.first(ctx, selectSource, board, source)
	if err != nil {
		return false, err
	}
	known := row != nil
	if known && uint64(integer(row[0])) >= n {
		return true, nil
	}
	if _, err := c.exec(ctx, upsertSource, board, source, int64(n)); err != nil {
		return false, err
	}
	if !known {
		_, err = c.exec(ctx, forgetSources, board, int64(standings.SourcesMost))
	}
	return false, err
}
