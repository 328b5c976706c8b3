package sqlitestore

import (
	"context"
	"database/sql/driver"
	"log/slog"
	"sync"
)

// checkpoint copies the write-ahead log back into the file when it has become long.
//
// The copying is done beside the writer, on a connection of its own: that does not hold up
// writes, but never reaches the log's end while they go on, and the log starts anew only
// when it has been copied whole. So the writer copies the short rest itself, between two
// groups.
type checkpoint struct {
	pages int64 // the length that is long
	log   *slog.Logger
	begin chan struct{} // the goroutine should copy
	ended chan struct{} // it has
	done  chan struct{} // it is gone
	once  sync.Once

	// Of the writer's goroutine only.
	copying bool
	written int64 // bytes, roughly, since the log was looked at
}

// lookEvery is how much is written, roughly, between two looks at the log's length.
const lookEvery = 1 << 20

func newCheckpoint(pages int, log *slog.Logger) *checkpoint {
	return &checkpoint{
		pages: int64(pages), log: log,
		begin: make(chan struct{}, 1), ended: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// after is called by the writer between two groups.
func (cp *checkpoint) after(ctx context.Context, wr *writer, g *group) {
	cp.written += g.bytes + 64<<10
	if wr.conn == nil || cp.written < lookEvery {
		return
	}
	cp.written = 0
	length, err := logLength(ctx, wr.conn, "NOOP")
	if err != nil {
		cp.report(ctx, wr.path, err)
		return
	}
	select {
	case <-cp.ended:
		cp.copying = false
		cp.finish(ctx, wr, length)
	default:
		if length.pages >= cp.pages && !cp.copying {
			cp.copying = true
			cp.begin <- struct{}{}
		}
	}
}

// finish copies the rest of the log, if that is short. If it is not, writes come faster
// than they are copied, and another round beside them is next; but the log does not grow
// beyond four times its length.
func (cp *checkpoint) finish(ctx context.Context, wr *writer, length logState) {
	if length.pages-length.copied > cp.pages/2 && length.pages < 4*cp.pages {
		return
	}
	if _, err := logLength(ctx, wr.conn, "PASSIVE"); err != nil {
		cp.report(ctx, wr.path, err)
	}
}

// run copies whenever the writer says so.
func (cp *checkpoint) run(ctx context.Context, path string, a access) {
	defer close(cp.done)
	for range cp.begin {
		if err := copyLog(ctx, path, a); err != nil {
			cp.report(ctx, path, err)
		}
		cp.ended <- struct{}{}
	}
}

// copyLog copies what is in the log by now.
func copyLog(ctx context.Context, path string, a access) error {
	c, err := connect(ctx, path, a)
	if err != nil {
		return err
	}
	if _, err := logLength(ctx, c, "PASSIVE"); err != nil {
		_ = c.close() // the first error counts
		return err
	}
	return c.close()
}

// close ends the goroutine. The writer must be gone.
func (cp *checkpoint) close(ctx context.Context) error {
	cp.once.Do(func() { close(cp.begin) })
	select {
	case <-cp.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (cp *checkpoint) report(ctx context.Context, path string, err error) {
	if !busy(err) { // another process is doing it
		cp.log.WarnContext(ctx, "sqlitestore: checkpoint failed", "file", path, "err", err)
	}
}

// logState is the write-ahead log as it is.
type logState struct {
	pages, copied int64
}

// logLength runs a checkpoint (NOOP only looks) and answers the log's state after it.
func logLength(ctx context.Context, c *conn, mode string) (s logState, err error) {
	err = c.query(ctx, "PRAGMA wal_checkpoint("+mode+")", func(row []driver.Value) error {
		s = logState{pages: integer(row[1]), copied: integer(row[2])}
		return nil
	})
	return s, err
}
