package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

const (
	// The pause between two tries for a lock is random between these: SQLite's own
	// back-off grows, and starves whoever has already waited.
	minPause = 50 * time.Microsecond
	maxPause = 450 * time.Microsecond

	// passPatience is how long a writer that has just written leaves the file to one that
	// waits.
	passPatience = 4 * time.Millisecond
)

// writer is the one goroutine of this process that changes a file. It puts what is queued
// into one transaction, so that many callers share one fsync.
type writer struct {
	path    string
	access  access
	options Options
	uptime  uptime
	queue   *queue
	guard   guard
	turn    turnstile
	log     *slog.Logger
	done    chan struct{}

	// Of the goroutine only.
	conn       *conn // nil after a failure, until the next group
	rand       *rand.Rand
	checkpoint *checkpoint
	complaints complaints
}

// do has the writer apply w, in one transaction with whatever else is queued, and waits for
// the end. It answers an error of the vocabulary; what w refused w itself remembers. The
// results of w may be read only when the error is nil, for w may still be under way
// otherwise.
func (wr *writer) do(ctx context.Context, w work, size int, bytes int) error {
	j, err := wr.start(ctx, w, size, bytes)
	if err != nil {
		return err
	}
	return j.wait(ctx)
}

// start queues w without waiting for its end.
func (wr *writer) start(ctx context.Context, w work, size int, bytes int) (*job, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	j := &job{
		work: w, size: size, bytes: int64(bytes) + 512*int64(size),
		until: wr.options.Clock.Now().Add(wr.options.BusyDeadline),
		done:  make(chan struct{}),
	}
	return j, wr.queue.push(ctx, j)
}

// wait waits for the end of the job, or of ctx: not done if the writer has not had it yet,
// unknown otherwise.
func (j *job) wait(ctx context.Context) error {
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.cancel() {
		return ended(ctx)
	}
	select {
	case <-j.done:
		return j.err
	default:
		return fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}

// run writes until the queue is closed and empty.
func (wr *writer) run(ctx context.Context) {
	defer close(wr.done)
	for wr.queue.wait() {
		wr.step(ctx)
	}
	if wr.conn != nil {
		wr.disconnect(ctx, nil)
	}
}

// step writes one group.
func (wr *writer) step(ctx context.Context) {
	if !wr.begin(ctx) {
		return
	}
	g := &group{maxSize: wr.options.GroupSize, maxBytes: int64(wr.options.GroupBytes)}
	switch err := wr.write(ctx, func() *job { return wr.queue.take(g) }); {
	case len(g.jobs) > 1 && err != nil && store.OutcomeOf(err) == store.NotDone:
		wr.oneByOne(ctx, g.jobs)
	default:
		g.end(err)
	}
	runtime.Gosched() // who has an answer may have the next call: fuller groups
	wr.checkpoint.after(ctx, wr, g)
	if !wr.queue.empty() {
		wr.pass(ctx)
	}
}

// write applies jobs in the open transaction and ends it. It answers an error of the
// vocabulary.
func (wr *writer) write(ctx context.Context, next func() *job) error {
	t := &transaction{conn: wr.conn, at: wr.uptime.at(wr.options.Clock.Now())}
	for j := next(); j != nil; j = next() {
		if err := j.work.apply(ctx, t); err != nil {
			wr.rollback(ctx)
			return classify(err, beforeCommit)
		}
	}
	if _, err := wr.conn.exec(ctx, "COMMIT"); err != nil {
		wr.disconnect(ctx, err)
		return classify(err, duringCommit)
	}
	return nil
}

// oneByOne writes the jobs of a group that was not done each by itself, so that one that
// cannot be written (no room for it is left on the disk, a damaged page) does not fail the
// others.
func (wr *writer) oneByOne(ctx context.Context, jobs []*job) {
	for _, j := range jobs {
		if err := wr.tryBegin(ctx); err != nil {
			j.end(classify(err, beforeCommit))
			continue
		}
		once := j
		j.end(wr.write(ctx, func() *job {
			next := once
			once = nil
			return next
		}))
	}
}

// begin opens the transaction, waiting as long as somebody wants it. Jobs are taken only
// once it is open: until then their callers may go, and nothing is done.
func (wr *writer) begin(ctx context.Context) bool {
	defer wr.turn.leave()
	for !wr.queue.empty() {
		err := wr.tryBegin(ctx)
		if err == nil {
			return true
		}
		failed := classify(err, beforeCommit)
		if !busy(err) {
			wr.disconnect(ctx, err)
			wr.queue.refuse(failed, everyJob)
			return false
		}
		wr.turn.enter()
		wr.queue.expire(wr.options.Clock.Now(), failed)
		wr.pause(ctx)
	}
	return false
}

func (wr *writer) tryBegin(ctx context.Context) error {
	if err := wr.guard.check(); err != nil {
		return err
	}
	if wr.conn == nil {
		c, err := connect(ctx, wr.path, wr.access)
		if err != nil {
			return err
		}
		wr.conn = c
	}
	_, err := wr.conn.exec(ctx, "BEGIN IMMEDIATE")
	return err
}

// rollback leaves the transaction. SQLite has already done so after some errors.
func (wr *writer) rollback(ctx context.Context) {
	if err := wr.conn.run(ctx, "ROLLBACK"); err != nil && code(err) != codeError {
		wr.disconnect(ctx, err)
	}
}

// disconnect drops the connection after a failure (or at the end, with nil), whatever state
// it is in. Closing it undoes what was not committed.
func (wr *writer) disconnect(ctx context.Context, cause error) {
	if wr.conn != nil {
		cause = errors.Join(cause, wr.conn.close())
		wr.conn = nil
	}
	if cause == nil {
		return
	}
	if untold, ok := wr.complaints.due(wr.options.Clock.Now()); ok {
		wr.log.ErrorContext(ctx, "sqlitestore: writing failed", "file", wr.path, "err", cause, "untold_before", untold)
	}
}

// pass lets another process write that waits for its turn.
func (wr *writer) pass(ctx context.Context) {
	start := wr.options.Clock.Now()
	for !wr.turn.open() && wr.options.Clock.Now().Sub(start) < passPatience {
		wr.pause(ctx)
	}
}

func (wr *writer) pause(ctx context.Context) {
	d := minPause + time.Duration(wr.rand.Int64N(int64(maxPause-minPause)))
	_ = clock.Sleep(ctx, wr.options.Clock, d) // ctx does not end
}

// close ends the writer after what is queued; when ctx ends first, without it.
func (wr *writer) close(ctx context.Context) error {
	wr.queue.close()
	select {
	case <-wr.done:
	case <-ctx.Done():
		wr.queue.refuse(fmt.Errorf("sqlitestore: %w", store.ErrClosed), everyJob)
		return fmt.Errorf("sqlitestore: close %s: %w", wr.path, context.Cause(ctx))
	}
	return nil
}
