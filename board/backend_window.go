package board

import (
	"context"
	"fmt"
)

// keyWindow writes once each key that waits, one a call, within the budget. Boards take turns
// in the order of names, from the one after the board written last.
//
// What has failed is tried again when its time has come, FlushEvery after the last time: not in
// a window that runs earlier because somebody waits for another score.
func (s *Service) keyWindow(ctx context.Context, urgent bool) (t tally) {
	budget := s.keyBudget(&t)
	now := s.host.clock.Now()
	retry := urgent || now.Sub(s.retried) >= s.opts.FlushEvery
	if retry {
		s.retried = now
	}
	r := s.boards.Load()
	first := rotation(r.names, s.last)
	in := make([]*keyTurn, 0, len(r.sorted))
	for i := range r.sorted {
		b := r.sorted[(first+i)%len(r.sorted)]
		if n, _ := b.waiting(); n > 0 {
			b.queue.opening()
			in = append(in, &keyTurn{board: b, retry: retry})
		}
	}
	s.meetBans(ctx, in)
	for open := in; budget > 0 && len(open) > 0 && s.mayWrite(ctx); {
		open, budget = s.round(ctx, open, budget, &t)
	}
	for _, k := range in {
		s.closeTurn(ctx, k, &t)
	}
	return t
}

// keyTurn is a board in a window, and what of it has failed.
type keyTurn struct {
	board         *board
	retry         bool // what has failed before is tried
	tried, failed int
	left          bool  // something that has failed before was not tried
	err           error // the last one
}

// begin takes out the next value to be tried, or nil.
func (k *keyTurn) begin() *flight {
	for {
		f := k.board.beginOne()
		if f == nil || k.retry || f.batches[0].values[0].tries == 0 {
			return f
		}
		k.left = true
		k.board.land(f)
	}
}

// meetBans sees to it that the list of bans is known before a board is first written: a Backend
// hides nothing. A store that cannot be read now holds up no score.
func (s *Service) meetBans(ctx context.Context, in []*keyTurn) {
	ctx, cancel := s.bounded(s.inside(ctx))
	defer cancel()
	for _, k := range in {
		if k.board.checked() {
			continue
		}
		if err := s.watch(ctx, k.board.name, &k.board.guard, nil); err != nil {
			s.host.logger.WarnContext(ctx, "bans not known", "board", k.board.name, "err", err)
			return
		}
		k.board.check(true)
		s.purge(ctx)
	}
}

// round writes one key of each board, and answers the boards that may have more.
func (s *Service) round(ctx context.Context, open []*keyTurn, budget int, t *tally) (more []*keyTurn, left int) {
	for _, k := range open {
		if budget == 0 || !s.mayWrite(ctx) {
			return more, budget
		}
		f := k.begin()
		if f == nil {
			continue
		}
		budget--
		s.last = k.board.name
		k.tried++
		if err := s.fly(ctx, k.board, f, t); err != nil {
			k.failed, k.err = k.failed+1, err
		}
		more = append(more, k)
	}
	return more, budget
}

// closeTurn notes how the window went for a board. The counts of failed windows are those of
// keys: a board that fails is tried again in the next window as any other.
func (s *Service) closeTurn(ctx context.Context, k *keyTurn, t *tally) {
	if k.tried == 0 || k.failed == 0 && k.left {
		return
	}
	before, failures := k.board.outcome(k.failed == 0, s.host.clock.Now(), s.opts.FlushEvery)
	switch {
	case failures == 1:
		s.host.logger.WarnContext(ctx, "scores not written, they wait", "board", k.board.name, "failed", k.failed, "tried", k.tried, "err", k.err)
	case failures == 0 && before > 0:
		s.host.logger.InfoContext(ctx, "all scores written again", "board", k.board.name, "failedWindows", before)
	}
	if k.failed > 0 {
		t.errs = append(t.errs, fmt.Errorf("board: flush %s: %d of %d failed: %w", k.board.name, k.failed, k.tried, k.err))
	}
}

// keyBudget is how many keys a window may write: no more than the Backend has budget for.
func (s *Service) keyBudget(t *tally) int {
	n := budgetOf(s.opts.WritesPerFlush, s.opts.Budget)
	limited, ok := s.opts.Backend.(BackendBudget)
	if !ok {
		return n
	}
	var budget int
	err := caught("budget", func() error {
		budget = limited.Budget()
		return nil
	})
	if err != nil {
		t.errs = append(t.errs, fmt.Errorf("board: flush: %w", err))
		return 0
	}
	return max(0, min(n, budget))
}
