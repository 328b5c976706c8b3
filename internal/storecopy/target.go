package storecopy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// target writes records so that each write is known to be done, or to be refused.
type target struct {
	records store.Records
	clock   clock.Clock
}

const (
	// tries is how often a write is sent that was not taken, or whose answer is lost. Its
	// condition makes that harmless: it is done once, or refused.
	tries = 6
	// pause is how long the second try waits; each one after it waits twice as long.
	pause = 250 * time.Millisecond
)

// ask calls f, which may be repeated, until it is done or refused, some times.
func ask[T any](ctx context.Context, c clock.Clock, f func() (T, error)) (T, error) {
	wait := pause
	for try := 0; ; try++ {
		answer, err := f()
		if err == nil || try == tries-1 || store.OutcomeOf(err) == store.NotDone && !errors.Is(err, store.ErrUnavailable) {
			return answer, err
		}
		if err := clock.Sleep(ctx, c, wait); err != nil {
			return answer, err
		}
		wait *= 2
	}
}

// write makes the writes, each by itself, and tells which were done; the others were refused,
// because the key is not as they ask for. An error is that of the first write of which nobody
// knows, or that the store would not take.
func (t *target) write(ctx context.Context, writes []store.Write) (done []bool, err error) {
	done = make([]bool, len(writes))
	left := make([]int, len(writes))
	for i := range writes {
		left[i] = i
	}
	wait := pause
	for try := 0; ; try++ {
		if left, err = t.attempt(ctx, writes, left, done); len(left) == 0 || try == tries-1 || ctx.Err() != nil {
			return done, err
		}
		if err := clock.Sleep(ctx, t.clock, wait); err != nil {
			return done, err
		}
		wait *= 2
	}
}

// attempt sends what is left, and answers what has to be sent again, with an error of it.
func (t *target) attempt(ctx context.Context, writes []store.Write, left []int, done []bool) (again []int, err error) {
	txs := make([]store.Tx, len(left))
	for i, at := range left {
		txs[i] = store.Tx{writes[at]}
	}
	var unsure []int
	refused := make(map[int]bool)
	for i, answer := range t.records.Commit(ctx, txs...) {
		at := left[i]
		switch {
		case answer == nil:
			done[at] = true
		case errors.Is(answer, store.ErrUnavailable) && store.OutcomeOf(answer) == store.NotDone:
			again, err = append(again, at), errors.Join(err, answer)
		case errors.Is(answer, store.ErrConflict), store.OutcomeOf(answer) == store.Unknown:
			unsure, refused[at] = append(unsure, at), store.OutcomeOf(answer) == store.NotDone
			if !refused[at] {
				err = errors.Join(err, answer)
			}
		default: // it will never be taken
			return nil, fmt.Errorf("%s: %w", writes[at].Key, answer)
		}
	}
	more, readErr := t.lookAt(ctx, writes, unsure, refused, done)
	if again = append(again, more...); len(again) == 0 {
		return nil, nil
	}
	return again, errors.Join(err, readErr)
}

// lookAt reads the keys of which nobody knows whether they were written. One that was refused
// may be done all the same, by a try of before whose answer was lost.
func (t *target) lookAt(ctx context.Context, writes []store.Write, unsure []int, refused map[int]bool, done []bool) (again []int, err error) {
	if len(unsure) == 0 {
		return nil, nil
	}
	keys := make([]string, len(unsure))
	for i, at := range unsure {
		keys[i] = writes[at].Key
	}
	found, err := t.records.Get(ctx, keys...)
	if err != nil {
		return unsure, err
	}
	for i, at := range unsure {
		w := writes[at]
		switch {
		case w.Op == store.Put && found[i].Version == w.Version, w.Op == store.Delete && found[i].Missing():
			done[at] = true
		case !refused[at]:
			again = append(again, at)
		}
	}
	return again, nil
}
