package doc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// texts writes edits as people read them.
func texts(tb testing.TB, edits []doc.Edit) []string {
	tb.Helper()
	var out []string
	for _, e := range edits {
		text, err := e.MarshalJSON()
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

func TestDiffOfObjectsAndScalars(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want []string
	}{
		{`1`, `1`, nil},
		{`1`, `1.0`, []string{`{"edit":"set","path":"","value":1.0}`}},
		{`{"a":1}`, `{"a":1}`, nil},
		{`{"a":1,"b":2,"c":3}`, `{"a":1,"b":5,"d":4}`, []string{
			`{"edit":"set","path":"/b","value":5}`,
			`{"edit":"unset","path":"/c"}`,
			`{"edit":"set","path":"/d","value":4}`,
		}},
		{`{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, []string{`{"edit":"set","path":"/a/b/c","value":2}`}},
		{`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, []string{`{"edit":"set","path":"/a~1b/~0","value":2}`}},
		{`{"a":[]}`, `{"a":{}}`, []string{`{"edit":"set","path":"/a","value":{}}`}},
	} {
		if diff := cmp.Diff(tc.want, texts(t, doc.Diff(parse(t, tc.a), parse(t, tc.b)))); diff != "" {
			t.Errorf("%s to %s: %s", tc.a, tc.b, diff)
		}
	}
}

func TestDiffAlignsLists(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want []string
	}{
		{`[1,2,3]`, `[1,3]`, []string{`{"edit":"splice","index":1,"insert":[],"path":"","remove":1}`}},
		{`[1,3]`, `[1,2,3]`, []string{`{"edit":"splice","index":1,"insert":[2],"path":"","remove":0}`}},
		{`[1,1]`, `[1,1,1]`, []string{`{"edit":"splice","index":2,"insert":[1],"path":"","remove":0}`}},
		{`[1,2,3]`, `[1,9,3]`, []string{`{"edit":"set","path":"/1","value":9}`}},
		{`[{"n":1,"id":"a"},{"n":1,"id":"b"}]`, `[{"n":1,"id":"a"},{"n":2,"id":"b"}]`, []string{
			`{"edit":"set","path":"/1/n","value":2}`,
		}},
		{`[1,2,3,4,5]`, `[2,3,9,5,6]`, []string{
			`{"edit":"splice","index":5,"insert":[6],"path":"","remove":0}`,
			`{"edit":"set","path":"/3","value":9}`,
			`{"edit":"splice","index":0,"insert":[],"path":"","remove":1}`,
		}},
		{`[{"a":1,"b":2,"c":3}]`, `[{"x":1}]`, []string{`{"edit":"set","path":"/0","value":{"x":1}}`}},
	} {
		if diff := cmp.Diff(tc.want, texts(t, doc.Diff(parse(t, tc.a), parse(t, tc.b)))); diff != "" {
			t.Errorf("%s to %s: %s", tc.a, tc.b, diff)
		}
	}
}

// Taking one of fifty items out is one edit, wherever it is and however large the items.
func TestDiffOfOneOfFiftyIsOneEdit(t *testing.T) {
	var items []any
	for i := range 50 {
		items = append(items, map[string]any{"id": i, "rest": []any{i, "x"}})
	}
	a := doc.Must(map[string]any{"bag": items})
	for i := range 50 {
		b := doc.Must(map[string]any{"bag": slices.Delete(slices.Clone(items), i, i+1)})
		for _, way := range [][2]doc.Value{{a, b}, {b, a}} {
			edits := doc.Diff(way[0], way[1])
			if len(edits) != 1 {
				t.Fatalf("item %d: %d edits, want 1: %s", i, len(edits), texts(t, edits))
			}
			if got, err := doc.ApplyEdits(way[0], edits); err != nil || !got.Equal(way[1]) {
				t.Fatalf("item %d: applied: %v", i, err)
			}
		}
	}
}

