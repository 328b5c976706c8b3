package doc_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// lcs is the length of the longest common subsequence, by the textbook table.
func lcs(a, b []int) int {
	above := make([]int, len(b)+1)
	for i := range a {
		row := make([]int, len(b)+1)
		for j := range b {
			if a[i] == b[j] {
				row[j+1] = above[j] + 1
			} else {
				row[j+1] = max(row[j], above[j+1])
			}
		}
		above = row
	}
	return above[len(b)]
}

// The alignment matches as many items as possible, in order, and equal ones only;
// it gives up exactly when the lists are too far apart.
func TestAlignmentIsLongest(t *testing.T) { rapid.Check(t, alignmentIsLongest) }

func alignmentIsLongest(t *rapid.T) {
	class := rapid.IntRange(0, rapid.SampledFrom([]int{1, 3, 50}).Draw(t, "classes"))
	a := rapid.SliceOfN(class, 0, 120).Draw(t, "a")
	b := rapid.SliceOfN(class, 0, 120).Draw(t, "b")
	pairs, ok := doc.LongestCommon(a, b)
	want := lcs(a, b)
	distance := len(a) + len(b) - 2*want
	if ok != (distance <= doc.MaxDistance) {
		t.Fatalf("found %v at distance %d", ok, distance)
	}
	if !ok {
		return
	}
	if len(pairs) != want {
		t.Fatalf("%d matches, %d are possible", len(pairs), want)
	}
	last := [2]int{-1, -1}
	for _, p := range pairs {
		if p[0] <= last[0] || p[1] <= last[1] {
			t.Fatalf("match %v after %v", p, last)
		}
		if a[p[0]] != b[p[1]] {
			t.Fatalf("match %v of %d and %d", p, a[p[0]], b[p[1]])
		}
		last = p
	}
}

// The edits of two lists of scalars are as few items as the distance allows.
func TestDiffOfScalarListsIsShort(t *testing.T) { rapid.Check(t, diffOfScalarListsIsShort) }

func diffOfScalarListsIsShort(t *rapid.T) {
	class := rapid.IntRange(0, 4)
	a := rapid.SliceOfN(class, 0, 40).Draw(t, "a")
	b := rapid.SliceOfN(class, 0, 40).Draw(t, "b")
	distance := len(a) + len(b) - 2*lcs(a, b)
	moved := 0
	for _, e := range doc.Diff(doc.Must(a), doc.Must(b)) {
		if e.Kind == doc.EditSet {
			moved += 2 // one item out, one in
		} else {
			moved += e.Remove + e.Value.Len()
		}
	}
	if moved != distance {
		t.Fatalf("%v to %v: edits move %d items, %d are needed", a, b, moved, distance)
	}
}
