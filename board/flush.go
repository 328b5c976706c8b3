package board

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// hurryEvery is the time between windows while the node closes: players leave, and what
// their sessions submit last is to be written before the drain begins.
const hurryEvery = 50 * time.Millisecond

// tally is what a window did.
type tally struct {
	tried, failed int  // values
	short         bool // the request budget had nothing to give
	errs          []error
}

// run is the writing goroutine: it sleeps until something waits and then until its window.
func (s *Service) run(ctx context.Context) {
	var due time.Time
	a := alarm{clock: s.host.clock}
	defer a.stop()
	closing := s.host.closing
	for {
		switch w, reply := s.await(a.at(due), closing); w {
		case kicked:
			if s.hasty.Swap(false) {
				due, _ = s.step(ctx, false)
			} else { // nothing may wait: the kick may be of what a hasty window has written
				due = sooner(due, s.rearm(s.host.clock.Now()))
			}
		case rings:
			a.stop() // the next one may be due at the same time
			due, _ = s.step(ctx, false)
		case flushed:
			var err error
			due, err = s.step(ctx, true)
			reply <- err
		case closes:
			closing = nil
			s.drain.hurried.Store(true)
			if s.opts.FlushEvery > 0 {
				due, _ = s.step(ctx, true)
			}
		case ends:
			s.finish(ctx)
			return
		}
	}
}

// step writes one window and tells when the next is due: never (zero) when nothing waits.
// urgent windows do not wait for boards that failed to be due again.
func (s *Service) step(ctx context.Context, urgent bool) (next time.Time, err error) {
	t := s.window(ctx, urgent || s.drain.hurried.Load())
	now := s.host.clock.Now()
	s.readClocks()
	next = s.rearm(now)
	switch {
	case t.failed > 0 && s.drain.hurried.Load() && !next.IsZero():
		next = now.Add(drainPause)
	case t.tried > 0 && s.opts.FlushEvery > 0 && s.awaited():
		next = now
	}
	return next, errors.Join(t.errs...)
}

// rearm is when the next window is due. When nothing waits, or only boards that failed and
// are due later than usual, the next submit kicks.
func (s *Service) rearm(now time.Time) time.Time {
	if s.opts.FlushEvery < 0 {
		return time.Time{}
	}
	usual := s.after(now)
	if next := s.nextDue(now, usual); next.Equal(usual) {
		return next
	}
	s.armed.Store(false)
	// A submit may have come between, and seen that a window is due.
	return s.nextDue(now, usual)
}

// nextDue is the earliest time at which a board with work may be written, usual for those
// that did not fail. Keys of a Backend that failed have a time of their own, which no window
// that runs before it puts off.
func (s *Service) nextDue(now, usual time.Time) (next time.Time) {
	for _, b := range s.boards.Load().sorted {
		n, retryAt := b.waiting()
		if n == 0 {
			continue
		}
		if !s.drain.hurried.Load() && (retryAt.After(usual) || b.keyed && retryAt.After(now)) {
			next = sooner(next, retryAt)
		} else {
			next = sooner(next, usual)
		}
	}
	return next
}

// sooner is the earlier of two times; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// after is when a window is due for what waits now.
func (s *Service) after(now time.Time) time.Time {
	switch every := s.opts.FlushEvery; {
	case every < 0:
		return time.Time{}
	case s.drain.hurried.Load():
		return now.Add(min(every, hurryEvery))
	default:
		return now.Add(every)
	}
}

