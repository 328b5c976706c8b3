package pairing

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Watcher is the part of a process that is alive: it answers doubts, and writes the sign again
// when the fast part has lost its memory. The zero value is ready for Start and Close.
type Watcher struct {
	mu struct {
		sync.Mutex
		stop context.CancelFunc // nil before Start
		done chan struct{}
	}
}

// Start watches the parts, whose mark was agreed on, until Close. It is called once at most.
func (w *Watcher) Start(ctx context.Context, p Parts, agreed Mark, g Given) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	w.mu.Lock()
	w.mu.stop, w.mu.done = stop, done
	w.mu.Unlock()
	watch := &watch{Parts: p.defaults(), place: g.Place, held: agreed.ID}
	go func() {
		defer close(done)
		watch.run(ctx)
	}()
}

// Close ends it and waits for that. It may be called before Start, and more than once.
func (w *Watcher) Close(ctx context.Context) error {
	w.mu.Lock()
	stop, done := w.mu.stop, w.mu.done
	w.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch is what the watcher's goroutine owns.
type watch struct {
	Parts
	place string
	held  string  // the id of the life that this process plays in
	last  finding // that was logged
}

// patienceOfWatch bounds a look, so that one that hangs is followed by another. It is longer than
// a slow durable part needs for three calls: who doubts waits as long as that.
const patienceOfWatch = 5 * Every

// run takes a look every [Every] until ctx ends or the store is closed.
func (w *watch) run(ctx context.Context) {
	for {
		if err := clock.Sleep(ctx, w.Clock, Every); err != nil {
			return
		}
		bounded, cancel := clock.WithTimeout(ctx, w.Clock, patienceOfWatch)
		err := w.step(bounded)
		cancel()
		if errors.Is(err, store.ErrClosed) {
			return
		}
		if err != nil && ctx.Err() == nil {
			w.Logger.DebugContext(ctx, "the pairing of the store could not be looked at", "err", err)
		}
	}
}

// step looks once.
func (w *watch) step(ctx context.Context) error {
	s, err := w.survey(ctx)
	if err != nil {
		return err
	}
	if s.fastErr != nil { // whoever asks all is answered without it, and others that nobody can tell
		s.blind = s.mark != nil && s.mark.ID == w.held
		return errors.Join(s.fastErr, w.answer(ctx, s, w.place))
	}
	found := find(w.held, s.mark, s.sign)
	w.tell(ctx, found, s.seen)
	switch found {
	case forgotten:
		err = w.Fast.Commit(ctx, store.Tx{w.put(signKey, Sign{format, w.held}, s.signVersion)})[0]
	case renewed:
		w.held = s.mark.ID
	case well, unmarked, strange, moved:
	}
	return errors.Join(err, w.answer(ctx, s, w.place))
}

// finding is what a process that is alive finds.
type finding uint8

const (
	well      finding = iota + 1
	unmarked          // the durable part lost the mark: it was restored from an old backup
	forgotten         // the fast part has lost its memory, or went back in time
	renewed           // others began a new life of this very fast part
	strange           // another store uses this fast part
	moved             // the fleet has another fast part now
)

// find decides what was found by a process of the life held.
func find(held string, m *Mark, s *Sign) finding {
	switch {
	case m == nil:
		return unmarked
	case m.ID == held && s != nil && s.ID == held:
		return well
	case m.ID == held && (s == nil || slices.Contains(m.Before, s.ID)):
		return forgotten
	case m.ID == held:
		return strange
	case s != nil && s.ID == m.ID:
		return renewed
	}
	return moved
}

// tell logs what was found when it is news.
func (w *watch) tell(ctx context.Context, found finding, s seen) {
	if found == w.last {
		return
	}
	w.last = found
	args := []any{"fast", w.place}
	if s.mark != nil && s.mark.Apart {
		args = append(args, "expected", s.mark.fastPart(), "since", s.mark.since())
	}
	switch found {
	case well, renewed:
	case forgotten:
		w.Logger.WarnContext(ctx, "the fast part has lost its memory; its sign is written again", args...)
	case unmarked:
		w.Logger.WarnContext(ctx, "the durable part has no mark of its fast part: was an old backup restored while this process runs?", args...)
	case strange:
		w.Logger.ErrorContext(ctx, "another store uses this fast part, too: end one of the two fleets", args...)
	case moved:
		w.Logger.ErrorContext(ctx, "the fleet has another fast part now, and this process does not see it: end this process", args...)
	}
}
