package board_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func rankModes() []store.RankMode {
	return []store.RankMode{store.Ordinal, store.Competition, store.Dense}
}

// ranksOf are the ranks that scores in the order of a board have, counted plainly.
func ranksOf(scores []int64, mode store.RankMode) []int64 {
	out := make([]int64, len(scores))
	for i, s := range scores {
		before := scores[:slices.Index(scores, s)]
		switch mode {
		case store.Ordinal:
			out[i] = int64(i) + 1
		case store.Competition:
			out[i] = int64(len(before)) + 1
		case store.Dense:
			out[i] = int64(len(slices.Compact(slices.Clone(before)))) + 1
		}
	}
	return out
}

func ranksIn(p store.Page) (ranks []int64) {
	for _, e := range p.Entries {
		ranks = append(ranks, e.Rank)
	}
	return ranks
}

func TestRanked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Int64Range(0, 5), 1, 30).Draw(t, "scores")
		slices.SortFunc(scores, func(a, b int64) int { return int(b - a) })
		page := store.Page{}
		for i, s := range scores {
			page.Entries = append(page.Entries, store.Standing{Entry: store.Entry{Key: fmt.Sprint(i), Score: s}, Rank: int64(i) + 1})
		}
		for _, mode := range rankModes() {
			got := ranksIn(store.Page{Entries: board.Ranked(page.Entries, mode)})
			if !slices.Equal(got, ranksOf(scores, mode)) {
				t.Fatalf("%v ranks of %v: %v", mode, scores, got)
			}
		}
		if !slices.Equal(ranksIn(page), ranksOf(scores, store.Ordinal)) {
			t.Fatal("the page itself was changed")
		}
	})
}

// submitScores gives u0, u1, … the scores, in the order of the board.
func (r *rig) submitScores(name string, scores ...int64) {
	r.t.Helper()
	for i, s := range scores {
		r.submit(name, fmt.Sprintf("u%d", i), s)
		r.flush() // one window each: equal scores keep the order of their submits
	}
}

func TestTopByEachModeIsOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {MaxEntries: 5}}})
		scores := []int64{30, 20, 20, 10, 10, 10, 5}
		r.submitScores("Kills", scores...)
		for range 3 {
			for _, mode := range rankModes() {
				p, err := r.By(mode).Top(t.Context(), "Kills", 4)
				if err != nil || p.Total != 7 {
					t.Fatalf("Top by %v: %+v, %v", mode, p, err)
				}
				want(t, mode.String(), ranksIn(p), ranksOf(scores, mode)[:4])
			}
		}
		want(t, "reads", len(r.store.did("page")), 1)
		// What is made of a page lives as long as the page: a failed read keeps it, a new
		// page has its own.
		r.store.failNext("page", notDone)
		later(time.Minute)
		p, err := r.By(store.Dense).Top(t.Context(), "Kills", 0)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "the page before", ranksIn(p), []int64{1, 2, 2, 3, 3})
		r.submit("Kills", "u3", 20)
		r.flush()
		later(time.Minute)
		p, _ = r.By(store.Dense).Top(t.Context(), "Kills", 0)
		want(t, "the page now", ranksIn(p), []int64{1, 2, 2, 2, 3})
	})
}

// More than the cached page has is one read too, whatever the modes.
func TestDeepTopByEachMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {MaxEntries: 2}}})
		scores := []int64{30, 20, 20, 10, 10, 10, 5}
		r.submitScores("Kills", scores...)
		r.store.failAll("page", fault{delay: time.Second})
		got := make(chan store.Page, 3)
		for _, mode := range rankModes() {
			go func() {
				p, err := r.By(mode).Top(t.Context(), "Kills", 6)
				if err != nil {
					t.Error(err)
				}
				want(t, mode.String(), ranksIn(p), ranksOf(scores, mode)[:6])
				got <- p
			}()
		}
		for range 3 {
			<-got
		}
		want(t, "reads", len(r.store.did("page")), 1)
	})
}

