package storetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

func ruleCases() []boardsCase {
	return []boardsCase{
		{"best keeps the better", bestKeeps},
		{"last keeps the newest", lastKeeps},
		{"last of the same stamp is harmless", lastRepeated},
		{"sum adds once for each source and number", sumCountsOnce},
		{"sum refuses what overflows, entry by entry", sumOverflows},
		{"rules on one board", rulesMixed},
		{"zero is a score", zeroIsScore},
		{"the limits of int64 are exact", limitsAreExact},
		{"the entries of a batch are in its order", batchInOrder},
		{"a batch of the largest size", largestBatch},
	}
}

// wantChange fails unless the only change is this one.
func wantChange(t *testing.T, got []store.Change, effect store.Effect, old, now int64) {
	t.Helper()
	if diff := cmp.Diff([]store.Change{{Effect: effect, Old: old, New: now}}, got); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
}

// bestKeeps works on negative scores as on others.
//
// case B7.
// case B13.
func bestKeeps(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, b, order.String(), order)
		sign := int64(1)
		if order == store.Ascending {
			sign = -1
		}
		wantChange(t, w.best(t, entry("k", -10*sign)), store.Created, 0, -10*sign)
		wantChange(t, w.best(t, entry("k", -5*sign)), store.Changed, -10*sign, -5*sign)
		reached := w.compare(t)[0]
		wantChange(t, w.best(t, entry("k", -5*sign)), store.Kept, -5*sign, -5*sign)
		wantChange(t, w.best(t, entry("k", -6*sign)), store.Kept, -5*sign, -5*sign)
		if diff := cmp.Diff([]store.Standing{reached}, w.compare(t)); diff != "" {
			t.Fatalf("after scores that are no better (-want +got):\n%s", diff)
		}
		wantChange(t, w.best(t, entry("k", 7*sign)), store.Changed, -5*sign, 7*sign)
		if now := w.compare(t)[0]; now.Sequence <= reached.Sequence {
			t.Fatalf("a better score has sequence %d, the one before %d", now.Sequence, reached.Sequence)
		}
	}
}

func lastKeeps(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	wantChange(t, w.last(t, stamped("k", 5, 2, 7)), store.Created, 0, 5)
	wantChange(t, w.last(t, stamped("k", 9, 2, 6)), store.Kept, 5, 5)    // older revision
	wantChange(t, w.last(t, stamped("k", 9, 1, 99)), store.Kept, 5, 5)   // older epoch
	wantChange(t, w.last(t, stamped("k", 3, 2, 8)), store.Changed, 5, 3) // worse, but newer
	wantChange(t, w.last(t, stamped("k", 4, 3, 1)), store.Changed, 3, 4) // epoch before revision
	wantChange(t, w.last(t, stamped("k", 3, 2, 9)), store.Kept, 4, 4)
	const most = math.MaxInt64
	wantChange(t, w.last(t, stamped("k", 1, most, most-1)), store.Changed, 4, 1)
	wantChange(t, w.last(t, stamped("k", 2, most, most)), store.Changed, 1, 2)
	wantChange(t, w.last(t, stamped("k", 3, most-1, most)), store.Kept, 2, 2)
	wantChange(t, w.last(t, stamped("zero", 3, 0, 0)), store.Created, 0, 3)
	wantChange(t, w.last(t, stamped("zero", 4, 0, 0)), store.Kept, 3, 3)
	wantChange(t, w.last(t, stamped("zero", 5, 0, 1)), store.Changed, 3, 5)
	w.compare(t)
}

// lastRepeated sends stamps again, and a newer one with the same score, which has to be
// remembered although nothing else changes.
func lastRepeated(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Ascending)
	w.last(t, stamped("a", 5, 1, 1))
	w.last(t, stamped("b", 5, 1, 1))
	for range 3 {
		wantChange(t, w.last(t, stamped("a", 5, 1, 1)), store.Kept, 5, 5)
		wantChange(t, w.last(t, stamped("a", 5, 1, 5)), store.Kept, 5, 5)
	}
	wantChange(t, w.last(t, stamped("a", 9, 1, 4)), store.Kept, 5, 5)
	w.wantOrder(t, "a b") // a reached 5 first, whatever came since
	wantChange(t, w.last(t, stamped("a", 9, 1, 6)), store.Changed, 5, 9)
	wantChange(t, w.last(t, stamped("a", 5, 1, 7)), store.Changed, 9, 5)
	w.wantOrder(t, "b a")
}

