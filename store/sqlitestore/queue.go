package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shoalworks/shoal/store"
)

// work changes a file.
type work interface {
	// apply makes the changes inside an open transaction. An error is the engine's and
	// ends the whole transaction; what the work itself refuses it remembers for its caller
	// and answers nil. It runs on the writer's goroutine, when its caller may have gone, and
	// again when the transaction was rolled back for somebody else's sake.
	apply(ctx context.Context, t *transaction) error
}

// transaction is the engine's transaction that a group shares. It belongs to the writer's
// goroutine.
type transaction struct {
	*conn
	at moment // when it began
}

// job is work that waits for the writer.
type job struct {
	work  work
	size  int       // transactions or entries
	bytes int64     // what it holds of the queue's room
	until time.Time // for how long it waits for another process
	state atomic.Uint32
	done  chan struct{} // closed when it has ended
	err   error         // how, set before
}

// The states of a job.
const (
	jobWaiting uint32 = iota
	jobTaken          // the writer has it: it may be applied
	jobGone           // its caller has left before: it never is
)

func (j *job) take() bool { return j.state.CompareAndSwap(jobWaiting, jobTaken) }

// cancel tells that the job is not done and never will be.
func (j *job) cancel() bool { return j.state.CompareAndSwap(jobWaiting, jobGone) }

func (j *job) end(err error) {
	j.err = err
	close(j.done)
}

// queue holds jobs, first come, first served. Its room is bounded; when it is full callers
// wait.
type queue struct {
	room     *semaphore.Weighted
	capacity int64
	ready    chan struct{} // something came, or the end
	mu       struct {
		sync.Mutex
		jobs   []*job
		closed bool
	}
}

func newQueue(capacity int64) *queue {
	return &queue{room: semaphore.NewWeighted(capacity), capacity: capacity, ready: make(chan struct{}, 1)}
}

// push queues a job, and waits for room until ctx ends.
func (q *queue) push(ctx context.Context, j *job) error {
	j.bytes = min(j.bytes, q.capacity)
	if err := q.room.Acquire(ctx, j.bytes); err != nil {
		return ended(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		q.room.Release(j.bytes)
		return fmt.Errorf("sqlitestore: %w", store.ErrClosed)
	}
	q.mu.jobs = append(q.mu.jobs, j)
	q.signal()
	return nil
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default: // the writer will look anyway
	}
}

// wait waits for a job; false means that the queue is closed and empty.
func (q *queue) wait() bool {
	for {
		q.mu.Lock()
		n, closed := len(q.mu.jobs), q.mu.closed
		q.mu.Unlock()
		switch {
		case n > 0:
			return true
		case closed:
			return false
		}
		<-q.ready
	}
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.jobs) == 0
}

// take takes the oldest job that fits into what is left of a group; an empty group takes
// any. Jobs whose callers have gone are left out.
func (q *queue) take(g *group) *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.mu.jobs) > 0 {
		j := q.mu.jobs[0]
		if !g.fits(j) {
			return nil
		}
		q.dropFirst()
		if j.take() {
			g.add(j)
			return j
		}
	}
	return nil
}

// dropFirst takes the first job out and gives its room back. The lock is held.
func (q *queue) dropFirst() {
	j := q.mu.jobs[0]
	q.mu.jobs[0] = nil
	if q.mu.jobs = q.mu.jobs[1:]; len(q.mu.jobs) == 0 {
		q.mu.jobs = nil
	}
	q.room.Release(j.bytes)
}

// expire ends, as not done, the jobs that have waited for another process long enough.
func (q *queue) expire(now time.Time, err error) {
	q.refuse(err, func(j *job) bool { return !j.until.After(now) })
}

// refuse ends, as not done, the first jobs that which picks.
func (q *queue) refuse(err error, which func(*job) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.mu.jobs) > 0 && which(q.mu.jobs[0]) {
		j := q.mu.jobs[0]
		q.dropFirst()
		if j.take() {
			j.end(err)
		}
	}
}

func everyJob(*job) bool { return true }

// close lets nothing more in. What is queued stays.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.closed = true
	q.signal()
}

// group is what goes into one transaction of the engine.
type group struct {
	maxSize  int
	maxBytes int64
	size     int
	bytes    int64
	jobs     []*job
}

func (g *group) fits(j *job) bool {
	return len(g.jobs) == 0 || g.size+j.size <= g.maxSize && g.bytes+j.bytes <= g.maxBytes
}

func (g *group) add(j *job) {
	g.jobs = append(g.jobs, j)
	g.size += j.size
	g.bytes += j.bytes
}

// end ends all jobs of the group alike.
func (g *group) end(err error) {
	for _, j := range g.jobs {
		j.end(err)
	}
}
