package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"
)

// What the tests reach inside for.

var (
	NetworkFileSystem = networkFileSystem
	EncodeFrame       = encodeFrame
	DecodeFrame       = decodeFrame
)

const FrameMost = frameMost

// OpenBooted opens the folder as if the host had booted under this name, with a boot clock
// of its own.
func OpenBooted(ctx context.Context, folder string, o *Options, boot string, since func() time.Duration) (*Engine, error) {
	filled, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	up := uptime{}
	if boot != "" {
		up = uptime{boot: bootNamed(boot), read: func() int64 { return int64(since()) }}
	}
	return open(ctx, folder, filled, up)
}

// SizeBoards makes the buckets of boards so small that tests reach their edges.
func (e *Engine) SizeBoards(bucket int64, shelf int) {
	e.boards.sizes = sizes{bucket: bucket, shelf: shelf}
}

// LimitPages lets records.db grow to so many pages, as a full disk would. It must come
// before the first write.
func (e *Engine) LimitPages(pages int) {
	wr := e.durable.file.writer
	wr.access.pragmas = append(wr.access.pragmas, pragma("max_page_count", pages))
}

// Do has the writer of records.db apply f.
func (e *Engine) Do(ctx context.Context, f func(exec func(sql string) error) error) error {
	return e.durable.file.writer.do(ctx, workFunc(f), 1, 0)
}

type workFunc func(exec func(sql string) error) error

func (f workFunc) apply(ctx context.Context, t *transaction) error {
	return f(func(sql string) error { return t.run(ctx, sql) })
}

// QueuedBytes is how much of the queue of records.db is taken.
func (e *Engine) QueuedBytes() (taken int64) {
	q := e.durable.file.writer.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.mu.jobs {
		taken += j.bytes
	}
	return taken
}

// LogPages is the length of the write-ahead log of records.db.
func (e *Engine) LogPages(ctx context.Context) (pages int64, err error) {
	err = e.durable.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		s, err := logLength(ctx, c, "NOOP")
		pages = s.pages
		return err
	})
	return pages, err
}

// CheckCounts compares every bucket of every board with the entries, and answers how many
// buckets and shelves there are.
func (e *Engine) CheckCounts(ctx context.Context) (buckets, shelves int, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		return snapshot(ctx, c, func(ctx context.Context, c *conn) error {
			ids, err := boardIDs(ctx, c)
			if err != nil {
				return err
			}
			for _, id := range ids {
				b, s, err := checkBoard(ctx, c, id)
				if err != nil {
					return fmt.Errorf("board %d: %w", id, err)
				}
				buckets, shelves = buckets+b, shelves+s
			}
			return nil
		})
	})
	return buckets, shelves, err
}

func boardIDs(ctx context.Context, c *conn) (ids []int64, err error) {
	err = c.query(ctx, `SELECT id FROM boards WHERE name IS NOT NULL`, func(row []driver.Value) error {
		ids = append(ids, integer(row[0]))
		return nil
	})
	return ids, err
}

func checkBoard(ctx context.Context, c *conn, id int64) (buckets, shelves int, err error) {
	d, err := openDirectory(ctx, c, id, defaultSizes())
	if err != nil {
		return 0, 0, err
	}
	var all []bucket
	var total int64
	for _, s := range d.shelves {
		if err := d.fetch(s); err != nil {
			return 0, 0, err
		}
		if stored, err := c.number(ctx, `SELECT coalesce(sum(entries), 0) FROM shelves WHERE board = ? AND place = ? AND sequence = ?`,
			id, s.from().place, s.from().sequence); err != nil || stored != s.entries() {
			return 0, 0, fmt.Errorf("a shelf says %d, its buckets %d (%w)", stored, s.entries(), err)
		}
		all = append(all, s.buckets...)
	}
	for i, b := range all {
		total += b.entries
		sql, args := `SELECT count(*) FROM entries WHERE board = ? AND (place, sequence) >= (?, ?)`, []any{id, b.from.place, b.from.sequence}
		if i+1 < len(all) {
			sql += ` AND (place, sequence) < (?, ?)`
			args = append(args, all[i+1].from.place, all[i+1].from.sequence)
		}
		if n, err := c.number(ctx, sql, args...); err != nil || n != b.entries {
			return 0, 0, fmt.Errorf("bucket %d counts %d, there are %d (%w)", i, b.entries, n, err)
		}
	}
	if n, err := c.number(ctx, `SELECT count FROM boards WHERE id = ?`, id); err != nil || n != total {
		return 0, 0, fmt.Errorf("the board says %d, its buckets %d (%w)", n, total, err)
	}
	return len(all), len(d.shelves), nil
}

// Leftovers is how many rows of dropped boards are left.
func (e *Engine) Leftovers(ctx context.Context) (n int64, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		n, err = c.number(ctx, `SELECT
			(SELECT count(*) FROM boards WHERE name IS NULL) +
			(SELECT count(*) FROM entries WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL)) +
			(SELECT count(*) FROM shelves WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL)) +
			(SELECT count(*) FROM sources WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL))`)
		return err
	})
	return n, err
}

// Sources is how many sources of sums the boards know.
func (e *Engine) Sources(ctx context.Context) (n int64, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		n, err = c.number(ctx, `SELECT count(*) FROM sources`)
		return err
	})
	return n, err
}

// StopSweeper lets dropped boards lie, as a crash would.
func (e *Engine) StopSweeper(ctx context.Context) error { return e.boards.sweeper.close(ctx) }

// PushSources has the board count so many batches of sums from new sources.
func (e *Engine) PushSources(ctx context.Context, board string, first, n int) error {
	return e.boards.file.writer.do(ctx, sourcesWork{board: board, first: first, n: n}, 1, 0)
}

type sourcesWork struct {
	board    string
	first, n int
}

func (w sourcesWork) apply(ctx context.Context, t *transaction) error {
	b, _, err := findBoard(ctx, t.conn, w.board)
	if err != nil {
		return err
	}
	for i := range w.n {
		if _, err := countSource(ctx, t.conn, b.id, fmt.Sprintf("source-%06d", w.first+i), 1); err != nil {
			return err
		}
	}
	return nil
}

// SourcesMost is how many sources a board remembers.
const SourcesMost = sourcesMost

// ForeignKeys has the writer of records.db check foreign keys. It must be used between two
// groups.
func (e *Engine) ForeignKeys(ctx context.Context) error {
	// Inside a transaction the pragma does nothing, so the transaction is left for it.
	return e.Do(ctx, func(exec func(string) error) error {
		for _, sql := range []string{"COMMIT", "PRAGMA foreign_keys = 1", "BEGIN IMMEDIATE"} {
			if err := exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
}