// FlushNow writes one window now, and waits for it; a window that is running is waited for
// first, so that everything submitted before the call is tried once, up to the window's cap.
// The error joins what failed; what failed waits again.
func (s *Service) FlushNow(ctx context.Context) error {
	if s.writes(ctx) {
		return fmt.Errorf("board: flush: called from inside a write: %w", ErrPending)
	}
	reply := make(chan error, 1)
	select {
	case s.flushes <- reply:
	case <-s.drain.begun:
		return fmt.Errorf("board: flush: %w", ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("board: flush: %w", context.Cause(ctx))
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return fmt.Errorf("board: flush: %w", context.Cause(ctx))
	}
}

// window writes once what waits, within the budget.
func (s *Service) window(ctx context.Context, urgent bool) (t tally) {
	s.lookIfOld() //nolint:contextcheck // it outlives the call
	s.purge(ctx)
	s.unread = nil
	if s.backend != nil {
		return s.keyWindow(ctx, urgent)
	}
	boards, waiting := s.turns(urgent)
	budget, paid := s.allowance(ctx, waiting, &t)
	defer paid.Refund()
	ctx = paid.With(ctx)
	quotas, last := deal(waiting, budget)
	for i, b := range boards {
		if quotas[i] == 0 || !s.mayWrite(ctx) {
			continue
		}
		n := s.afford(b, quotas[i], paid)
		if n == 0 {
			t.short = true
			return t // s.last is the board before, so that the next window begins with this one
		}
		s.write(ctx, b, n, &t)
		s.last = b.name
	}
	if last >= 0 && s.mayWrite(ctx) {
		s.last = boards[last].name
	}
	return t
}

// turns are the boards with work, in the order of their turns, and how much each has.
func (s *Service) turns(urgent bool) (boards []*board, waiting []int) {
	r, now := s.boards.Load(), s.host.clock.Now()
	first := rotation(r.names, s.last)
	for i := range r.sorted {
		b := r.sorted[(first+i)%len(r.sorted)]
		n, retryAt := b.waiting()
		if n > 0 && (urgent || !now.Before(retryAt)) {
			boards, waiting = append(boards, b), append(waiting, min(n, store.MaxMerge))
		}
	}
	return boards, waiting
}

// write takes up to n values out of a board and writes them.
func (s *Service) write(ctx context.Context, b *board, n int, t *tally) {
	if f := b.begin(n); f != nil {
		s.outcome(ctx, b, s.fly(ctx, b, f, t), t)
	}
}

// fly sends what was taken out of a board, and answers the last failure.
func (s *Service) fly(ctx context.Context, b *board, f *flight, t *tally) (failure error) {
	defer b.land(f)
	splits := mostSplits
	for s.mayWrite(ctx) {
		c, ok := b.next(f, s.nextBatch)
		if !ok {
			break
		}
		a := s.send(ctx, b, c)
		t.tried += len(c.values)
		if s.expel(ctx, b, f, c, a) {
			continue
		}
		switch fate := fateOf(c, a, splits); fate {
		case written:
			s.settleWritten(ctx, b, f, c, a.changes)
		case refused:
			b.sealed.Store(true)
			b.settle(f, batch{})
			s.report(ctx, b, c, store.ErrSealed)
		case split:
			splits -= 2
			half := len(c.values) / 2
			b.settle(f, batch{}, batch{values: c.values[:half]}, batch{values: c.values[half:]})
		case failed, unsure:
			failure = a.err
			t.failed += len(c.values)
			c.unknown = fate == unsure
			s.settleFailed(ctx, b, f, c, a.err)
			if c.unknown || !malformed(a.err) {
				return failure
			}
		}
	}
	return failure
}

func (s *Service) settleWritten(ctx context.Context, b *board, f *flight, c batch, changes []store.Change) {
	b.wrote.Add(1)
	stored, over := overflowed(c, changes)
	b.counts.written.Add(uint64(len(stored)))
	b.settle(f, batch{})
	settleStored(stored)
	if len(over) > 0 {
		s.report(ctx, b, batch{values: over}, ErrOverflow)
	}
}

// settleFailed puts a batch back, but for values that have failed too often. Nothing is
// given up while the node or the service closes, or for want of request budget.
func (s *Service) settleFailed(ctx context.Context, b *board, f *flight, c batch, err error) {
	b.counts.failed.Add(uint64(len(c.values)))
	most := s.opts.MaxWriteAttempts
	if s.drain.hurried.Load() || s.drain.hasBegun() {
		most = -1
	}
	stay, gone := c.values, []pending(nil)
	if !errors.Is(err, node.ErrBudget) {
		stay, gone = age(c.values, most, c.unknown)
	}
	b.settle(f, batch{n: c.n, values: stay, unknown: c.unknown})
	if len(gone) > 0 {
		s.report(ctx, b, batch{values: gone}, fmt.Errorf("%w: %w", ErrAttempts, err))
	}
}

// report counts values that will never be written, and tells the listeners.
func (s *Service) report(ctx context.Context, b *board, c batch, reason error) {
	if errors.Is(reason, ErrAttempts) {
		b.counts.dropped.Add(uint64(len(c.values)))
	} else {
		b.counts.refused.Add(uint64(len(c.values)))
	}
	r := Refusal{Board: b.name, Values: c.submissions(), Err: reason, Unknown: doubtful(c.values)}
	s.host.logger.WarnContext(ctx, "scores will never be written", "board", b.name, "scores", len(c.values), "unknown", r.Unknown, "reason", reason)
	for _, l := range s.onRefused.all() {
		s.listening(func() { l.fn(r) })
	}
	settleLost(c.values, reason)
}

// outcome notes how the window went for the board; the first failure of a row is logged, and
// its end.
func (s *Service) outcome(ctx context.Context, b *board, failure error, t *tally) {
	before, failures := b.outcome(failure == nil, s.host.clock.Now(), s.opts.FlushEvery)
	switch {
	case failures == 1:
		s.host.logger.WarnContext(ctx, "board not written, scores wait", "board", b.name, "err", failure)
	case failures == 0 && before > 0:
		s.host.logger.InfoContext(ctx, "board written again", "board", b.name, "failedWindows", before)
	}
	if failure != nil {
		t.errs = append(t.errs, fmt.Errorf("board: flush %s: %w", b.name, failure))
	}
}

// send writes a batch. The first write of a board creates it or sees that it is as defined;
// a board that is missing later has lost its memory and is created anew.
func (s *Service) send(ctx context.Context, b *board, c batch) answer {
	if !b.checked() && !b.keyed {
		if err := s.prepare(ctx, b, c); err != nil {
			return answer{err: err}
		}
	}
	if err := s.barredFromBackend(c); err != nil {
		return answer{err: err}
	}
	a := s.merge(ctx, b, c)
	if !errors.Is(a.err, store.ErrNoBoard) {
		return a
	}
	b.check(false)
	b.anew()
	if err := s.prepare(ctx, b, c); err != nil {
		return answer{err: err}
	}
	return s.merge(ctx, b, c)
}

// prepare makes the board ready for its first write. When the list of bans could not be read, it
// is not tried again for another board of that window: the others would wait for all of them.
func (s *Service) prepare(ctx context.Context, b *board, c batch) error {
	if err := s.create(ctx, b); err != nil {
		return err
	}
	if s.unread != nil {
		if _, fresh := b.guard.state(); !fresh {
			return s.unread
		}
	}
	err := s.watch(ctx, b.name, &b.guard, c.submissions())
	b.check(err == nil)
	if errors.Is(err, errBansUnread) {
		s.unread = err
	}
	return err
}

// create makes sure that the stored board exists in our order and takes writes.
func (s *Service) create(ctx context.Context, b *board) error {
	ctx, cancel := s.bounded(s.inside(ctx))
	defer cancel()
	generation := fmt.Sprintf("%016x%016x", s.host.random("generation", b.name), s.host.random("generation", b.name))
	info, err := s.host.boards.Create(ctx, b.name, store.BoardSpec{Order: b.cfg.Order, Generation: generation})
	switch {
	case errors.Is(err, store.ErrInvalid):
		return fmt.Errorf("create as %v: %w: %w", b.cfg.Order, ErrOrder, err)
	case err != nil:
		return fmt.Errorf("create: %w", err)
	case info.Sealed:
		return store.ErrSealed
	}
	return nil
}

func (s *Service) merge(ctx context.Context, b *board, c batch) answer {
	paid, err := s.payWhole(ctx, c)
	if err != nil {
		return answer{err: err}
	}
	defer paid.Refund()
	ctx, cancel := s.bounded(s.inside(paid.With(ctx)))
	defer cancel()
	call := store.Batch{Rule: b.cfg.Rule, Entries: c.submissions()}
	if b.cfg.Rule == store.Sum {
		call.Source, call.N = s.host.source, c.n
	}
	changes, err := s.host.boards.Merge(ctx, b.name, call)
	return answer{changes: changes, err: err, sent: true}
}

// writing marks the context of a write, so that a store that calls back is recognised.
type writing struct{ s *Service }

func (s *Service) inside(ctx context.Context) context.Context {
	return context.WithValue(ctx, writing{s}, true)
}

// writes tells that ctx is the context of a write of this service.
func (s *Service) writes(ctx context.Context) bool { return ctx.Value(writing{s}) != nil }
