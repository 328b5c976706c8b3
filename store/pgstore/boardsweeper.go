package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// sweeper removes what dropped boards and ended logs held, ends logs that nobody walks, and
// goes on with counts that are being made anew: a little at a time, so that others can write
// in between. What a crash leaves is done by whoever opens the schema next, or drops a board.
type sweeper struct {
	boards *boards
	kick   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once
}

// startSweeper looks whether there is anything to do; when there is nothing the sweeper does
// not take a connection before it is woken.
func startSweeper(ctx context.Context, h *boards) *sweeper {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &sweeper{boards: h, kick: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	work, logs, err := h.left(ctx)
	if work || err != nil {
		s.wake()
	}
	go s.run(own, logs)
	return s
}

// wake has the sweeper look.
func (s *sweeper) wake() {
	select {
	case s.kick <- struct{}{}:
	default: // it will look anyway
	}
}

// run looks when it is woken, and again after a while as long as there are logs: they end
// when nobody has called for long enough, though nobody writes.
func (s *sweeper) run(ctx context.Context, logs bool) {
	defer close(s.done)
	for {
		if !s.wait(ctx, logs) {
			return
		}
		var err error
		if logs, err = s.sweep(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			s.boards.database.options.Logger.WarnContext(ctx,
				"pgstore: removing what boards no longer need failed, it is tried again later", "err", err)
			logs = true // so that it is tried again
		}
	}
}

// wait waits until the sweeper should look; false means the end.
func (s *sweeper) wait(ctx context.Context, logs bool) bool {
	var again <-chan time.Time
	if logs {
		t := s.boards.database.options.Clock.NewTimer(standings.LogFor + time.Second)
		defer t.Stop()
		again = t.C()
	}
	select {
	case <-ctx.Done():
		return false
	case <-s.kick:
	case <-again:
	}
	return true
}

// sweep works until nothing is left, and answers whether there are logs that will end.
func (s *sweeper) sweep(ctx context.Context) (logs bool, err error) {
	w := &sweeping{}
	for did := true; did; {
		work, logs, err := s.boards.left(ctx)
		if err != nil || !work {
			return logs, err
		}
		if did, err = s.boards.sweep(ctx, w); err != nil {
			return false, err
		}
	}
	_, logs, err = s.boards.left(ctx) // what is left is another process's
	return logs, err
}

// close ends the sweeper, whatever is left.
func (s *sweeper) close(ctx context.Context) error {
	s.once.Do(s.cancel)
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pgstore: close boards: %w", ended(ctx))
	}
}
