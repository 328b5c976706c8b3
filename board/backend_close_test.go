package board_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// nap makes every write take a while, whatever its context says.
func nap(d time.Duration) func(context.Context, put) error {
	return func(context.Context, put) error {
		time.Sleep(d)
		return nil
	}
}

// Close joins the write in flight and writes the rest in capped windows, without a pause
// while nothing fails.
func TestBackendCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{WritesPerFlush: 2, Boards: boards{"K": {}}})
		b.onPut = nap(100 * time.Millisecond)
		for i := range 5 {
			r.submit("K", fmt.Sprintf("u%d", i), 1)
		}
		go func() { _ = r.FlushNow(t.Context()) }()
		synctest.Wait() // a write is in flight
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		want(t, "time", time.Since(began), 500*time.Millisecond)
		want(t, "writes", len(b.puts()), 5)
	})
}

// After a window with failures the next one waits a quarter of a second; each key has one
// attempt in each, and nothing is dropped.
func TestBackendCloseBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{MaxWriteAttempts: 2, Boards: boards{"K": {}}})
		tries := 0
		b.onPut = func(_ context.Context, w put) error {
			if w.Key == "bad" {
				if tries++; tries <= 5 {
					return errBackend
				}
			}
			return nil
		}
		r.submit("K", "bad", 1)
		r.submit("K", "good", 1)
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true, Failed: 5}, nil)
		want(t, "time", time.Since(began), 5*board.DrainPause)
		want(t, "dropped", r.Stats().Total.Dropped, 0)
	})
}

// At the deadline no new write starts; one that still runs is unresolved.
func TestBackendCloseAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{CloseTimeout: 10 * time.Second, Boards: boards{"K": {}}})
		b.onPut = nap(4 * time.Second)
		for i := range 9 {
			r.submit("K", fmt.Sprintf("u%d", i), 1)
		}
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Remaining: 7, InFlight: 1}, board.ErrDeadline)
		want(t, "time", time.Since(began), 10*time.Second)
		later(time.Minute)
		want(t, "writes", len(b.puts()), 3)
		again, err := r.Close(t.Context())
		wantReport(t, again, err, board.Report{Remaining: 7, InFlight: 1}, board.ErrDeadline)
	})
}

func TestBackendCloseWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shelved(t, richShelf{submitShelf{newShelf()}, func() int { return 0 }}, board.Options{Boards: boards{"K": {}}})
		r.submit("K", "u1", 1)
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Remaining: 1}, board.ErrNoProgress)
		want(t, "time", time.Since(began), 0)
	})
}

// A Backend that calls Close from inside its own write gets a pending report at once; the
// drain goes on.
func TestBackendClosesFromInsideItsWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{Boards: boards{"K": {}}})
		var once sync.Once
		b.onPut = func(ctx context.Context, _ put) error {
			once.Do(func() {
				got, err := r.Close(ctx)
				wantReport(t, got, err, board.Report{Remaining: 2, InFlight: 1}, board.ErrPending)
				if err := r.FlushNow(ctx); !errors.Is(err, board.ErrPending) {
					t.Errorf("FlushNow from inside a write: %v", err)
				}
				if err := r.SubmitDurable(ctx, "K", store.Submission{Key: "u9"}); !errors.Is(err, board.ErrPending) {
					t.Errorf("SubmitDurable from inside a write: %v", err)
				}
			})
			return nil
		}
		r.submit("K", "u1", 1)
		r.submit("K", "u2", 1)
		if err := r.FlushNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		want(t, "writes", len(b.puts()), 2)
	})
}

// Readers who wait for the Backend are released, with the page before if there is one.
func TestBackendCloseReleasesReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := filled(2)
		r := shelved(t, submitShelf{s}, board.Options{Boards: boards{"K": {CacheFor: time.Second}}})
		r.top("K", 2)
		later(time.Minute)
		s.onRead = func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return errBackend
		}
		wait := r.readers(3)
		synctest.Wait()
		if _, err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, err := range wait() {
			if err != nil {
				t.Errorf("a reader got %v, want the page before", err)
			}
		}
	})
}
