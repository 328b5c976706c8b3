package sqlitestore

import (
	"context"
	"database/sql/driver"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// DoBoards has the writer of boards.db run a script.
func (e *Engine) DoBoards(ctx context.Context, script string) error {
	return e.boards.file.writer.do(ctx, workFunc(func(exec func(string) error) error { return exec(script) }), 1, 0)
}

// SortedKeys is the keys of a board by a full sort, without index or counts.
func (e *Engine) SortedKeys(ctx context.Context, board string) (keys []string, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, `SELECT e.key FROM entries e NOT INDEXED JOIN boards b ON b.id = e.board
			WHERE b.name = ? ORDER BY e.Place, e.Sequence`, func(row []driver.Value) error {
			keys = append(keys, text(row[0]))
			return nil
		}, board)
	})
	return keys, err
}

// Uncount forgets the counts of a board, as the beginning of a repair does.
func (e *Engine) Uncount(ctx context.Context, board string) error {
	f, err := e.boards.inspect(ctx, board)
	if err != nil {
		return err
	}
	return e.boards.file.writer.do(ctx, e.boards.newRecount(board, f), 1, 0)
}

// CountOn counts one shelf of a board that is being repaired.
func (e *Engine) CountOn(ctx context.Context, board string) error {
	return e.boards.file.writer.do(ctx, &recount{board: board, sizes: e.boards.sizes}, 1, 0)
}

// Largest is the most entries of a bucket, and the most buckets of a shelf, of any board.
func (e *Engine) Largest(ctx context.Context) (entries, buckets int64, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, `SELECT buckets FROM shelves`, func(row []driver.Value) error {
			all, err := standings.DecodeBuckets(blob(row[0]))
			buckets = max(buckets, int64(len(all)))
			for _, b := range all {
				entries = max(entries, b.Entries)
			}
			return err
		})
	})
	return entries, buckets, err
}

// LimitWalkLog has boards log so many entries at most.
func (e *Engine) LimitWalkLog(n int64) { e.boards.sizes.WalkLog = n }

// Logged is how many rows the logs of all boards have.
func (e *Engine) Logged(ctx context.Context) (n int64, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		n, err = c.number(ctx, `SELECT count(*) FROM moved`)
		return err
	})
	return n, err
}

// BoardsVersion changes with every write to boards.db.
func (e *Engine) BoardsVersion(ctx context.Context) (n int64, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		n, err = c.number(ctx, `SELECT sum(log_boot % 1000 + log_up + log_wall % 1000000007 + sequence + log_from + log_upto) FROM boards`)
		return err
	})
	return n, err
}