// Lists that have nothing in common, and are too long to align, still come out right.
func TestDiffOfLongStrangersFallsBack(t *testing.T) {
	var a, b []any
	for i := range 3000 {
		a = append(a, i)
		b = append(b, -i-1)
	}
	b = append(b, "one more")
	x, y := doc.Must(a), doc.Must(b)
	got, err := doc.ApplyEdits(x, doc.Diff(x, y))
	if err != nil || !got.Equal(y) {
		t.Fatalf("applied: %v", err)
	}
	check(t, got)

	// A hundred insertions are found as such; two hundred are not worth the search.
	for inserted, most := range map[int]int{100: 100, 200: 3300} {
		var c []any
		for i, item := range a {
			if i%(len(a)/inserted) == 0 {
				c = append(c, "new")
			}
			c = append(c, item)
		}
		z := doc.Must(c)
		edits := doc.Diff(x, z)
		if len(edits) > most || inserted == 200 && len(edits) < 1000 {
			t.Errorf("%d insertions are %d edits", inserted, len(edits))
		}
		if got, err := doc.ApplyEdits(x, edits); err != nil || !got.Equal(z) {
			t.Errorf("%d insertions: %v", inserted, err)
		}
	}
}

// The difference of two values applied to the first is the second, on unrelated
// values and on two states of one history, and again after the wire.
func TestDiffThenApplyIsIdentity(t *testing.T) { rapid.Check(t, diffThenApplyIsIdentity) }

func diffThenApplyIsIdentity(t *rapid.T) {
	model := genTree(3).Draw(t, "a")
	a, b := doc.Must(model), doc.Must(genTree(3).Draw(t, "b"))
	if rapid.Bool().Draw(t, "history") {
		b = history(t, a, model, 6)
	}
	edits := doc.Diff(a, b)
	if a.Equal(b) != (len(edits) == 0) {
		t.Fatalf("%d edits between %s and %s", len(edits), a, b)
	}
	sameAfter(t, a, b, edits)
	wire, err := json.Marshal(edits)
	if err != nil {
		t.Fatal(err)
	}
	var back []doc.Edit
	if err := json.Unmarshal(wire, &back); err != nil {
		t.Fatalf("%s: %v", wire, err)
	}
	sameAfter(t, a, b, back)
}

func sameAfter(t *rapid.T, a, b doc.Value, edits []doc.Edit) {
	got, err := doc.ApplyEdits(a, edits)
	if err != nil || !got.Equal(b) {
		t.Fatalf("%s + %s = %s (%v), want %s", a, edits, got, err, b)
	}
	if err := doc.Check(got); err != nil {
		t.Fatal(err)
	}
}

// history applies some operations that fit and returns the last state.
func history(t *rapid.T, v doc.Value, model any, steps int) doc.Value {
	for range steps {
		op := genOp(model).Draw(t, "op")
		if next, err := modelApply(model, op); err == nil {
			model = next
			v, _ = doc.Apply(v, op)
		}
	}
	return v
}

// Long lists with a few changes: the work of alignment is exercised in all sizes.
func TestDiffOfLongLists(t *testing.T) { rapid.Check(t, diffOfLongLists) }

func diffOfLongLists(t *rapid.T) {
	n := rapid.SampledFrom([]int{0, 5, 40, 400}).Draw(t, "length")
	var items []doc.Value
	for range n {
		items = append(items, doc.Int(rapid.Int64Range(0, 9).Draw(t, "item")))
	}
	a := doc.List(items...)
	for range rapid.IntRange(0, 90).Draw(t, "changes") {
		at := rapid.IntRange(0, len(items)).Draw(t, "at")
		if at < len(items) && rapid.Bool().Draw(t, "remove") {
			items = slices.Delete(items, at, at+1)
		} else {
			items = slices.Insert(items, at, doc.Int(rapid.Int64Range(0, 9).Draw(t, "new")))
		}
	}
	b := doc.List(items...)
	sameAfter(t, a, b, doc.Diff(a, b))
}