func TestExactReadsByEachMode(t *testing.T) {
	// case B9
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		scores := []int64{30, 20, 20, 10, 10, 10, 5}
		r.submitScores("Kills", scores...)
		for _, mode := range rankModes() {
			ranks := ranksOf(scores, mode)
			v := r.By(mode)
			for i := range scores {
				st, ok, err := v.Standing(t.Context(), "Kills", fmt.Sprintf("u%d", i))
				if err != nil || !ok || st.Rank != ranks[i] {
					t.Fatalf("Standing of u%d by %v: %+v, %v, %v; want rank %d", i, mode, st, ok, err, ranks[i])
				}
				p, err := v.Around(t.Context(), "Kills", fmt.Sprintf("u%d", i), 2)
				if err != nil {
					t.Fatal(err)
				}
				want(t, fmt.Sprintf("around u%d by %v", i, mode), ranksIn(p), ranks[max(0, i-2):min(7, i+3)])
				p, err = v.Page(t.Context(), "Kills", int64(i), 3)
				if err != nil {
					t.Fatal(err)
				}
				want(t, fmt.Sprintf("page from %d by %v", i, mode), ranksIn(p), ranks[i:min(7, i+3)])
			}
		}
	})
}

// Reads in two modes are two reads, of one mode they are one.
func TestReadsAreSharedByMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.submitScores("Kills", 30, 20, 20)
		r.store.setRule(func(call) fault { return fault{delay: time.Second} })
		done := make(chan int64)
		for i := range 30 {
			go func() {
				st, _, err := r.By(rankModes()[i%3]).Standing(t.Context(), "Kills", "u2")
				if err != nil {
					t.Error(err)
				}
				done <- st.Rank
			}()
		}
		sum := int64(0)
		for range 30 {
			sum += <-done
		}
		want(t, "the sum of ranks", sum, 10*(3+2+2))
		want(t, "reads", len(r.store.did("standing")), 3)
	})
}

func TestViewRefusesAnotherMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		v := r.By(9)
		_, err := v.Top(t.Context(), "Kills", 0)
		wantRefused(t, err, "mode", store.ErrInvalid)
		_, _, err = v.Standing(t.Context(), "Kills", "u1")
		wantRefused(t, err, "mode", store.ErrInvalid)
		_, err = v.Around(t.Context(), "Kills", "u1", 1)
		wantRefused(t, err, "mode", store.ErrInvalid)
		_, err = v.Page(t.Context(), "Kills", 0, 1)
		wantRefused(t, err, "mode", store.ErrInvalid)
		_, err = v.Card(t.Context(), "Kills", "u1", 1)
		wantRefused(t, err, "mode", store.ErrInvalid)
		want(t, "reads", len(r.store.did("page"))+len(r.store.did("standing"))+len(r.store.did("around")), 0)
	})
}

func TestPercentile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		if p, ok, err := r.Percentile(t.Context(), "Kills", "u1"); ok || err != nil || p != (board.Percentile{}) {
			t.Fatalf("Percentile on a board that was never written: %+v, %v, %v", p, ok, err)
		}
		r.submitScores("Kills", 50, 40, 40, 40, 30, 20, 10, 10)
		for key, rank := range map[string]int64{"u0": 1, "u1": 2, "u2": 2, "u3": 2, "u4": 5, "u5": 6, "u6": 7, "u7": 7} {
			p, ok, err := r.Percentile(t.Context(), "Kills", key)
			if err != nil || !ok || p != (board.Percentile{Rank: rank, Total: 8, Top: 12.5 * float64(rank)}) {
				t.Fatalf("Percentile of %s: %+v, %v, %v", key, p, ok, err)
			}
		}
		if p, ok, err := r.Percentile(t.Context(), "Kills", "nobody"); ok || err != nil || p != (board.Percentile{Total: 8}) {
			t.Fatalf("Percentile of nobody: %+v, %v, %v", p, ok, err)
		}
		_, _, err := r.Percentile(t.Context(), "Kills", "a/b")
		wantRefused(t, err, "key", board.ErrName)
		r.store.failNext("around", notDone)
		if _, _, err := r.Percentile(t.Context(), "Kills", "u1"); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Percentile while the store is down: %v", err)
		}
	})
}