func sumCountsOnce(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	wantChange(t, w.sum(t, "node-1", 1, entry("k", 5)), store.Created, 0, 5)
	wantChange(t, w.sum(t, "node-1", 1, entry("k", 5)), store.Kept, 5, 5) // resent
	wantChange(t, w.sum(t, "node-1", 2, entry("k", -8)), store.Changed, 5, -3)
	wantChange(t, w.sum(t, "node-1", 1, entry("k", 5)), store.Kept, -3, -3) // late
	wantChange(t, w.sum(t, "node-2", 1, entry("k", 100)), store.Changed, -3, 97)
	wantChange(t, w.sum(t, "node-2", 9, entry("k", 1)), store.Changed, 97, 98) // a gap
	wantChange(t, w.sum(t, "node-2", 8, entry("k", 1)), store.Kept, 98, 98)
	wantChange(t, w.sum(t, "NODE-1", 1, entry("k", 2)), store.Changed, 98, 100) // another source
	wantChange(t, w.sum(t, "node-1", 3, entry("k", 0)), store.Kept, 100, 100)
	wantChange(t, w.sum(t, "node-1", 3, entry("new", 7)), store.Kept, 0, 0) // counted, whatever is in it
	wantChange(t, w.sum(t, "node-1", math.MaxInt64, entry("k", 1)), store.Changed, 100, 101)
	wantChange(t, w.sum(t, "node-1", math.MaxInt64-1, entry("k", 1)), store.Kept, 101, 101)
	w.compare(t)
	other := newTwin(t, w.boards, "another", store.Descending)
	wantChange(t, other.sum(t, "node-1", 1, entry("k", 5)), store.Created, 0, 5) // numbers are the board's
	w.compare(t)
	other.compare(t)
}

