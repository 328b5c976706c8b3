package doc_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// Long lists are changed anywhere and stay what a slice would be, with sound trees.
func TestListsMatchSlices(t *testing.T) { rapid.Check(t, listsMatchSlices) }

func listsMatchSlices(t *rapid.T) {
	n := rapid.SampledFrom([]int{0, 1, 31, 32, 33, 64, 1000, 1100}).Draw(t, "length")
	want := make([]doc.Value, n)
	for i := range want {
		want[i] = doc.Int(int64(i))
	}
	v := doc.List(want...)
	old, oldWant := v, slices.Clone(want)
	for step := range rapid.IntRange(1, 80).Draw(t, "steps") {
		at := rapid.IntRange(0, max(0, len(want)-1)).Draw(t, "at")
		item := doc.Int(int64(-step))
		var op doc.Op
		switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
		case kind == 0 || len(want) == 0:
			many := slices.Repeat([]doc.Value{item}, rapid.SampledFrom([]int{1, 2, 33, 70}).Draw(t, "many"))
			op, want = doc.AppendTo("", many...), slices.Concat(want, many)
		case kind == 1:
			op, want = doc.InsertAt("", at, item), slices.Insert(want, at, item)
		case kind == 2:
			op = doc.Set(doc.Path{}.AppendIndex(at), item)
			want[at] = item
		default:
			op, want = doc.RemoveAt("", at), slices.Delete(want, at, at+1)
		}
		var err error
		if v, err = doc.Apply(v, op); err != nil {
			t.Fatal(err)
		}
	}
	sameItems(t, v, want)
	sameItems(t, old, oldWant)
}

func sameItems(t *rapid.T, v doc.Value, want []doc.Value) {
	if err := doc.Check(v); err != nil {
		t.Fatal(err)
	}
	if v.Len() != len(want) {
		t.Fatalf("%d items, want %d", v.Len(), len(want))
	}
	for i, item := range v.Items() {
		if !item.Equal(want[i]) || !v.Index(i).Equal(want[i]) {
			t.Fatalf("item %d is %s, want %s", i, item, want[i])
		}
	}
}

// Large objects are changed anywhere and stay what a map would be.
func TestObjectsMatchMaps(t *testing.T) { rapid.Check(t, objectsMatchMaps) }

func objectsMatchMaps(t *rapid.T) {
	want := make(map[string]doc.Value)
	for i := range rapid.SampledFrom([]int{0, 1, 32, 33, 1025, 3000}).Draw(t, "members") {
		want[fmt.Sprintf("k%04d", i*2)] = doc.Int(int64(i))
	}
	v := doc.MustObject(want)
	draft := doc.NewDraft(v)
	name := rapid.Map(rapid.IntRange(0, 6001), func(i int) string { return fmt.Sprintf("k%04d", i) })
	for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
		at := doc.P(name.Draw(t, "name"))
		op := doc.Set(at, doc.Int(int64(-step)))
		want[at.Last()] = op.Value
		if rapid.Bool().Draw(t, "unset") {
			op = doc.Unset(at)
			delete(want, at.Last())
		}
		if err := draft.Apply(op); err != nil {
			t.Fatal(err)
		}
	}
	if got := draft.Value(); !got.Equal(doc.MustObject(want)) {
		t.Fatalf("%s is not what the map holds", got)
	}
	if err := doc.Check(draft.Value()); err != nil {
		t.Fatal(err)
	}
	if draft.Reset(); !draft.Value().Equal(v) {
		t.Fatal("the base changed")
	}
}

// A list emptied one by one ends as an empty list, from either end.
func TestListsShrinkToNothing(t *testing.T) {
	for _, fromEnd := range []bool{false, true} {
		v := doc.List(slices.Repeat([]doc.Value{doc.Int(7)}, 5000)...)
		if doc.Height(v) != 3 {
			t.Fatalf("5000 items make %d levels", doc.Height(v))
		}
		for v.Len() > 0 {
			at := 0
			if fromEnd {
				at = v.Len() - 1
			}
			v, _ = doc.Apply(v, doc.RemoveAt("", at))
			if v.Len()%500 == 0 {
				check(t, v)
			}
		}
		if v.String() != "[]" || doc.Height(v) != 0 {
			t.Fatalf("left %s with %d levels", v, doc.Height(v))
		}
	}
}

// Appending keeps the tree dense: a million single appends are not needed to see it.
func TestAppendingFillsNodes(t *testing.T) {
	d := doc.NewDraft(doc.List())
	for i := range 32 * 32 {
		if err := d.Apply(doc.AppendTo("", doc.Int(int64(i)))); err != nil {
			t.Fatal(err)
		}
	}
	if v := d.Value(); doc.Height(v) != 2 {
		t.Fatalf("1024 appended items make %d levels, want 2", doc.Height(v))
	}
}
