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

// filled is a shelf with n entries on board K, u0 the best, every two with the same score.
func filled(n int) *shelf {
	s := newShelf()
	for i := range n {
		s.store(put{Board: "K", Key: fmt.Sprintf("u%04d", i), Score: int64(n - i/2*2)})
	}
	return s
}

func TestBackendPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := filled(1500)
		r := shelved(t, submitShelf{s}, board.Options{MaxEntries: 10, Boards: boards{"K": {}}})
		ctx := t.Context()
		p, err := r.Top(ctx, "K", 3)
		if err != nil || len(p.Entries) != 3 || p.Entries[2].Key != "u0002" || p.Entries[2].Rank != 3 || p.Info.Order != store.Descending {
			t.Fatalf("Top(3): %+v, %v", p, err)
		}
		if p, err = r.Top(ctx, "K", 500); err != nil || len(p.Entries) != 500 {
			t.Fatalf("Top(500): %d, %v", len(p.Entries), err)
		}
		if p, err = r.Top(ctx, "K", store.MaxPage); err != nil || len(p.Entries) != store.MaxPage {
			t.Fatalf("Top(MaxPage): %d, %v", len(p.Entries), err)
		}
		if p, err = r.Page(ctx, "K", 990, 10); err != nil || len(p.Entries) != 10 || p.Offset != 990 || p.Entries[9].Key != "u0999" || p.Entries[9].Rank != 1000 {
			t.Fatalf("Page(990, 10): %+v, %v", p, err)
		}
		want(t, "counts that were asked for", s.asked(), []int{10, 500, 1000, 1000})
		for what, call := range map[string]func() error{
			"Page(991, 10)": func() error { _, err := r.Page(ctx, "K", 991, 10); return err },
			"Page(1<<40)":   func() error { _, err := r.Page(ctx, "K", 1<<40, 10); return err },
			"Standing":      func() error { _, _, err := r.Standing(ctx, "K", "u1200"); return err },
			"Around":        func() error { _, err := r.Around(ctx, "K", "u1200", 2); return err },
			"Info":          func() error { _, err := r.Info(ctx, "K"); return err },
			"Scores":        func() error { _, err := r.Scores(ctx, "K", "u0001"); return err },
		} {
			if err := call(); !errors.Is(err, store.ErrUnsupported) {
				t.Errorf("%s: %v, want ErrUnsupported", what, err)
			}
		}
	})
}

func TestBackendStandings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shelved(t, submitShelf{filled(20)}, board.Options{Boards: boards{"K": {}}})
		ctx := t.Context()
		if st, ok, err := r.Standing(ctx, "K", "u0007"); !ok || err != nil || st.Rank != 8 || st.Score != 14 {
			t.Errorf("Standing: %+v, %v, %v", st, ok, err)
		}
		if _, ok, err := r.Standing(ctx, "K", "nobody"); ok || err != nil {
			t.Errorf("Standing of nobody: %v, %v", ok, err)
		}
		for key, wanted := range map[string]string{
			"u0000":  "[u0000=20 u0001=20 u0002=18]",
			"u0010":  "[u0008=12 u0009=12 u0010=10 u0011=10 u0012=8]",
			"u0019":  "[u0017=4 u0018=2 u0019=2]",
			"nobody": "[]",
		} {
			p, err := r.Around(ctx, "K", key, 2)
			if err != nil || fmt.Sprint(rows(p)) != wanted || p.Total != 20 {
				t.Errorf("Around(%s): %v of %d, %v, want %s", key, rows(p), p.Total, err, wanted)
			}
		}
		if info, err := r.Info(ctx, "K"); err != nil || info.Count != 20 {
			t.Errorf("Info: %+v, %v", info, err)
		}
	})
}