// sumOverflows refuses an entry; the others of the batch count, and the number is taken.
//
// case B13.
func sumOverflows(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.sum(t, "s", 1, entry("high", math.MaxInt64-1), entry("low", math.MinInt64+1), entry("other", 1))
	changes := w.sum(t, "s", 2, entry("high", 2), entry("low", -2), entry("other", 1), entry("new", 3))
	want := []store.Change{
		{Effect: store.Overflow, Old: math.MaxInt64 - 1, New: math.MaxInt64 - 1},
		{Effect: store.Overflow, Old: math.MinInt64 + 1, New: math.MinInt64 + 1},
		{Effect: store.Changed, Old: 1, New: 2},
		{Effect: store.Created, New: 3},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
	w.wantOrder(t, "high new other low")
	w.sum(t, "s", 2, entry("high", 2), entry("low", -2), entry("other", 1), entry("new", 3))
	wantChange(t, w.sum(t, "s", 3, entry("high", 1)), store.Changed, math.MaxInt64-1, math.MaxInt64)
	wantChange(t, w.sum(t, "s", 4, entry("high", 1)), store.Overflow, math.MaxInt64, math.MaxInt64)
	wantChange(t, w.sum(t, "s", 5, entry("high", math.MinInt64)), store.Changed, math.MaxInt64, -1)
	wantChange(t, w.sum(t, "s", 6, entry("low", -1)), store.Changed, math.MinInt64+1, math.MinInt64)
	wantChange(t, w.sum(t, "s", 7, entry("low", math.MinInt64)), store.Overflow, math.MinInt64, math.MinInt64)
	wantChange(t, w.sum(t, "s", 8, entry("low", math.MaxInt64)), store.Changed, math.MinInt64, -1)
	w.wantOrder(t, "new other high low")
}

// rulesMixed uses all rules on one entry: only Last knows stamps.
func rulesMixed(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.last(t, stamped("k", 10, 5, 5))
	wantChange(t, w.best(t, entry("k", 20)), store.Changed, 10, 20)
	wantChange(t, w.sum(t, "s", 1, entry("k", 1)), store.Changed, 20, 21)
	wantChange(t, w.last(t, stamped("k", 3, 5, 5)), store.Kept, 21, 21)
	wantChange(t, w.last(t, stamped("k", 3, 5, 6)), store.Changed, 21, 3)
	w.best(t, entry("new", 1))
	wantChange(t, w.last(t, stamped("new", 2, 0, 0)), store.Kept, 1, 1)
	wantChange(t, w.last(t, stamped("new", 2, 0, 1)), store.Changed, 1, 2)
	w.remove(t, "k")
	wantChange(t, w.last(t, stamped("k", 8, 1, 1)), store.Created, 0, 8) // its stamp went with it
	wantChange(t, w.sum(t, "s", 1, entry("k", 1)), store.Kept, 8, 8)     // the batch's number did not
	w.compare(t)
}

// zeroIsScore stores zeros under each rule and ranks them between 1 and -1.
//
// case B14.
func zeroIsScore(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	wantChange(t, w.best(t, entry("best", 0)), store.Created, 0, 0)
	wantChange(t, w.last(t, stamped("last", 0, 1, 1)), store.Created, 0, 0)
	wantChange(t, w.sum(t, "s", 1, entry("sum", 0)), store.Created, 0, 0)
	w.best(t, entry("one", 1), entry("minus", -1))
	wantChange(t, w.sum(t, "s", 2, entry("one", -1)), store.Changed, 1, 0)
	wantChange(t, w.best(t, entry("minus", 0)), store.Changed, -1, 0)
	w.wantOrder(t, "best last sum one minus")
}

// limitsAreExact ranks neighbours that are one number to a double.
//
// case B11.
func limitsAreExact(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	const double = 1 << 53
	scores := []int64{
		math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 2, 1<<62 + 1, 1 << 62, double + 3, double + 2, double + 1, double, double - 1,
		math.MaxInt32 + 1, math.MaxInt32, 1, 0, -1, math.MinInt32, math.MinInt32 - 1, -double + 1, -double, -double - 1, -double - 2, -double - 3,
		math.MinInt64 + 2, math.MinInt64 + 1, math.MinInt64,
	}
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, b, order.String(), order)
		for i := range scores { // neither sorted nor reversed
			n := i * 7 % len(scores)
			w.best(t, entry(fmt.Sprintf("key/%02d", n), scores[n]))
		}
		for i, s := range w.compare(t) {
			n := i
			if order == store.Ascending {
				n = len(scores) - 1 - i
			}
			if s.Score != scores[n] || s.Rank != int64(i)+1 {
				t.Fatalf("%s: standing %d is %d with rank %d, want %d with rank %d", order, i, s.Score, s.Rank, scores[n], i+1)
			}
		}
	}
	w := newTwin(t, b, "sums", store.Descending)
	w.sum(t, "s", 1, entry("k", double))
	for n := range uint64(5) {
		wantChange(t, w.sum(t, "s", n+2, entry("k", 1)), store.Changed, int64(double+n), int64(double+n+1))
	}
}

func batchInOrder(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Ascending)
	w.best(t, entry("c", 1), entry("a", 1), entry("d", 0), entry("b", 1))
	w.wantOrder(t, "d c a b")
	w.best(t, entry("b", 0), entry("x", 1), entry("c", 1), entry("a", 0)) // c is kept where it is
	w.wantOrder(t, "d b a c x")
	w.last(t, stamped("d", 1, 1, 1), stamped("a", 1, 1, 1), stamped("b", 1, 1, 1))
	w.wantOrder(t, "c x d a b")
	w.sum(t, "s", 1, entry("b", -1), entry("c", -1), entry("d", -1))
	w.wantOrder(t, "b c d x a")
}

func largestBatch(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	entries := make([]store.Submission, store.MaxMerge)
	for i := range entries {
		entries[i] = entry(fmt.Sprintf("key/%d", i*7919%store.MaxMerge), int64(i%100))
	}
	w.best(t, entries...)
	w.compare(t)
	for i := range entries {
		entries[i].Score = int64((i + 50) % 100)
	}
	w.best(t, entries...)
	w.compare(t)
}
