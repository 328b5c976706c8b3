package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

func rankCases() []boardsCase {
	return []boardsCase{
		{"the example of the contract", rankExample},
		{"every offset, position and reach", ranksEverywhere},
		{"everybody tied", rankConstant},
		{"the limits of int64", rankLimits},
		{"the hidden and the removed take none", rankWithoutHidden},
		{"large boards", ranksOfLargeBoards},
	}
}

func rankModes() []store.RankMode {
	return []store.RankMode{store.Ordinal, store.Competition, store.Dense}
}

// rankExample has the ranks written down.
func rankExample(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, b, order.String(), order)
		for i, score := range []int64{30, 20, 20, 10} {
			if order == store.Ascending {
				score = -score
			}
			w.best(t, entry(fmt.Sprintf("key/%d", i), score))
		}
		for mode, want := range map[store.RankMode][]int64{store.Ordinal: {1, 2, 3, 4}, store.Competition: {1, 2, 2, 4}, store.Dense: {1, 2, 2, 3}} {
			page, err := b.Page(t.Context(), w.name, 0, 10, mode)
			ok(t, "Page", err)
			for i, s := range page.Entries {
				if s.Rank != want[i] {
					t.Errorf("%s, %s: rank of %s on the page is %d, want %d", order, mode, s.Key, s.Rank, want[i])
				}
				one, found, err := b.Standing(t.Context(), w.name, s.Key, mode)
				ok(t, "Standing", err)
				if !found || one.Rank != want[i] {
					t.Errorf("%s, %s: Standing of %s has rank %d, want %d", order, mode, s.Key, one.Rank, want[i])
				}
			}
		}
	}
}

// compareRanks compares every page, Standing and Around of the board in every mode with the
// ranks of the whole. The pages have each of the limits.
func compareRanks(t *testing.T, w *twin, limits []int) {
	t.Helper()
	whole := w.compare(t)
	for _, mode := range rankModes() {
		all := ranked(w, whole, mode)
		for at := range len(all) + 1 {
			for _, limit := range limits {
				page, err := w.boards.Page(t.Context(), w.name, int64(at), limit, mode)
				ok(t, "Page", err)
				wantSlice(t, fmt.Sprintf("%s Page at %d by %d", mode, at, limit), w, all, at, at+limit, page)
			}
		}
		for at := range all {
			compareRank(t, w, all, at, mode)
		}
	}
}

// ranked is the standings with the ranks that the model gives them.
func ranked(w *twin, whole []store.Standing, mode store.RankMode) []store.Standing {
	all := slices.Clone(whole)
	for i, s := range w.model.Ranked(mode) {
		all[i].Rank = s.Rank
	}
	return all
}

// compareRank compares the Standing of one entry, and what is around it.
func compareRank(t *testing.T, w *twin, all []store.Standing, at int, mode store.RankMode) {
	t.Helper()
	one, found, err := w.boards.Standing(t.Context(), w.name, all[at].Key, mode)
	ok(t, "Standing", err)
	if diff := cmp.Diff(all[at], one); diff != "" || !found {
		t.Fatalf("%s Standing of %s, found: %v (-want +got):\n%s", mode, all[at].Key, found, diff)
	}
	for _, n := range []int{0, 1, 4} {
		page, err := w.boards.Around(t.Context(), w.name, all[at].Key, n, mode)
		ok(t, "Around", err)
		wantSlice(t, fmt.Sprintf("%s, %d around place %d", mode, n, at), w, all, at-n, at+n+1, page)
	}
}

// wantSlice fails unless the page is all[from:to], clamped.
func wantSlice(t *testing.T, what string, w *twin, all []store.Standing, from, to int, page store.Page) { //nolint:revive // what a page is compared with
	t.Helper()
	from, to = max(0, from), min(to, len(all))
	want := store.Page{Entries: all[min(from, to):to], Total: int64(len(all)), Info: w.info}
	if to > from {
		want.Offset = int64(from)
	}
	same := want.Info == page.Info && want.Total == page.Total && want.Offset == page.Offset
	exactly := func(a, b store.Standing) bool { return alike(a, b) && a.Sequence == b.Sequence }
	if !same || !slices.EqualFunc(want.Entries, page.Entries, exactly) { // to describe a difference is dear
		t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, page, cmpopts.EquateEmpty()))
	}
}

