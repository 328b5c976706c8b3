package season_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/season"
)

// Through moves over closed seasons only, and what is marked is exactly what was given.
func TestProcessedIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(-1, 5).Draw(t, "through")
		p := season.Processed{Through: from}
		model := make(map[int64]bool)
		first := int64(0)
		for _, k := range rapid.SliceOf(rapid.Int64Range(0, 40)).Draw(t, "seasons") {
			if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
				first = max(first, k)
				p = p.From(k)
			} else {
				model[k] = true
				p = p.Mark(k)
			}
			for k := range int64(45) {
				if want := k <= from || k < first || model[k]; p.Has(k) != want {
					t.Fatalf("%+v: Has(%d) = %v, want %v", p, k, p.Has(k), want)
				}
			}
			if !slices.IsSorted(p.Extra) || len(p.Extra) > 0 && p.Extra[0] <= p.Through+1 {
				t.Fatalf("%+v is not in its shortest form", p)
			}
			if back, ok := season.ReadProcessed(p.Stored()); !ok || back.Through != p.Through || !slices.Equal(back.Extra, p.Extra) {
				t.Fatalf("%+v is read back as %+v, %v", p, back, ok)
			}
		}
	})
}

func TestProcessedExtraIsBounded(t *testing.T) {
	p := season.Processed{Through: -1}
	for k := int64(1); k < 1000; k++ {
		p = p.Mark(k) // season 0 stays open
	}
	if len(p.Extra) != 256 || p.Through != -1 || p.Has(257) || !p.Full(257) || p.Full(0) {
		t.Fatalf("%d extra, through %d, has 257: %v", len(p.Extra), p.Through, p.Has(257))
	}
	if p = p.Mark(0); p.Through != 256 || p.Extra != nil {
		t.Fatalf("after the gap closed: %+v, want through 256", p)
	}
	if p = p.Mark(257); p.Through != 257 {
		t.Fatalf("a season that was full is not taken later: %+v", p)
	}
}
