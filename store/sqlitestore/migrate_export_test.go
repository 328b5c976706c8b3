package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// MakeOldBoards makes a boards.db as the release before hidden entries and walks did, with a
// board "top" of n entries.
func MakeOldBoards(ctx context.Context, path string, n int) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	c, err := connect(ctx, path, access{})
	if err != nil {
		return err
	}
	old := schema{name: boardsFile, scripts: boardsSchema().scripts[:1]}
	err = errors.Join(old.migrate(ctx, c), c.run(ctx, fmt.Sprintf(`
		INSERT INTO boards (name, ascending, generation, count, sequence, sealed, metas) VALUES ('top', 0, 'g', %[1]d, %[1]d, 0, 1);
		INSERT INTO entries (board, key, place, sequence, epoch, revision, meta)
			WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %[1]d)
			SELECT 1, 'old-' || i, ~(i * 7919 %% 500), i, 0, 0, CAST(CASE i WHEN 7 THEN 'meta' END AS BLOB) FROM c`, n)))
	if err == nil {
		err = oldCounts(ctx, c, int64(n))
	}
	return errors.Join(err, c.close())
}

// oldCounts writes the counts of the board as one shelf of two buckets.
func oldCounts(ctx context.Context, c *conn, n int64) error {
	from := standings.FirstPosition()
	row, err := c.first(ctx, selectNth, int64(1), from.Place, from.Sequence, n/2)
	if err != nil {
		return err
	}
	buckets := []standings.Bucket{
		{From: from, Entries: n / 2},
		{From: standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}, Entries: n - n/2},
	}
	_, err = c.exec(ctx, upsertShelf, int64(1), from.Place, from.Sequence, n, standings.EncodeBuckets(buckets))
	return err
}

// OldMerge is a merge as the release before began it, on a connection that stays open until
// it is called for the last time.
func OldMerge(ctx context.Context, path string) (merge func(last bool) error, err error) {
	c, err := connect(ctx, path, access{})
	if err != nil {
		return nil, err
	}
	return func(last bool) error {
		_, err := c.first(ctx, `SELECT id, ascending, generation, count, sequence, sealed, metas FROM boards WHERE name = ?`, "top")
		if last {
			return errors.Join(err, c.close())
		}
		return err
	}, nil
}