// Rows that a Backend gives in another order, or too many of, are put right; ranks are shared
// as asked.
func TestBackendRanks(t *testing.T) {
	backwards := []board.BackendRow{{Key: "d", Score: 10}, {Key: "b", Score: 20}, {Key: "c", Score: 20}, {Key: "a", Score: 30}}
	for mode, wanted := range map[store.RankMode]string{
		store.Ordinal:     "a1 b2 c3 d4 ",
		store.Competition: "a1 b2 c2 d4 ",
		store.Dense:       "a1 b2 c2 d3 ",
	} {
		got := ""
		for _, e := range board.Ranked(board.StandingsOf(backwards, store.Descending), mode) {
			got += fmt.Sprintf("%s%d ", e.Key, e.Rank)
		}
		want(t, mode.String(), got, wanted)
	}
	want(t, "the rows of the Backend", backwards[0].Key, "d")
	if got := board.StandingsOf(backwards, store.Ascending); got[0].Key != "d" || got[3].Key != "a" {
		t.Errorf("ascending: %+v", got)
	}
}

func TestBackendScoresInChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := richShelf{submitShelf{filled(250)}, func() int { return 99 }}
		r := shelved(t, b, board.Options{Boards: boards{"K": {}}})
		keys := []string{"nobody"}
		for i := range 250 {
			keys = append(keys, fmt.Sprintf("u%04d", i))
		}
		got, err := r.Scores(t.Context(), "K", keys...)
		if err != nil || len(got) != 250 || got["u0249"].Score != 2 {
			t.Fatalf("%d scores, %v", len(got), err)
		}
		var sizes []int
		for _, part := range b.mu.lookup {
			sizes = append(sizes, len(part))
		}
		want(t, "chunks", sizes, []int{100, 100, 51})
	})
}

// readers start n calls of Top, and answer their errors.
func (r *rig) readers(n int) (wait func() []error) {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, errs[i] = r.Top(r.t.Context(), "K", 2) })
	}
	return func() []error {
		wg.Wait()
		return errs
	}
}

// A panic of the Backend is raised in every reader who waits, page or no page, and wedges no
// later read.
func TestPanicOfARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := filled(4)
		r := shelved(t, submitShelf{s}, board.Options{Boards: boards{"K": {CacheFor: 10 * time.Second}}})
		broken := func(context.Context, int) error {
			time.Sleep(time.Second)
			panic("boom")
		}
		for _, page := range []bool{false, true} {
			s.onRead = broken
			before := len(s.asked())
			wait := r.readers(5)
			for i, err := range wait() {
				var p *board.PanicError
				if !errors.As(err, &p) || p.Op != "sorted" || p.Value != "boom" {
					t.Fatalf("page %v, reader %d: %v", page, i, err)
				}
			}
			want(t, "reads", len(s.asked())-before, 1)
			s.onRead = nil
			want(t, "the page", r.top("K", 2), []string{"u0000=4", "u0001=4"})
			later(20 * time.Second)
		}
		s.onRead = broken
		if _, _, err := r.Standing(t.Context(), "K", "u0000"); err == nil {
			t.Error("Standing hides a panic")
		}
		s.onRead = nil
		if _, ok, err := r.Standing(t.Context(), "K", "u0000"); !ok || err != nil {
			t.Errorf("Standing after a panic: %v", err)
		}
	})
}

// A read that fails keeps the page for another window; without one it is an error, and the
// next call tries again.
func TestBackendReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := filled(4)
		r := shelved(t, submitShelf{s}, board.Options{Boards: boards{"K": {CacheFor: 10 * time.Second}}})
		s.onRead = func(context.Context, int) error { return errBackend }
		for range 2 {
			if _, err := r.Top(t.Context(), "K", 2); !errors.Is(err, board.ErrNoPage) || !errors.Is(err, errBackend) {
				t.Fatalf("Top: %v", err)
			}
		}
		want(t, "reads without a page", len(s.asked()), 2)
		s.onRead = nil
		page := r.top("K", 2)
		s.onRead = func(context.Context, int) error { return errBackend }
		later(10 * time.Second)
		want(t, "the page before", r.top("K", 2), page)
		s.onRead = nil
		later(9 * time.Second)
		want(t, "a window later, the page before", r.top("K", 2), page)
		want(t, "reads", len(s.asked()), 4)
		later(time.Second)
		r.top("K", 2)
		want(t, "reads", len(s.asked()), 5)
	})
}
