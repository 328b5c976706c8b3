package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// Drop implements store.Boards. The board loses its name in one write, and with it every
// reader loses the board; the sweeper then removes what it held. A board of the same name
// may be created at once.
func (h *boards) Drop(ctx context.Context, board string) error {
	if err := h.file.writer.do(ctx, &drop{board: board}, 1, len(board)); err != nil {
		return fmt.Errorf("sqlitestore: drop board %s: %w", board, err)
	}
	h.sweeper.wake()
	return nil
}

// drop is the work of Drop.
type drop struct{ board string }

const dropBoard = `UPDATE boards SET name = NULL WHERE name = ?`

// apply implements work.
func (w *drop) apply(ctx context.Context, t *transaction) error {
	_, err := t.exec(ctx, dropBoard, w.board)
	return err
}

// sweeper removes what dropped boards held, a little at a time, so that others can write in
// between. What a crash leaves is removed by whoever opens the folder next.
type sweeper struct {
	writer *writer
	log    *slog.Logger
	kick   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once
}

func startSweeper(ctx context.Context, wr *writer, log *slog.Logger) *sweeper {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &sweeper{writer: wr, log: log, kick: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{})}
	s.wake()
	go s.run(own)
	return s
}

// wake has the sweeper look.
func (s *sweeper) wake() {
	select {
	case s.kick <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *sweeper) run(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			s.log.WarnContext(ctx, "sqlitestore: removing dropped boards failed, the next start tries again", "err", err)
		}
	}
}

// sweep removes until nothing is left.
func (s *sweeper) sweep(ctx context.Context) error {
	for {
		w := &sweep{}
		if err := s.writer.do(ctx, w, sweepEntries, 0); err != nil {
			return err
		}
		if w.clean {
			return nil
		}
	}
}

// sweepEntries is how many entries one sweep removes: some ten milliseconds.
const sweepEntries = 1000

// sweep is one step: some entries of one dropped board, or the rest of it.
type sweep struct {
	clean bool // nothing is left; written by the writer
}

const (
	selectDropped = `SELECT id FROM boards WHERE name IS NULL LIMIT 1`
	sweepEntry    = `DELETE FROM entries WHERE board = ?1 AND key IN (SELECT key FROM entries WHERE board = ?1 LIMIT ?2)`
	sweepShelves  = `DELETE FROM shelves WHERE board = ?`
	sweepSources  = `DELETE FROM sources WHERE board = ?`
	sweepBoard    = `DELETE FROM boards WHERE id = ?`
)

// apply implements work.
func (w *sweep) apply(ctx context.Context, t *transaction) error {
	row, err := t.first(ctx, selectDropped)
	if err != nil {
		return err
	}
	if w.clean = row == nil; w.clean {
		return nil
	}
	board := integer(row[0])
	removed, err := t.exec(ctx, sweepEntry, board, int64(sweepEntries))
	if err != nil || removed > 0 {
		return err
	}
	for _, sql := range []string{sweepShelves, sweepSources, sweepBoard} {
		if _, err := t.exec(ctx, sql, board); err != nil {
			return err
		}
	}
	return nil
}

// close ends the sweeper, whatever is left.
func (s *sweeper) close(ctx context.Context) error {
	s.once.Do(s.cancel)
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sqlitestore: close: %w", context.Cause(ctx))
	}
}