func TestApplyEditsRefusesWhatDoesNotFit(t *testing.T) {
	v := parse(t, `{"a":{"b":1},"l":[1,2]}`)
	set := func(kind doc.EditKind, path string) doc.Edit {
		return doc.Edit{Kind: kind, Path: doc.MustPath(path), Value: doc.List()}
	}
	for _, tc := range []struct {
		edit doc.Edit
		want error
	}{
		{set(doc.EditSet, "/x/y"), doc.ErrNoPath},
		{set(doc.EditSet, "/l/2"), doc.ErrIndex},
		{set(doc.EditSet, "/l/-"), doc.ErrIndex},
		{set(doc.EditSet, "/a/b/c"), doc.ErrWrongType},
		{set(doc.EditUnset, "/x"), doc.ErrNoPath},
		{set(doc.EditUnset, "/l/0"), doc.ErrWrongType},
		{set(doc.EditUnset, ""), doc.ErrBadPath},
		{set(doc.EditSplice, "/a"), doc.ErrWrongType},
		{set(0, "/a"), doc.ErrBadOp},
		{doc.Edit{Kind: doc.EditSplice, Path: doc.P("l"), Index: 1, Remove: 2, Value: doc.List()}, doc.ErrIndex},
		{doc.Edit{Kind: doc.EditSplice, Path: doc.P("l"), Index: -1, Value: doc.List()}, doc.ErrIndex},
		{doc.Edit{Kind: doc.EditSplice, Path: doc.P("l"), Remove: -1, Value: doc.List()}, doc.ErrIndex},
		{doc.Edit{Kind: doc.EditSet, Path: doc.P("a"), Value: nested(doc.DefaultMaxDepth)}, doc.ErrTooDeep},
	} {
		good := doc.Edit{Kind: doc.EditSet, Path: doc.P("a"), Value: doc.MustObject(map[string]doc.Value{"b": doc.Int(2)})}
		got, err := doc.ApplyEdits(v, []doc.Edit{good, tc.edit})
		var at *doc.EditError
		if !errors.Is(err, tc.want) || !errors.As(err, &at) || at.Index != 1 || !at.Path.Equal(tc.edit.Path) {
			t.Errorf("%v %s: error %v, want %v", tc.edit.Kind, tc.edit.Path, err, tc.want)
		}
		if !got.Equal(v) {
			t.Errorf("%v %s: half applied: %s", tc.edit.Kind, tc.edit.Path, got)
		}
	}
}

func nested(depth int) doc.Value {
	v := doc.Int(1)
	for range depth {
		v = doc.List(v)
	}
	return v
}

func TestEditJSONIsStrict(t *testing.T) {
	for _, text := range []string{
		`[]`, `{}`, `{"edit":"set"}`, `{"edit":"set","path":"/a"}`, `{"edit":"zap","path":""}`,
		`{"edit":"set","path":"a","value":1}`, `{"edit":"set","path":"","value":1,"extra":1}`,
		`{"edit":"unset","path":"/a","value":1}`, `{"edit":"set","path":1,"value":1}`,
		`{"edit":"splice","path":"","index":0,"remove":0}`,
		`{"edit":"splice","path":"","index":-1,"remove":0,"insert":[]}`,
		`{"edit":"splice","path":"","index":0,"remove":1.0,"insert":[]}`,
		`{"edit":"splice","path":"","index":0,"remove":1,"insert":{}}`,
	} {
		var e doc.Edit
		if err := e.UnmarshalJSON([]byte(text)); !errors.Is(err, doc.ErrBadOp) {
			t.Errorf("%s: error %v, want ErrBadOp", text, err)
		}
	}
	if _, err := (doc.Edit{}).MarshalJSON(); !errors.Is(err, doc.ErrBadOp) {
		t.Errorf("the zero Edit was encoded: %v", err)
	}
}

func TestKindsHaveNames(t *testing.T) {
	got := fmt.Sprint(doc.EditSet, doc.EditUnset, doc.EditSplice, doc.EditKind(0),
		doc.EffectSet, doc.EffectUnset, doc.EffectTail, doc.EffectKind(9),
		doc.KindNull, doc.KindBool, doc.KindInt, doc.KindFloat, doc.KindString, doc.KindList, doc.KindObject, doc.Kind(99),
		doc.OpKind(0))
	want := "set unset splice unknown set unset tail unknown null bool int float string list object unknown" + " unknown"
	if got != want {
		t.Fatalf("%s", got)
	}
}
