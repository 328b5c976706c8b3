package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

func largeCases() []boardsCase {
	return []boardsCase{
		{"everybody tied", func(t *testing.T, h Harness[store.Boards]) {
			largeBoard(t, h, func(*rand.Rand, int) int64 { return 7 })
		}},
		{"two clusters", func(t *testing.T, h Harness[store.Boards]) {
			largeBoard(t, h, func(rng *rand.Rand, _ int) int64 { return rng.Int64N(2)*1_000_000_000 + rng.Int64N(20) })
		}},
		{"all of int64", func(t *testing.T, h Harness[store.Boards]) {
			largeBoard(t, h, func(rng *rand.Rand, _ int) int64 { return int64(rng.Uint64()) })
		}},
		{"each better than the one before", func(t *testing.T, h Harness[store.Boards]) {
			largeBoard(t, h, func(_ *rand.Rand, i int) int64 { return int64(i) })
		}},
		{"each worse than the one before", func(t *testing.T, h Harness[store.Boards]) {
			largeBoard(t, h, func(_ *rand.Rand, i int) int64 { return -int64(i) })
		}},
	}
}

// largeBoard fills a board with scores of one distribution, changes many of them, removes
// half, and fills it again: at each stage every rank equals a full sort.
func largeBoard(t *testing.T, h Harness[store.Boards], score func(rng *rand.Rand, i int) int64) {
	const size, chunk = 3000, 500
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	rng := rand.New(rand.NewPCG(8, 9))
	key := func(i int) string { return fmt.Sprintf("player/%05d", i*7919%size) }
	n := 0
	fill := func(from, to int) {
		for first := from; first < to; first += chunk {
			var batch []store.Submission
			for i := first; i < min(first+chunk, to); i++ {
				n++
				batch = append(batch, stamped(key(i), score(rng, n), 1, uint64(n)))
			}
			w.boards = handles[first/chunk%len(handles)]
			w.last(t, batch...)
		}
	}
	fill(0, size)
	compareSample(t, w, rng)
	fill(size/3, 2*size/3) // the middle third moves
	compareSample(t, w, rng)
	for i := 0; i < size; i += 2 * store.MaxPage {
		var keys []string
		for j := i; j < min(i+2*store.MaxPage, size); j += 2 {
			keys = append(keys, key(j))
		}
		w.remove(t, keys...)
	}
	compareSample(t, w, rng)
	fill(0, size)
	compareSample(t, w, rng)
}

// compareSample compares the whole board with the model, and for a hundred entries their
// Standing, and for some what is around them.
func compareSample(t *testing.T, w *twin, rng *rand.Rand) {
	t.Helper()
	all := w.compare(t)
	picks := append(rng.Perm(len(all))[:100], 0, 1, len(all)/2, len(all)-2, len(all)-1)
	for i, at := range picks {
		compareOne(t, w, all[at])
		if i%10 != 0 {
			continue
		}
		page, err := w.boards.Around(t.Context(), w.name, all[at].Key, 5, store.Ordinal)
		ok(t, "Around", err)
		if diff := cmp.Diff(all[max(0, at-5):min(len(all), at+6)], page.Entries); diff != "" {
			t.Fatalf("5 around rank %d (-want +got):\n%s", at+1, diff)
		}
		deep, err := w.boards.Page(t.Context(), w.name, int64(at), 3, store.Ordinal)
		ok(t, "Page", err)
		if !slices.EqualFunc(deep.Entries, all[at:min(len(all), at+3)], func(a, b store.Standing) bool { return a.Key == b.Key && a.Rank == b.Rank }) {
			t.Fatalf("Page at %d has %s, want %s", at, keysOf(deep.Entries), keysOf(all[at:min(len(all), at+3)]))
		}
	}
}
