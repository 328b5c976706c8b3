package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Report tells how Close went. All callers get the same.
type Report struct {
	// Complete tells that every accepted score was written or reported to OnRefused.
	Complete bool
	// Remaining is how many values are not known to be written, those of InFlight included.
	Remaining int
	// InFlight is how many values may or may not have been written, or will be: their write
	// was running at the deadline, or it is a batch of sums whose outcome is unknown.
	InFlight int
	// Failed is how many values failed to be written during the drain, counted each time.
	Failed int
	// Err is ErrDeadline, ErrNoProgress, ErrPending, or nil.
	Err error
}

// drainPause is the pause after a window with failures during a drain.
const drainPause = 250 * time.Millisecond

// drain is the end of a service.
type drain struct {
	once    sync.Once
	begun   chan struct{}      // closed when Close begins
	over    chan struct{}      // closed when nothing runs any more, or at the deadline; the report stands
	hurried atomic.Bool        // the node closes
	failed  atomic.Int64       // values that failed to be written
	until   atomic.Int64       // the deadline, in uptime; 0: none yet
	cancel  context.CancelFunc // ends the writes
	mu      struct {
		sync.Mutex
		report   *Report
		deadline clock.Timer
		over     bool
	}
}

// init makes the context of the writing goroutine.
func (d *drain) init() context.Context {
	d.begun, d.over = make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	return ctx
}

func (d *drain) hasBegun() bool {
	select {
	case <-d.begun:
		return true
	default:
		return false
	}
}

// Close ends the service: submits and reads are refused (Top serves what is cached), callers
// that wait for a page get the cached one, the write that is running is waited for, and
// windows run until nothing waits, a window can try nothing, the store is closed, or
// CloseTimeout is over. After a window with failures the next one waits 0.25 s. Nothing is
// dropped. At the deadline no new write starts, and one that is still running is reported as
// InFlight.
//
// Callers share one drain and one report, whose Err is the error. The end of ctx ends the
// waiting, not the drain: that caller gets the numbers of the moment and [ErrPending]. So
// does a store that calls Close from inside a write with the context of that write.
func (s *Service) Close(ctx context.Context) (Report, error) {
	s.drain.once.Do(s.beginDrain)
	if s.writes(ctx) {
		r := s.measure(fmt.Errorf("called from inside a write: %w", ErrPending))
		return r, r.Err
	}
	select {
	case <-s.drain.over:
	case <-ctx.Done():
		r := s.measure(fmt.Errorf("%w: %w", ErrPending, context.Cause(ctx)))
		return r, r.Err
	}
	s.drain.mu.Lock()
	defer s.drain.mu.Unlock()
	return *s.drain.mu.report, s.drain.mu.report.Err
}

// closeStage closes the service as a stage of the node's end: the drain ends with ctx.
func (s *Service) closeStage(ctx context.Context) (left int, err error) {
	s.drain.once.Do(s.beginDrain)
	stop := context.AfterFunc(ctx, s.cut)
	defer stop()
	r, err := s.Close(context.WithoutCancel(ctx))
	return r.Remaining, err
}

func (s *Service) beginDrain() {
	s.mu.Lock()
	s.mu.closed = true
	boards := s.boards.Load().sorted
	s.mu.Unlock()
	for _, b := range boards {
		b.queue.close(ErrClosed)
	}
	s.reads.close()
	if s.opts.CloseTimeout < 0 {
		s.drain.cancel() // before the writing goroutine can begin a window
	}
	s.drain.until.Store(int64(s.uptime() + max(0, s.opts.CloseTimeout)))
	close(s.drain.begun)
	s.endModeration()
	for _, b := range boards {
		b.cache.stop()
	}
	if s.opts.CloseTimeout < 0 {
		s.cut()
		return
	}
	s.drain.mu.Lock()
	defer s.drain.mu.Unlock()
	if !s.drain.mu.over {
		s.drain.mu.deadline = s.host.clock.AfterFunc(s.opts.CloseTimeout, s.cut)
	}
}

// finish is the end of the writing goroutine.
func (s *Service) finish(ctx context.Context) {
	s.file(s.writeAll(ctx))
	s.drain.cancel()
	s.reads.wait()
	s.end()
}

// writeAll runs windows until nothing waits.
func (s *Service) writeAll(ctx context.Context) error {
	for s.mayWrite(ctx) {
		if all, _ := s.unwritten(); all == 0 {
			return nil
		}
		t := s.window(ctx, true)
		s.drain.failed.Add(int64(t.failed))
		switch {
		case t.tried == 0 && s.mayWrite(ctx) && !s.removing() && !t.short:
			return ErrNoProgress
		case t.failed > 0 && t.failed == t.tried && errors.Is(errors.Join(t.errs...), store.ErrClosed):
			return fmt.Errorf("%w: %w", ErrNoProgress, store.ErrClosed)
		case t.tried == 0, t.failed > 0:
			_ = clock.Sleep(ctx, s.host.clock, drainPause) // the loop's condition looks at ctx
		}
	}
	return ErrDeadline
}

// mayWrite tells whether a new write may begin. Whether the timer of the deadline, or one that
// goes off at the same time, is served first is chance: the deadline counts, not its timer.
func (s *Service) mayWrite(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	until := s.drain.until.Load()
	return until == 0 || int64(s.uptime()) < until
}

// cut ends the drain now: the report is made from what is known, and no new write starts.
func (s *Service) cut() {
	s.file(ErrDeadline)
	s.drain.cancel()
	s.end()
}

// file makes the report, once.
func (s *Service) file(err error) {
	s.drain.mu.Lock()
	defer s.drain.mu.Unlock()
	if s.drain.mu.report != nil {
		return
	}
	r := s.measure(err)
	if r.Remaining == 0 {
		r.Err = nil
	}
	r.Complete = r.Remaining == 0
	s.drain.mu.report = &r
	if !r.Complete {
		s.host.logger.Warn("scores are left at the end", "node", s.host.id, "remaining", r.Remaining, "inFlight", r.InFlight, "failed", r.Failed, "err", r.Err)
	}
}

func (s *Service) end() {
	s.drain.mu.Lock()
	defer s.drain.mu.Unlock()
	if s.drain.mu.over {
		return
	}
	s.drain.mu.over = true
	if s.drain.mu.deadline != nil {
		s.drain.mu.deadline.Stop()
	}
	close(s.drain.over)
}

// measure is a report of the moment.
func (s *Service) measure(err error) Report {
	r := Report{Failed: int(s.drain.failed.Load()), Err: err}
	r.Remaining, r.InFlight = s.unwritten()
	return r
}

func (s *Service) unwritten() (all, unsettled int) {
	for _, b := range s.boards.Load().sorted {
		n, u := b.unwritten()
		all, unsettled = all+n, unsettled+u
	}
	return all, unsettled
}

// removing tells that values are out of a queue for a removal that may still give them back.
func (s *Service) removing() bool {
	return slices.ContainsFunc(s.boards.Load().sorted, (*board).removing)
}
