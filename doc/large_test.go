package doc_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// Documents with trees of several levels: drafts that change nested values in
// place, differences and trails that step over what is shared, and sums that have
// to shrink again.
func TestLargeDocuments(t *testing.T) { rapid.Check(t, largeDocuments) }

func largeDocuments(t *rapid.T) {
	n := rapid.SampledFrom([]int{33, 100, 200, 1100}).Draw(t, "members")
	model := map[string]any{}
	for i := range n {
		model[memberName(i)] = map[string]any{"n": int64(i), "l": []any{int64(i), []any{}}}
	}
	base := doc.Must(model)
	draft, trail := doc.NewDraft(base), doc.Trail{}
	states := []doc.Value{base}
	for range rapid.IntRange(1, 8).Draw(t, "commits") {
		ops := rapid.SliceOfN(genLargeOp(n), 1, 12).Draw(t, "ops")
		if err := draft.Apply(ops...); err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			next, err := modelDo(model, op)
			if err != nil {
				t.Fatal(err)
			}
			model = next.(map[string]any)
		}
		now := draft.Value()
		trail.Add(states[len(states)-1], now)
		states = append(states, now)
	}
	now, stranger := states[len(states)-1], doc.Must(model)
	if err := doc.Check(now); err != nil {
		t.Fatal(err)
	}
	if !now.Equal(stranger) || !stranger.Equal(now) || now.Size() != stranger.Size() || now.Depth() != stranger.Depth() {
		t.Fatal("the draft is not what the model says")
	}
	if base.Equal(now) != (base.String() == now.String()) {
		t.Fatal("equality is not that of the encodings")
	}
	for _, other := range []doc.Value{now, stranger} {
		sameAfter(t, base, other, doc.Diff(base, other))
		sameAfter(t, other, base, doc.Diff(other, base))
		lands(t, "between", doc.EffectsBetween(base, other), base, other)
	}
	for i, s := range states {
		lands(t, fmt.Sprintf("state %d", i), trail.Effects(now), s, now)
	}
}

func memberName(i int) string { return fmt.Sprintf("k%05d", i*3) }

// genLargeOp makes operations that always fit: whatever is missing is made.
func genLargeOp(n int) *rapid.Generator[doc.Op] {
	return rapid.Custom(func(t *rapid.T) doc.Op {
		// Neighbours, so that nodes run empty; and names between those there are.
		at := doc.P(fmt.Sprintf("k%05d", rapid.IntRange(0, min(3*n, 300)).Draw(t, "member")))
		if rapid.Bool().Draw(t, "anywhere") {
			at = doc.P(memberName(rapid.IntRange(0, n+5).Draw(t, "known")))
		}
		v := rapid.SampledFrom([]doc.Value{doc.Int(1), nested(1), nested(5), doc.MustString("\n")}).Draw(t, "value")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return doc.Unset(at)
		case 1:
			return doc.Merge("", doc.MustObject(map[string]doc.Value{at.Last(): doc.MustObject(map[string]doc.Value{"m": v})}))
		case 2:
			return doc.Set(at, doc.MustObject(map[string]doc.Value{"l": doc.List(v)}))
		default:
			return doc.Merge("", doc.MustObject(map[string]doc.Value{at.Last(): doc.MustObject(map[string]doc.Value{"n": v, "l": doc.List(v, v)})}))
		}
	})
}

// Removing long stretches joins small nodes, and keeps the tree low.
func TestRemovingStretches(t *testing.T) {
	members := make(map[string]doc.Value)
	for i := range 20000 {
		members[memberName(i)] = doc.Int(int64(i))
	}
	d := doc.NewDraft(doc.MustObject(members))
	for i := range 20000 {
		if i%100 != 0 {
			if err := d.Apply(doc.Unset(doc.P(memberName(i)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	v := d.Value()
	check(t, v)
	if v.Len() != 200 || doc.Height(v) > 3 || doc.Nodes(v) > 30 {
		t.Fatalf("%d members in %d nodes and %d levels", v.Len(), doc.Nodes(v), doc.Height(v))
	}
	for i := range 180 {
		if err := d.Apply(doc.Unset(doc.P(memberName(i * 100)))); err != nil {
			t.Fatal(err)
		}
	}
	if v := d.Value(); v.Len() != 20 || doc.Nodes(v) > 3 {
		t.Fatalf("%d members in %d nodes", v.Len(), doc.Nodes(v))
	}
}

// What two values share is not looked at.
func TestSharedPartsAreSteppedOver(t *testing.T) {
	var items []doc.Value
	for i := range 30000 {
		items = append(items, doc.Int(int64(i)))
	}
	a := doc.List(items...)
	b, err := doc.Apply(a, doc.Set("/15000", doc.Null()))
	if err != nil {
		t.Fatal(err)
	}
	if n := doc.Visited(a, b); n > 32 {
		t.Errorf("%d items looked at for one that changed", n)
	}
}
