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

// wantReport expects a report, its error apart.
func wantReport(t *testing.T, got board.Report, err error, expected board.Report, reason error) {
	t.Helper()
	if !errors.Is(err, reason) || !errors.Is(got.Err, reason) {
		t.Fatalf("error %v, in the report %v, want %v", err, got.Err, reason)
	}
	got.Err = nil
	want(t, "the report", got, expected)
}

func TestCloseWithNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		if took := time.Since(began); took != 0 {
			t.Fatalf("Close took %v", took)
		}
	})
}

func TestCloseRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Second, Boards: boards{"Kills": {}, "Empty": {}}})
		r.fill("Kills", 2)
		r.top("Kills", 0)
		if _, err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		wantRefused(t, r.Submit("Kills", "u1", 1), "service", board.ErrClosed)
		wantRefused(t, r.Define("New", board.Config{}), "service", board.ErrClosed)
		for what, call := range map[string]func() error{
			"flush":    func() error { return r.FlushNow(ctx) },
			"standing": func() error { _, _, err := r.Standing(ctx, "Kills", "u1"); return err },
			"around":   func() error { _, err := r.Around(ctx, "Kills", "u1", 1); return err },
			"scores":   func() error { _, err := r.Scores(ctx, "Kills", "u1"); return err },
			"page":     func() error { _, err := r.Page(ctx, "Kills", 0, 1); return err },
			"deep top": func() error { _, err := r.Top(ctx, "Kills", 500); return err },
			"merge":    func() error { _, err := r.Merge(ctx, "Kills", store.Batch{}); return err },
			"create":   func() error { _, err := r.Create(ctx, "Kills", store.BoardSpec{}); return err },
			"info":     func() error { _, err := r.Info(ctx, "Kills"); return err },
			"remove":   func() error { _, err := r.Remove(ctx, "Kills", "u1"); return err },
			"seal":     func() error { _, err := r.Seal(ctx, "Kills"); return err },
			"drop":     func() error { return r.Drop(ctx, "Kills") },
			"top":      func() error { _, err := r.Top(ctx, "Empty", 0); return err },
		} {
			if err := call(); !errors.Is(err, board.ErrClosed) {
				t.Errorf("%s after Close: %v, want ErrClosed", what, err)
			}
		}
		later(time.Hour)
		want(t, "the cached page", r.top("Kills", 0), []string{"u0=2", "u1=1"})
		if err := r.Forget("Kills"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCloseDrainsCappedWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{WritesPerFlush: 3, Boards: boards{"A": {}, "B": {}}})
		for i := range 5 {
			r.submit("A", fmt.Sprintf("u%d", i), 1)
			r.submit("B", fmt.Sprintf("u%d", i), 1)
		}
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		want(t, "time", time.Since(began), 0)
		want(t, "entries", len(r.stored("A"))+len(r.stored("B")), 10)
		for _, c := range r.store.did("merge") {
			if len(c.Batch.Entries) > 3 {
				t.Fatalf("a write of %d values", len(c.Batch.Entries))
			}
		}
	})
}

func TestCloseJoinsTheWriteInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.store.failNext("merge", fault{delay: 3 * time.Second})
		r.submit("Kills", "u1", 5)
		later(time.Second)
		r.submit("Kills", "u1", 9)
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		want(t, "time", time.Since(began), 3*time.Second)
		want(t, "what is stored", r.stored("Kills"), []string{"u1=9"})
	})
}

func TestCloseBacksOffAndNeverDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: 2, Boards: boards{"Kills": {}, "Coins": {Rule: store.Sum}}})
		failures := []fault{}
		for range 5 {
			failures = append(failures, notDone, vanish)
		}
		r.store.failNext("merge", failures...)
		r.submit("Kills", "u1", 5)
		r.submit("Coins", "u1", 5)
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true, Failed: 10}, nil)
		want(t, "time", time.Since(began), 5*board.DrainPause)
		want(t, "what is stored", append(r.stored("Kills"), r.stored("Coins")...), []string{"u1=5", "u1=5"})
		want(t, "dropped", r.Stats().Total.Dropped, 0)
	})
}

func TestCloseAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{WritesPerFlush: 2, Boards: boards{"Kills": {}}})
		r.store.failAll("merge", notDone)
		for i := range 5 {
			r.submit("Kills", fmt.Sprintf("u%d", i), 1)
		}
		began := time.Now()
		got, err := r.Close(t.Context())
		want(t, "time", time.Since(began), 10*time.Second)
		if got.Failed < 70 {
			t.Fatalf("%d failed writes in 40 windows", got.Failed)
		}
		got.Failed = 0
		wantReport(t, got, err, board.Report{Remaining: 5}, board.ErrDeadline)
		synctest.Wait()
		calls := len(r.store.did("merge"))
		later(time.Minute)
		want(t, "writes after the deadline", len(r.store.did("merge")), calls)
	})
}

func TestCloseReportsAWriteThatStillRuns(t *testing.T) {
	for what, stubborn := range map[string]bool{"a store that looks at its context": false, "a store that does not": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{CloseTimeout: 4 * time.Second, Boards: boards{"Kills": {}, "Other": {}}})
				gate := make(chan struct{})
				r.store.failAll("merge", fault{block: gate, stubborn: stubborn})
				r.submit("Kills", "u1", 5)
				r.submit("Kills", "u2", 5)
				r.submit("Other", "u1", 5)
				began := time.Now()
				got, err := r.Close(t.Context())
				wantReport(t, got, err, board.Report{Remaining: 3, InFlight: 2}, board.ErrDeadline)
				want(t, "time", time.Since(began), 4*time.Second)
				again, err := r.Close(t.Context())
				wantReport(t, again, err, board.Report{Remaining: 3, InFlight: 2}, board.ErrDeadline)
				close(gate)
			})
		})
	}
}

func TestCloseCountsUnknownSumsAsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		r.store.failAll("merge", vanish)
		r.submit("Coins", "u1", 5)
		r.flushFails()
		r.submit("Coins", "u2", 5)
		got, err := r.Close(t.Context())
		got.Failed = 0
		wantReport(t, got, err, board.Report{Remaining: 2, InFlight: 1}, board.ErrDeadline)
	})
}

func TestCloseStopsWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Budget: func() int { return 0 }, Boards: boards{"Kills": {}}})
		r.submit("Kills", "u1", 5)
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Remaining: 1}, board.ErrNoProgress)
		want(t, "time", time.Since(began), 0)
	})
}

func TestCloseAfterTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.submit("Kills", "u1", 5)
		if err := r.store.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := r.Close(t.Context())
		if !errors.Is(err, store.ErrClosed) {
			t.Fatalf("Close: %v", err)
		}
		wantReport(t, got, err, board.Report{Remaining: 1, Failed: 1}, board.ErrNoProgress)
		want(t, "time", time.Since(began), 0)
	})
}

func TestNegativeCloseTimeoutDrainsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CloseTimeout: -1, Boards: boards{"Kills": {}}})
		r.submit("Kills", "u1", 5)
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Remaining: 1}, board.ErrDeadline)
		synctest.Wait()
		want(t, "writes", len(r.store.did("merge")), 0)
	})
}

func TestCallersOfCloseShareOneDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.store.failAll("merge", fault{delay: 2 * time.Second})
		r.submit("Kills", "u1", 5)
		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan board.Report, 1)
		go func() {
			got, err := r.Close(ctx)
			if !errors.Is(err, board.ErrPending) || !errors.Is(err, context.Canceled) {
				t.Errorf("the impatient caller: %v", err)
			}
			impatient <- got
		}()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got, err := r.Close(t.Context()); err != nil || got != (board.Report{Complete: true}) {
					t.Errorf("a caller: %+v, %v", got, err)
				}
			})
		}
		later(time.Second)
		cancel()
		got := <-impatient
		want(t, "the report of the moment", []int{got.Remaining, got.InFlight}, []int{1, 1})
		wg.Wait()
		want(t, "writes", len(r.store.did("merge")), 1)
	})
}

func TestCloseFromInsideAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		var inside board.Report
		var err error
		r.store.failNext("merge", fault{inside: func(ctx context.Context) { inside, err = r.Close(ctx) }})
		r.submit("Kills", "u1", 5)
		later(time.Second)
		if !errors.Is(err, board.ErrPending) || inside.Complete || inside.InFlight != 1 || inside.Remaining != 1 {
			t.Fatalf("Close from inside: %+v, %v", inside, err)
		}
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		want(t, "what is stored", r.stored("Kills"), []string{"u1=5"})
	})
}

func TestCloseReleasesReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}, "New": {}}})
		r.fill("Kills", 2)
		r.top("Kills", 0)
		later(time.Second)
		gate := make(chan struct{})
		hang := fault{block: gate}
		r.store.setRule(func(c call) fault {
			if c.Op == "page" || c.Op == "standing" {
				return hang
			}
			return fault{}
		})
		pages, errs := make(chan []string, 1), make(chan error, 2)
		go func() { pages <- r.top("Kills", 0) }()
		go func() {
			_, err := r.Top(t.Context(), "New", 0)
			errs <- err
		}()
		go func() {
			_, _, err := r.Standing(t.Context(), "Kills", "u1")
			errs <- err
		}()
		synctest.Wait()
		began := time.Now()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		want(t, "the page of a released reader", <-pages, []string{"u0=2", "u1=1"})
		for range 2 {
			if err := <-errs; !errors.Is(err, board.ErrClosed) {
				t.Fatalf("a released reader without a page: %v", err)
			}
		}
		want(t, "time", time.Since(began), 0)
	})
}

func TestCloseWaitsForADropUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.submit("Kills", "u1", 5)
		r.store.failNext("drop", fault{delay: time.Second, err: notDone.err})
		dropped := make(chan error, 1)
		go func() { dropped <- r.Drop(t.Context(), "Kills") }()
		synctest.Wait()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
		if err := <-dropped; !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Drop: %v", err)
		}
		want(t, "what is stored", r.stored("Kills"), []string{"u1=5"})
	})
}

// A submit that races with Close is either refused or written.
func TestSubmitRacesWithClose(t *testing.T) {
	for range 50 {
		r := startOn(t, newScript(), nil, &board.Options{Boards: boards{"Kills": {Rule: store.Sum}}})
		var wg sync.WaitGroup
		accepted := make([]int64, 4)
		for g := range accepted {
			wg.Go(func() {
				for r.Submit("Kills", fmt.Sprintf("u%d", g), 1) == nil {
					accepted[g]++
				}
			})
		}
		got, err := r.Close(t.Context())
		if err != nil || !got.Complete {
			t.Fatalf("Close: %+v, %v", got, err)
		}
		wg.Wait()
		for g, n := range accepted {
			key := fmt.Sprintf("u%d", g)
			stored, err := r.store.Boards.Scores(t.Context(), "Kills", key)
			if n > 0 && (err != nil || stored[key].Score != n) {
				t.Fatalf("%s: %d accepted, %d stored, %v", key, n, stored[key].Score, err)
			}
		}
	}
}
