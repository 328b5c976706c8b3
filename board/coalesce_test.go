package board_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func TestCoalesce(t *testing.T) {
	old, young := store.Stamp{Epoch: 1, Revision: 9}, store.Stamp{Epoch: 2, Revision: 1}
	for _, c := range []struct {
		what            string
		rule            store.Rule
		order           store.Order
		waits, next     int64
		waitsAt, nextAt store.Stamp
		want            int64
		fits            bool
	}{
		{"best, larger first, better", store.Best, store.Descending, 5, 7, store.Stamp{}, store.Stamp{}, 7, true},
		{"best, larger first, worse", store.Best, store.Descending, 7, 5, store.Stamp{}, store.Stamp{}, 7, true},
		{"best, smaller first, better", store.Best, store.Ascending, 7, 5, store.Stamp{}, store.Stamp{}, 5, true},
		{"best, smaller first, worse", store.Best, store.Ascending, 5, 7, store.Stamp{}, store.Stamp{}, 5, true},
		{"best at the ends", store.Best, store.Descending, math.MinInt64, math.MaxInt64, store.Stamp{}, store.Stamp{}, math.MaxInt64, true},
		{"last, newer", store.Last, store.Descending, 9, 1, old, young, 1, true},
		{"last, older comes later", store.Last, store.Descending, 9, 1, young, old, 9, true},
		{"last, the same stamp", store.Last, store.Descending, 9, 1, old, old, 9, true},
		{"sum", store.Sum, store.Descending, 9, -11, store.Stamp{}, store.Stamp{}, -2, true},
		{"sum to the edge", store.Sum, store.Descending, math.MaxInt64 - 1, 1, store.Stamp{}, store.Stamp{}, math.MaxInt64, true},
		{"sum over it", store.Sum, store.Descending, math.MaxInt64, 1, store.Stamp{}, store.Stamp{}, math.MaxInt64, false},
		{"sum under it", store.Sum, store.Descending, math.MinInt64, -1, store.Stamp{}, store.Stamp{}, math.MinInt64, false},
	} {
		got, fits := board.Coalesce(c.rule, c.order, board.Value{Score: c.waits, Stamp: c.waitsAt}, board.Value{Score: c.next, Stamp: c.nextAt})
		if got.Score != c.want || fits != c.fits {
			t.Errorf("%s: %d, %v, want %d, %v", c.what, got.Score, fits, c.want, c.fits)
		}
	}
}

// What waits does not depend on the order in which submits came.
func TestCoalesceCommutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]store.Rule{store.Best, store.Last, store.Sum}).Draw(t, "rule")
		order := rapid.SampledFrom([]store.Order{store.Ascending, store.Descending}).Draw(t, "order")
		a, b := board.Value{Score: rapid.Int64().Draw(t, "a")}, board.Value{Score: rapid.Int64().Draw(t, "b")}
		a.Stamp = store.Stamp{Epoch: rapid.Uint64Range(0, 3).Draw(t, "epoch"), Revision: 1}
		b.Stamp = store.Stamp{Epoch: a.Stamp.Epoch, Revision: 2 + rapid.Uint64Range(0, 9).Draw(t, "revision")}
		x, xFits := board.Coalesce(rule, order, a, b)
		y, yFits := board.Coalesce(rule, order, b, a)
		if xFits != yFits || xFits && x.Score != y.Score || rule == store.Last && x != y {
			t.Fatalf("%v %v: %v after %v gives %v %v, the other way %v %v", rule, order, b, a, x, xFits, y, yFits)
		}
	})
}

func TestAddEqualsBigArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		exact := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		got, fits := board.Add(a, b)
		if fits != exact.IsInt64() || fits && got != exact.Int64() {
			t.Fatalf("%d + %d = %d, %v, want %v", a, b, got, fits, exact)
		}
	})
}
