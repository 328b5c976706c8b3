package board_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// topErrors are the errors of so many callers of Top who come at the same time.
func (r *rig) topErrors(callers int) []error {
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for i := range errs {
		wg.Go(func() { _, errs[i] = r.Top(r.t.Context(), "Kills", 0) })
	}
	wg.Wait()
	return errs
}

func TestErrorOfAFirstReadReachesAllWhoWait(t *testing.T) {
	// S26
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		r.store.failNext("page", fault{delay: time.Second, err: store.ErrUnavailable})
		for _, err := range r.topErrors(20) {
			if !errors.Is(err, board.ErrNoPage) || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("Top: %v", err)
			}
		}
		want(t, "reads", len(r.store.did("page")), 1)
		want(t, "the next call", r.top("Kills", 0), []string{"u0=1"})
	})
}

func TestPanicOfAReadReachesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: 10 * time.Second, Boards: boards{"Kills": {}}})
		updates := 0
		r.OnUpdated(func(string, store.Page) { updates++ })
		r.fill("Kills", 1)
		boom := fault{inside: func(context.Context) { time.Sleep(time.Second); panic("boom") }}
		r.store.failAll("page", boom)
		for range 2 { // without an earlier page each call tries
			for _, err := range r.topErrors(20) {
				var p *board.PanicError
				if !errors.As(err, &p) || p.Value != "boom" || len(p.Stack) == 0 || !errors.Is(err, board.ErrNoPage) {
					t.Fatalf("Top: %v", err)
				}
			}
		}
		r.store.setRule(nil)
		want(t, "the next call", r.top("Kills", 0), []string{"u0=1"})
		later(10 * time.Second)
		r.store.failAll("page", boom)
		for _, err := range r.topErrors(20) {
			var p *board.PanicError
			if !errors.As(err, &p) {
				t.Fatalf("Top with an earlier page: %v", err)
			}
		}
		r.store.setRule(nil)
		want(t, "the page before, for another window", r.top("Kills", 0), []string{"u0=1"})
		want(t, "reads", r.store.at("page"), []float64{0, 1, 2, 12})
		later(10 * time.Second)
		want(t, "a window later", r.top("Kills", 0), []string{"u0=1"})
		synctest.Wait()
		want(t, "updates", updates, 2)
		want(t, "panics in the log", r.log.count("a call panicked"), 3)
	})
}

func TestPanicOfAnExactReadWedgesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{ReadsAtOnce: 1, Boards: boards{"Kills": {MaxEntries: 1}}})
		r.fill("Kills", 3)
		r.store.setRule(func(call) fault { return fault{inside: func(context.Context) { panic("boom") }} })
		ctx := t.Context()
		calls := map[string]func() error{
			"standing": func() error { _, _, err := r.Standing(ctx, "Kills", "u1"); return err },
			"around":   func() error { _, err := r.Around(ctx, "Kills", "u1", 1); return err },
			"scores":   func() error { _, err := r.Scores(ctx, "Kills", "u1"); return err },
			"deep top": func() error { _, err := r.Top(ctx, "Kills", 3); return err },
		}
		for what, call := range calls {
			var p *board.PanicError
			if err := call(); !errors.As(err, &p) {
				t.Errorf("%s: %v", what, err)
			}
		}
		r.store.setRule(nil)
		for what, call := range calls {
			if err := call(); err != nil {
				t.Errorf("%s, the next call: %v", what, err)
			}
		}
	})
}

// Each refreshed read of the page is told once, to each listener; nothing else is.
func TestUpdatedIsToldOncePerRefreshedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {MaxEntries: 2}, "Other": {}}})
		var got []string
		r.OnUpdated(func(name string, p store.Page) { got = append(got, name) })
		other := 0
		stop := r.OnUpdated(func(string, store.Page) { other++ })
		r.fill("Kills", 3)
		r.topErrors(20)
		r.top("Kills", 3) // deeper than the page
		if _, _, err := r.Standing(t.Context(), "Kills", "u1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // boards are told by goroutines of their own
		r.top("Other", 0)
		synctest.Wait()
		want(t, "updates", got, []string{"Kills", "Other"})
		stop()
		later(time.Second)
		r.store.failAll("page", notDone)
		r.top("Kills", 0)
		r.store.setRule(nil)
		later(time.Second)
		r.top("Kills", 0)
		synctest.Wait()
		want(t, "updates", got, []string{"Kills", "Other", "Kills"})
		want(t, "updates of the other listener", other, 2)
	})
}
