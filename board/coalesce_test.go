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
		got, _, fits := board.Coalesce(c.rule, c.order, c.waits, c.next, c.waitsAt, c.nextAt)
		if got != c.want || fits != c.fits {
			t.Errorf("%s: %d, %v, want %d, %v", c.what, got, fits, c.want, c.fits)
		}
	}
}

// What waits does not depend on the order in which submits came.
func TestCoalesceCommutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]store.Rule{store.Best, store.Last, store.Sum}).Draw(t, "rule")
		order := rapid.SampledFrom([]store.Order{store.Ascending, store.Descending}).Draw(t, "order")
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		at := store.Stamp{Epoch: rapid.Uint64Range(0, 3).Draw(t, "epoch"), Revision: 1}
		bt := store.Stamp{Epoch: at.Epoch, Revision: 2 + rapid.Uint64().Draw(t, "revision")%9}
		x, xt, xf := board.Coalesce(rule, order, a, b, at, bt)
		y, yt, yf := board.Coalesce(rule, order, b, a, bt, at)
		if xf != yf || xf && x != y || rule == store.Last && xt != yt {
			t.Fatalf("%v %v: %d after %d gives %d %v, the other way %d %v", rule, order, b, a, x, xf, y, yf)
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
