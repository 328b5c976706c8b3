package doc

import (
	"hash/maphash"
	"slices"
)

// maxDistance bounds the work of aligning two lists: when more items than this
// were put in or taken out, they are compared by position.
const maxDistance = 128

// align returns the runs in which two lists differ, in order, when as many items
// as possible are matched.
func align(left, right []Value) []run {
	all := run{0, len(left), 0, len(right)}
	if len(left) == 0 || len(right) == 0 || len(left) == 1 && len(right) == 1 {
		return []run{all}
	}
	a, b := classify(left, right)
	pairs, ok := longestCommon(a, b)
	if !ok {
		return byPosition(a, b)
	}
	var runs []run
	x, y := 0, 0
	for _, p := range append(pairs, pair{len(a), len(b)}) {
		if p.x > x || p.y > y {
			runs = append(runs, run{x, p.x, y, p.y})
		}
		x, y = p.x+1, p.y+1
	}
	return runs
}

// byPosition is the alignment that matches items at equal positions only.
func byPosition(a, b []int) []run {
	var runs []run
	common := min(len(a), len(b))
	for i := range common {
		if a[i] != b[i] {
			runs = append(runs, run{i, i + 1, i, i + 1})
		}
	}
	if len(a) != len(b) {
		runs = append(runs, run{common, len(a), common, len(b)})
	}
	return runs
}

// classify gives equal items equal numbers, so that each item is read once.
func classify(left, right []Value) (a, b []int) {
	var (
		seed    = maphash.MakeSeed()
		classes = make(map[uint64][]int, len(left))
		known   []Value
		text    []byte
	)
	class := func(v Value) int {
		text = v.AppendJSON(text[:0])
		sum := maphash.Bytes(seed, text)
		for _, c := range classes[sum] {
			if known[c].Equal(v) {
				return c
			}
		}
		known = append(known, v)
		classes[sum] = append(classes[sum], len(known)-1)
		return len(known) - 1
	}
	for _, v := range left {
		a = append(a, class(v))
	}
	for _, v := range right {
		b = append(b, class(v))
	}
	return a, b
}

// pair is a match of item x on the left with item y on the right.
type pair struct{ x, y int }

// longestCommon matches as many items as possible in order, by the greedy
// algorithm of Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).
// It gives up when the lists are more than maxDistance apart.
func longestCommon(a, b []int) ([]pair, bool) {
	// reach[k+off] is how far into a the diagonal x − y = k has come.
	limit := min(maxDistance, len(a)+len(b))
	off := limit + 1
	reach := make([]int, 2*limit+3)
	var steps [][]int // reach before each round, for the way back
	for d := range limit + 1 {
		steps = append(steps, slices.Clone(reach[off-d-1:off+d+2]))
		for k := -d; k <= d; k += 2 {
			x := furthest(reach, off, k, d)
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x++
				y++
			}
			reach[off+k] = x
			if x >= len(a) && y >= len(b) {
				return retrace(steps, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// furthest is where diagonal k begins in round d: one down from the diagonal
// above or one right from the one below, whichever comes further.
func furthest(reach []int, off, k, d int) int {
	if k == -d || k != d && reach[off+k-1] < reach[off+k+1] {
		return reach[off+k+1]
	}
	return reach[off+k-1] + 1
}

// retrace walks the rounds backwards and collects the matches.
func retrace(steps [][]int, x, y int) []pair {
	var pairs []pair
	for d := len(steps) - 1; d >= 0; d-- {
		k, off := x-y, d+1
		startX := 0
		if d > 0 {
			startX = furthest(steps[d], off, k, d)
		}
		for x > startX && y > startX-k {
			x--
			y--
			pairs = append(pairs, pair{x, y})
		}
		if d == 0 {
			break
		}
		// Undo the one step that was no match.
		if k == -d || k != d && steps[d][off+k-1] < steps[d][off+k+1] {
			y--
		} else {
			x--
		}
	}
	slices.Reverse(pairs)
	return pairs
}
