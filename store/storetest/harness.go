package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// Patience is how long a case waits for what should come at once. Reaching it is a failure.
const Patience = 30 * time.Second

// Harness is one store of the driver under test, fresh and empty. T is store.Records,
// store.Boards or store.Bus.
type Harness[T any] struct {
	// Open opens a handle on the store, as a process does at its start. It fails the test
	// when it cannot. The suite closes what it opens.
	Open func(t *testing.T) T

	// Shared: Open may be called again while other handles are open, and each sees what the
	// others do, as another process would.
	Shared bool

	// Reopens: what was acknowledged is still there when every handle has been closed and
	// Open is called again.
	Reopens bool

	// Pass lets time go by for the store, as a clock that is set forward does. Nil when the
	// driver's clock cannot be moved: then what happens with time is left out.
	Pass func(t *testing.T, d time.Duration)
}

// Closer is what the three contracts have in common, with each other and with an engine.
type Closer interface {
	Close(ctx context.Context) error
}

// open opens a handle and closes it when the test ends.
func open[T Closer](t *testing.T, h Harness[T]) T {
	t.Helper()
	handle := h.Open(t)
	t.Cleanup(func() { shut(t, handle) })
	return handle
}

// shut closes a handle within Patience.
func shut(t *testing.T, handle Closer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
	defer cancel()
	if err := handle.Close(ctx); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
}

// openSome opens n handles, or one when the store is not shared.
func openSome[T Closer](t *testing.T, h Harness[T], n int) []T {
	t.Helper()
	if !h.Shared {
		n = 1
	}
	handles := make([]T, n)
	for i := range handles {
		handles[i] = open(t, h)
	}
	return handles
}

// cancelled is a context that has ended.
func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// vocabulary is what a driver may answer; see package store.
func vocabulary() []error {
	return []error{
		store.ErrConflict, store.ErrUnavailable, store.ErrTooLarge, store.ErrUnknown,
		store.ErrUnsupported, store.ErrInvalid, store.ErrClosed, store.ErrSealed, store.ErrNoBoard, store.ErrCursor,
	}
}

// outside tells what is wrong with err when it is not nil and not exactly one of the
// vocabulary.
func outside(err error) string {
	if err == nil {
		return ""
	}
	n := 0
	for _, word := range vocabulary() {
		if errors.Is(err, word) {
			n++
		}
	}
	if n != 1 {
		return fmt.Sprintf("error %q is %d of the vocabulary, want exactly one", err, n)
	}
	return ""
}

// isWord tells whether err is the word; no error is the word nil.
func isWord(err, word error) bool {
	if word == nil {
		return err == nil
	}
	return errors.Is(err, word)
}

// checkVocabulary fails when err is outside of the vocabulary.
func checkVocabulary(t *testing.T, what string, err error) {
	t.Helper()
	if problem := outside(err); problem != "" {
		t.Errorf("%s: %s", what, problem)
	}
}

// want fails unless err is the word of the vocabulary (nil for success).
func want(t *testing.T, what string, err, word error) {
	t.Helper()
	wantWord(t, what, err, word)
}

// ok fails the test at once when err is not nil.
func ok(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		checkVocabulary(t, what, err)
		t.Fatalf("%s: %v", what, err)
	}
}

// await receives from c within Patience.
func await[V any](t *testing.T, what string, c <-chan V) V {
	t.Helper()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	select {
	case v := <-c:
		return v
	case <-limit.C:
		t.Fatalf("%s: nothing within %v", what, Patience)
		panic("unreachable")
	}
}
