package pgstore

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/shoalworks/shoal/store"
)

// job is a single-key transaction that waits for a writer.
type job struct {
	write store.Write // its value is the job's own
	kind  kind
	bytes int64 // what it holds of the queue's room
	state atomic.Uint32
	done  chan struct{} // closed when it has ended
	err   error         // how, set before
}

// The states of a job.
const (
	jobWaiting uint32 = iota
	jobTaken          // a writer has it: it may be applied
	jobGone           // its caller has left before: it never is
)

// newJob is a job for w, whose value is copied: the caller may leave while a writer is at work.
func newJob(w store.Write) *job {
	w.Value = bytes.Clone(w.Value)
	return &job{
		write: w, kind: kindOf(w), bytes: int64(len(w.Key)+len(w.Value)) + 512,
		done: make(chan struct{}),
	}
}

func (j *job) take() bool { return j.state.CompareAndSwap(jobWaiting, jobTaken) }

// cancel tells that the job is not done and never will be.
func (j *job) cancel() bool { return j.state.CompareAndSwap(jobWaiting, jobGone) }

func (j *job) end(err error) {
	j.err = err
	close(j.done)
}

// wait waits for the end of the job, or of ctx: not done if no writer has had it yet, unknown
// otherwise.
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
