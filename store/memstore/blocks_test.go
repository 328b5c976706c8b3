package memstore_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store/memstore"
)

// compareBlocks compares the sequence with a sorted slice, at a few positions.
func compareBlocks(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, b *memstore.Blocks, want []int,
) {
	t.Helper()
	if got := b.From(0); !slices.Equal(got, want) || b.Len() != len(want) {
		t.Fatalf("it holds %d of %d items, want %d", len(got), b.Len(), len(want))
	}
	for _, at := range []int{1, len(want) / 3, len(want) - 1, len(want), len(want) + 5} {
		if at < 0 {
			continue
		}
		if got := b.From(at); !slices.Equal(got, want[min(at, len(want)):]) {
			t.Fatalf("from %d: %d items, want %d", at, len(got), max(0, len(want)-at))
		}
		if at < len(want) && b.Position(want[at]) != at {
			t.Fatalf("position of %d is %d, want %d", want[at], b.Position(want[at]), at)
		}
	}
	for _, size := range b.Sizes() {
		if size == 0 || size > memstore.BlockSize {
			t.Fatalf("a block holds %d items", size)
		}
	}
}

// frozenBlocks is a frozen sequence and what it has to hold for ever.
type frozenBlocks struct {
	read func() []int
	want []int
}

func TestBlocksAgainstSortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, want := memstore.NewBlocks(), []int(nil)
		var frozen []frozenBlocks
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				first, step := rapid.IntRange(0, 3000).Draw(t, "first"), rapid.IntRange(-7, 7).Draw(t, "step")
				for i := range rapid.IntRange(1, 400).Draw(t, "n") {
					n := first + i*step
					b.Insert(n)
					if at, found := slices.BinarySearch(want, n); !found {
						want = slices.Insert(want, at, n)
					}
				}
			},
			"remove": func(t *rapid.T) {
				first, step := rapid.IntRange(0, 3000).Draw(t, "first"), rapid.IntRange(-7, 7).Draw(t, "step")
				for i := range rapid.IntRange(1, 400).Draw(t, "n") {
					n := first + i*step
					at, found := slices.BinarySearch(want, n)
					if b.Remove(n) != found {
						t.Fatalf("Remove %d = %v, want %v", n, !found, found)
					}
					if found {
						want = slices.Delete(want, at, at+1)
					}
				}
			},
			"look": func(t *rapid.T) {
				n := rapid.IntRange(-10, 6000).Draw(t, "n")
				at, _ := slices.BinarySearch(want, n)
				if got := b.Position(n); got != at {
					t.Fatalf("position of %d is %d, want %d", n, got, at)
				}
			},
			"freeze": func(t *rapid.T) {
				frozen = append(frozen, frozenBlocks{b.Freeze(), slices.Clone(want)})
				if len(frozen) > 3 {
					frozen = frozen[1:]
				}
			},
			"": func(t *rapid.T) {
				compareBlocks(t, b, want)
				for i, f := range frozen {
					if got := f.read(); !slices.Equal(got, f.want) {
						t.Fatalf("frozen %d holds %d items, want %d as they were", i, len(got), len(f.want))
					}
				}
			},
		})
	})
}

// Whatever was inserted and removed before, blocks stay large enough that there are few.
func TestBlocksStayFew(t *testing.T) {
	const n = 50_000
	rng := rand.New(rand.NewPCG(1, 1))
	for name, order := range map[string]func() []int{
		"rising":  func() []int { return ascending(n) },
		"falling": func() []int { all := ascending(n); slices.Reverse(all); return all },
		"random":  func() []int { return rng.Perm(n) },
	} {
		t.Run(name, func(t *testing.T) {
			b := memstore.NewBlocks()
			for _, i := range order() {
				b.Insert(i)
			}
			if blocks := len(b.Sizes()); blocks > 2*n/memstore.BlockSize+1 {
				t.Errorf("%d items in %d blocks", n, blocks)
			}
			left := 0
			for _, i := range order() {
				if i%100 != 0 {
					b.Remove(i)
				} else {
					left++
				}
			}
			if blocks := len(b.Sizes()); blocks > 8*left/memstore.BlockSize+2 {
				t.Errorf("%d items left in %d blocks", left, blocks)
			}
			compareBlocks(t, b, stepped(n, 100))
		})
	}
}

func ascending(n int) []int { return stepped(n, 1) }

func stepped(n, step int) []int {
	var all []int
	for i := 0; i < n; i += step {
		all = append(all, i)
	}
	return all
}

func TestBlocksEmptyAgain(t *testing.T) {
	b := memstore.NewBlocks()
	for round := range 3 {
		for i := range 2000 {
			b.Insert(i * 7 % 2000)
		}
		b.Insert(5) // again
		for i := range 2000 {
			if !b.Remove(i*3%2000) || b.Remove(i*3%2000) {
				t.Fatalf("round %d: removal of %d", round, i*3%2000)
			}
		}
		compareBlocks(t, b, nil)
	}
}

// A frozen sequence costs a copy of each block that changes, once.
func TestBlocksAreCopiedOnce(t *testing.T) {
	b := memstore.NewBlocks()
	for i := range 5000 {
		b.Insert(2 * i)
	}
	if n := b.Shared(); n != 0 {
		t.Fatalf("%d blocks are shared with nobody", n)
	}
	b.Freeze()
	all := len(b.Sizes())
	for _, c := range []struct {
		do   func()
		left int
	}{
		{func() {}, all},
		{func() { b.Insert(1); b.Remove(3) }, all - 1},
		{func() { b.Insert(5); b.Remove(0) }, all - 1},
		{func() { b.Remove(2 * 4999) }, all - 2},
	} {
		if c.do(); b.Shared() != c.left {
			t.Fatalf("%d of %d blocks are shared, want %d", b.Shared(), all, c.left)
		}
	}
}