func ranksEverywhere(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	for i, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, handles[i%len(handles)], order.String(), order)
		compareRanks(t, w, []int{0, 1, 5})
		for n := range 30 {
			w.best(t, entry(fmt.Sprintf("key/%02d", n*7%30), int64(n*11%30/4)))
		}
		compareRanks(t, w, []int{0, 1, 2, 7, store.MaxPage})
		w.sum(t, "s", 1, entry("key/00", 100), entry("key/07", -100), entry("key/14", 1), entry("key/21", -1)) // ties end and begin
		w.remove(t, "key/01", "key/02")
		compareRanks(t, w, []int{1, 3, store.MaxPage})
	}
}

// rankConstant has one score.
//
// case B9.
func rankConstant(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Ascending)
	var entries []store.Submission
	for i := range 40 {
		entries = append(entries, entry(fmt.Sprintf("key/%d", i*7%40), 0))
	}
	w.best(t, entries...)
	compareRanks(t, w, []int{1, 9, store.MaxPage})
	page, err := w.boards.Page(t.Context(), "board", 30, 10, store.Competition)
	ok(t, "Page", err)
	if page.Entries[0].Rank != 1 || page.Entries[9].Rank != 1 || page.Offset != 30 {
		t.Fatalf("the last of a constant board have ranks %d to %d at %d, want 1 and 1 at 30", page.Entries[0].Rank, page.Entries[9].Rank, page.Offset)
	}
}

// rankLimits ties at both ends of int64, and has neighbours that are one number to a double.
//
// case B11.
func rankLimits(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, b, order.String(), order)
		for round := range 3 {
			for i, score := range []int64{math.MaxInt64, math.MaxInt64 - 1, 1<<53 + 1, 1 << 53, 1, 0, -1, -1 << 53, -1<<53 - 1, math.MinInt64 + 1, math.MinInt64} {
				w.best(t, entry(fmt.Sprintf("key/%d/%d", round, i), score))
			}
		}
		compareRanks(t, w, []int{1, 4, store.MaxPage})
	}
}

func rankWithoutHidden(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	for i, score := range []int64{50, 40, 40, 40, 30, 20, 20, 10} {
		w.best(t, entry(fmt.Sprintf("key/%d", i), score))
	}
	for _, change := range []func(){
		func() { w.hide(t, true, "key/1") },           // one of three
		func() { w.hide(t, true, "key/4", "nobody") }, // the only one of a score
		func() { w.remove(t, "key/0", "key/4") },      // the best, and a hidden one
		func() { w.hide(t, true, "key/2", "key/3", "key/7") },
		func() { w.best(t, entry("key/4", 35), entry("key/2", 45)) }, // hidden ones get better
		func() { w.hide(t, false, "key/2", "key/4", "key/7") },
		func() { w.hide(t, true, "key/2", "key/4", "key/5", "key/6", "key/7") }, // everybody
	} {
		change()
		compareRanks(t, w, []int{1, 3, store.MaxPage})
	}
}

// ranksOfLargeBoards looks at some places of boards with many and with few ties.
//
// case B1.
func ranksOfLargeBoards(t *testing.T, h Harness[store.Boards]) {
	const size = 2500
	b := open(t, h)
	for _, scores := range []int64{3, 70, 2 * size / 3} {
		w := newTwin(t, b, fmt.Sprintf("board/%d", scores), store.Descending)
		rng := rand.New(rand.NewPCG(20, uint64(scores)))
		var entries []store.Submission
		for i := range size {
			entries = append(entries, entry(fmt.Sprintf("key/%d", i), rng.Int64N(scores)))
		}
		w.best(t, entries...)
		var keys []string
		for _, i := range rng.Perm(size)[:500] {
			keys = append(keys, entries[i].Key)
		}
		w.hide(t, true, keys...)
		w.hide(t, false, keys[:100]...)
		w.remove(t, keys[50:150]...)
		whole := w.compare(t)
		for _, mode := range rankModes() {
			all := ranked(w, whole, mode)
			for _, at := range append(rng.Perm(len(all))[:25], 0, 1, len(all)-1) {
				compareRank(t, w, all, at, mode)
				page, err := w.boards.Page(t.Context(), w.name, int64(at), 60, mode)
				ok(t, "Page", err)
				wantSlice(t, fmt.Sprintf("%s Page at %d of 60", mode, at), w, all, at, at+60, page)
			}
		}
	}
}
