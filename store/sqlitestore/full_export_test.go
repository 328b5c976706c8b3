package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
)

// LimitPages lets records.db grow to so many pages, as a full disk would; 0 is as much as it
// wants, as when room has been made. It holds for the connection of now and for the next ones.
func (e *Engine) LimitPages(ctx context.Context, pages int) error {
	if pages == 0 {
		pages = 1 << 30
	}
	limit := pragma("max_page_count", pages)
	wr := e.durable.file.writer
	return wr.do(ctx, workOn(func(t *transaction) error {
		wr.access.pragmas = append(slices.Clip(wr.access.pragmas), limit)
		return t.run(ctx, "PRAGMA "+limit)
	}), 1, 0)
}

// CommitFails has the writer's COMMIT of this transaction fail like that, in place of being sent.
// SQLite has rolled back by then. Nothing else has a way to fill the disk at just that time.
func (e *Engine) CommitFails(ctx context.Context, failure error) error {
	return e.durable.file.writer.do(ctx, workOn(func(t *transaction) error {
		commit, err := t.prepare(ctx, "COMMIT")
		if err == nil {
			commit.raw = failing{Stmt: commit.raw, conn: t.conn, failure: failure}
		}
		return err
	}), 1, 0)
}

// failing is a statement that rolls back and fails.
type failing struct {
	driver.Stmt
	conn    *conn
	failure error
}

func (f failing) ExecContext(ctx context.Context, _ []driver.NamedValue) (driver.Result, error) {
	return nil, errors.Join(f.failure, f.conn.run(ctx, "ROLLBACK"))
}

type workOn func(t *transaction) error

func (f workOn) apply(_ context.Context, t *transaction) error { return f(t) }
