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

func TestStanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		if _, ok, err := r.Standing(t.Context(), "Kills", "u1"); ok || err != nil {
			t.Fatalf("Standing on a board that was never written: %v, %v", ok, err)
		}
		r.fill("Kills", 300)
		r.submit("Kills", "u299", 1000) // waits: not in it
		st, ok, err := r.Standing(t.Context(), "Kills", "u299")
		if err != nil || !ok || st.Rank != 300 || st.Score != 1 {
			t.Fatalf("Standing: %+v, %v, %v", st, ok, err)
		}
		if _, ok, err := r.Standing(t.Context(), "Kills", "nobody"); ok || err != nil {
			t.Fatalf("Standing of nobody: %v, %v", ok, err)
		}
		_, _, err = r.Standing(t.Context(), "Nope", "u1")
		wantRefused(t, err, "board", board.ErrUnknownBoard)
		_, _, err = r.Standing(t.Context(), "Kills", "a/b")
		wantRefused(t, err, "key", board.ErrName)
		r.store.failNext("standing", notDone)
		if _, _, err := r.Standing(t.Context(), "Kills", "u1"); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Standing while the store is down: %v", err)
		}
	})
}

func TestAroundIsCentredAndClamped(t *testing.T) {
	// case B4
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		const size = 7
		r.fill("Kills", size)
		for at := range size {
			for n := range size {
				p, err := r.Around(t.Context(), "Kills", fmt.Sprintf("u%d", at), n)
				first, last := max(0, at-n), min(size-1, at+n)
				if err != nil || len(p.Entries) != last-first+1 || p.Entries[0].Rank != int64(first+1) || p.Total != size {
					t.Fatalf("around u%d by %d: %v, %v", at, n, rows(p), err)
				}
			}
		}
		if p, err := r.Around(t.Context(), "Kills", "nobody", 3); err != nil || len(p.Entries) != 0 || p.Total != size {
			t.Fatalf("around nobody: %+v, %v", p, err)
		}
		_, err := r.Around(t.Context(), "Kills", "u1", store.MaxPage)
		wantRefused(t, err, "count", board.ErrCount)
	})
}

func TestScoresInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		if got, err := r.Scores(t.Context(), "Kills", "u1"); err != nil || len(got) != 0 {
			t.Fatalf("Scores of a board that was never written: %v, %v", got, err)
		}
		r.fill("Kills", 2500)
		keys := []string{"nobody", "u1", "u1"} // friends lists repeat
		for i := range 2500 {
			keys = append(keys, fmt.Sprintf("u%d", i))
		}
		got, err := r.Scores(t.Context(), "Kills", keys...)
		if err != nil || len(got) != 2500 || got["u2499"].Score != 1 {
			t.Fatalf("Scores: %d entries, %v", len(got), err)
		}
		sizes := []int{}
		for _, c := range r.store.did("scores")[1:] {
			sizes = append(sizes, len(c.Keys))
		}
		want(t, "sizes of the reads", sizes, []int{1000, 1000, 501})
		if got, err := r.Scores(t.Context(), "Kills"); err != nil || len(got) != 0 {
			t.Fatalf("Scores of nobody: %v, %v", got, err)
		}
		_, err = r.Scores(t.Context(), "Kills", manyKeys(board.MostKeys+1)...)
		wantRefused(t, err, "keys", board.ErrCount)
		_, err = r.Scores(t.Context(), "Kills", "u1", "")
		wantRefused(t, err, "key", board.ErrName)
		r.store.failNext("scores", fault{}, notDone)
		if got, err := r.Scores(t.Context(), "Kills", keys...); !errors.Is(err, store.ErrUnavailable) || got != nil {
			t.Fatalf("Scores with a part that failed: %d entries, %v", len(got), err)
		}
	})
}

func TestPagesMakeTheWholeBoard(t *testing.T) {
	// case B8, case B9
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		for i := range 50 {
			r.submit("Kills", fmt.Sprintf("u%d", i), int64(i%3)) // many ties
		}
		r.flush()
		whole, err := r.Page(t.Context(), "Kills", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for offset := int64(0); offset < 50; offset += 7 {
			p, err := r.Page(t.Context(), "Kills", offset, 7)
			if err != nil || p.Entries[0].Rank != offset+1 {
				t.Fatalf("Page from %d: %+v, %v", offset, p, err)
			}
			parts = append(parts, rows(p)...)
		}
		want(t, "the pages", parts, rows(whole))
		_, err = r.Page(t.Context(), "Kills", -1, 7)
		wantRefused(t, err, "offset", board.ErrCount)
		_, err = r.Page(t.Context(), "Kills", 0, store.MaxPage+1)
		wantRefused(t, err, "count", board.ErrCount)
		_, err = r.Page(t.Context(), "a b", 0, 1)
		wantRefused(t, err, "board", board.ErrName)
		if _, err = r.Page(t.Context(), "Undefined", 0, 1); !errors.Is(err, store.ErrNoBoard) {
			t.Fatalf("Page of a board that is not there: %v", err)
		}
	})
}

func TestIdenticalReadsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}, "Other": {}}})
		r.fill("Kills", 5)
		r.fill("Other", 5)
		r.store.setRule(func(call) fault { return fault{delay: time.Millisecond} })
		var wg sync.WaitGroup
		for i := range 30 {
			for _, name := range []string{"Kills", "Other"} {
				key := fmt.Sprintf("u%d", i%3)
				wg.Go(func() {
					if st, ok, err := r.Standing(t.Context(), name, key); !ok || err != nil || st.Key != key {
						t.Errorf("Standing: %+v, %v, %v", st, ok, err)
					}
				})
				wg.Go(func() {
					if p, err := r.Around(t.Context(), name, key, 1+i%2); err != nil || len(p.Entries) == 0 {
						t.Errorf("Around: %+v, %v", p, err)
					}
				})
				wg.Go(func() {
					got, err := r.Scores(t.Context(), name, key, "u4")
					if err != nil || len(got) != 2 {
						t.Errorf("Scores: %v, %v", got, err)
					}
					got["mine"] = store.Entry{} // a map of the caller's own
				})
			}
		}
		wg.Wait()
		want(t, "reads", []int{len(r.store.did("standing")), len(r.store.did("around")), len(r.store.did("scores"))}, []int{6, 12, 6})
	})
}

// A shared read is not joined by a caller who knows of a write that came after it began.
func TestSharedReadsShowWhatThisServiceHasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		gate := make(chan struct{})
		r.store.failNext("standing", fault{block: gate, after: true})
		slow := make(chan int64, 1)
		go func() {
			st, _, _ := r.Standing(t.Context(), "Kills", "u0")
			slow <- st.Score
		}()
		synctest.Wait()
		for i, write := range []func(){
			func() { r.submit("Kills", "u0", 7); r.flush() },
			func() {
				if _, err := r.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "u0", Score: 8}}}); err != nil {
					t.Fatal(err)
				}
			},
		} {
			write()
			st, _, err := r.Standing(t.Context(), "Kills", "u0")
			if err != nil || st.Score != int64(7+i) {
				t.Fatalf("Standing after a write: %+v, %v", st, err)
			}
		}
		close(gate)
		want(t, "the slow read", <-slow, 1)
	})
}

func TestReadsAtOnceAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{ReadsAtOnce: 2, CallTimeout: -1, Boards: boards{"Kills": {}}})
		r.fill("Kills", 5)
		gate := make(chan struct{})
		r.store.failAll("standing", fault{block: gate})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if _, _, err := r.Standing(t.Context(), "Kills", fmt.Sprintf("u%d", i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		want(t, "reads in flight", len(r.store.did("standing")), 2)
		// One that gives up does not take a place; and Top does not wait for one.
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Around(short, "Kills", "u1", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a read without a place: %v", err)
		}
		if _, err := r.Page(short, "Kills", 0, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a page without a place: %v", err)
		}
		want(t, "the page", len(r.top("Kills", 0)), 5)
		close(gate)
		wg.Wait()
		want(t, "reads", len(r.store.did("standing")), 5)
	})
}

func TestCancelledCallerOfASharedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		r.store.failAll("standing", fault{delay: time.Second})
		first, cancel := context.WithCancel(t.Context())
		errs, oks := make(chan error, 1), make(chan bool, 1)
		go func() {
			_, _, err := r.Standing(first, "Kills", "u0")
			errs <- err
		}()
		synctest.Wait()
		go func() {
			_, ok, err := r.Standing(t.Context(), "Kills", "u0")
			oks <- ok && err == nil
		}()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Fatalf("the cancelled caller: %v", err)
		}
		if !<-oks {
			t.Fatal("the other caller was stranded")
		}
		want(t, "reads", len(r.store.did("standing")), 1)
	})
}
