package pgstore

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/shoalworks/shoal/store"
)

// queue holds the jobs of a lane, first come, first served but for two things: a group is of
// one kind, and no key is in two groups at once. Its room is bounded; when it is full callers
// wait.
type queue struct {
	room     *semaphore.Weighted
	capacity int64
	maxSize  int        // jobs of a group
	maxBytes int64      // of a group; a larger job goes by itself
	more     *sync.Cond // something can be taken, or the end; its lock is mu
	mu       struct {
		sync.Mutex
		jobs   []*job
		flying map[string]struct{} // the keys of the groups under way
		closed bool
	}
}

func newQueue(o Options, maxSize int) *queue {
	q := &queue{
		room: semaphore.NewWeighted(int64(o.QueueBytes)), capacity: int64(o.QueueBytes),
		maxSize: maxSize, maxBytes: int64(o.GroupBytes),
	}
	q.mu.flying = make(map[string]struct{})
	q.more = sync.NewCond(&q.mu.Mutex)
	return q
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
		return fmt.Errorf("pgstore: %w", store.ErrClosed)
	}
	q.mu.jobs = append(q.mu.jobs, j)
	q.more.Signal()
	return nil
}

// wait waits until something can be taken; false means that the queue is closed and empty.
func (q *queue) wait() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.ready() {
			return true
		}
		if q.mu.closed && len(q.mu.jobs) == 0 {
			return false
		}
		q.more.Wait()
	}
}

// ready tells that some job's key is in no group under way. The lock is held.
func (q *queue) ready() bool {
	for _, j := range q.mu.jobs[:q.window()] {
		if _, busy := q.mu.flying[j.write.Key]; !busy {
			return true
		}
	}
	return false
}

// window is how many jobs a group is chosen from. The lock is held.
func (q *queue) window() int { return min(len(q.mu.jobs), 4*q.maxSize) }

// take takes the oldest job that can be taken, and what goes with it. Jobs whose callers have
// gone are left out; the group may be empty. It ends with end.
func (q *queue) take() []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	var group, left []*job
	var bytes int64
	window := q.window()
	for _, j := range q.mu.jobs[:window] {
		_, busy := q.mu.flying[j.write.Key]
		switch {
		case busy, len(group) > 0 && (j.kind != group[0].kind || len(group) == q.maxSize || bytes+j.bytes > q.maxBytes):
			left = append(left, j)
			continue
		case j.take():
			group = append(group, j)
			bytes += j.bytes
			q.mu.flying[j.write.Key] = struct{}{}
		}
		q.room.Release(j.bytes)
	}
	rest := q.mu.jobs[window-len(left):]
	copy(rest, left)
	clear(q.mu.jobs[:window-len(left)])
	if q.mu.jobs = rest; len(q.mu.jobs) == 0 {
		q.mu.jobs = nil
	}
	if q.ready() {
		q.more.Signal() // another writer may have the rest
	}
	return group
}

// end gives the keys of a group free, when its outcome is known.
func (q *queue) end(group []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range group {
		delete(q.mu.flying, j.write.Key)
	}
	q.more.Broadcast()
}

// close lets nothing more in. What is queued stays.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.closed = true
	q.more.Broadcast()
}

// refuse ends, as not done, what no writer has.
func (q *queue) refuse(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.mu.jobs {
		q.room.Release(j.bytes)
		if j.take() {
			j.end(err)
		}
	}
	q.mu.jobs = nil
	q.more.Broadcast()
}
