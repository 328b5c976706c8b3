package doc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// Two values are equal exactly when their encodings are, and then so are their
// digests; whatever trees they are made of.
func TestEqualityIsThatOfEncodings(t *testing.T) { rapid.Check(t, equalityIsThatOfEncodings) }

func equalityIsThatOfEncodings(t *rapid.T) {
	model := genTree(3).Draw(t, "a")
	a, b := doc.Must(model), doc.Must(genTree(3).Draw(t, "b"))
	if rapid.Bool().Draw(t, "history") {
		b = history(t, a, model, 2)
	}
	same := bytes.Equal(a.Encode(), b.Encode())
	if a.Equal(b) != same || b.Equal(a) != same || (a.Digest() == b.Digest()) != same {
		t.Fatalf("%s and %s: equal %v and %v, digests %s and %s", a, b, a.Equal(b), b.Equal(a), a.Digest(), b.Digest())
	}
	if !a.Equal(a) {
		t.Fatalf("%s is not equal to itself", a)
	}
	if cmp.Equal(a, b) != same {
		t.Fatalf("go-cmp sees it differently: %s and %s", a, b)
	}
}

// Several operations at once are the same operations one by one.
func TestApplyingAtOnceIsApplyingOneByOne(t *testing.T) {
	rapid.Check(t, applyingAtOnceIsApplyingOneByOne)
}

func applyingAtOnceIsApplyingOneByOne(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	ops := rapid.SliceOfN(genOp(model), 0, 6).Draw(t, "ops")
	ops = slices.DeleteFunc(ops, func(op doc.Op) bool {
		next, err := modelApply(model, op)
		if err == nil {
			model = next
		}
		return err != nil
	})
	base := doc.Must(genTree(3).Draw(t, "base"))
	want, wantErr := base, error(nil)
	for _, op := range ops {
		if want, wantErr = doc.Apply(want, op); wantErr != nil {
			want = base
			break
		}
	}
	got, err := doc.Apply(base, ops...)
	if !got.Equal(want) || (err == nil) != (wantErr == nil) {
		t.Fatalf("%s (%v), one by one %s (%v)", got, err, want, wantErr)
	}
	draft := doc.NewDraft(base)
	derr := draft.Apply(ops...)
	if !draft.Value().Equal(want) || (derr == nil) != (wantErr == nil) {
		t.Fatalf("the draft holds %s (%v), one by one %s (%v)", draft.Value(), derr, want, wantErr)
	}
}

// Laying a document over a template adds what is missing and keeps what is there.
func TestMergeOverATemplate(t *testing.T) { rapid.Check(t, mergeOverATemplate) }

func mergeOverATemplate(t *rapid.T) {
	object := rapid.MapOfN(genName(), genTree(2), 0, 5)
	template, data := doc.Must(object.Draw(t, "template")), doc.Must(object.Draw(t, "data"))
	got, err := doc.Apply(template, doc.Merge("", data))
	if err != nil {
		t.Fatal(err)
	}
	keeps(t, doc.Path{}, got, data)
	for name, v := range template.Members() {
		if _, there := data.Member(name); there {
			continue
		}
		if filled, _ := got.Member(name); !filled.Equal(v) {
			t.Fatalf("member %q is %s, the template says %s", name, filled, v)
		}
	}
	again, err := doc.Apply(got, doc.Merge("", data))
	if err != nil || !again.Equal(got) {
		t.Fatalf("merging twice: %s, then %s (%v)", got, again, err)
	}
	empty, err := doc.Apply(data, doc.Merge("", doc.MustObject(nil)))
	if err != nil || !empty.Equal(data) {
		t.Fatalf("merging nothing: %s (%v)", empty, err)
	}
}

// keeps checks that everything in data is in got.
func keeps(t *rapid.T, at doc.Path, got, data doc.Value) {
	if data.Kind() != doc.KindObject {
		if !got.Equal(data) {
			t.Fatalf("%q is %s, the data say %s", at, got, data)
		}
		return
	}
	for name, v := range data.Members() {
		there, ok := got.Member(name)
		if !ok {
			t.Fatalf("%q lacks %q", at, name)
		}
		keeps(t, at.Append(name), there, v)
	}
}

// A path leads where the model says, for reading as for writing.
func TestPathsMatchModel(t *testing.T) { rapid.Check(t, pathsMatchModel) }

func pathsMatchModel(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	v := doc.Must(model)
	p := rapid.OneOf(genPath(), rapid.SampledFrom(containers(model, nil, nil))).Draw(t, "path")
	want, found := modelGet(model, p.Segments())
	got, ok, err := v.Lookup(p.String())
	if err != nil || ok != found || !got.Equal(doc.Must(want)) {
		t.Fatalf("%q in %s is %s (%v, %v), want %v", p, v, got, ok, err, want)
	}
	if draft, ok := doc.NewDraft(v).Get(p); ok != found || !draft.Equal(got) {
		t.Fatalf("%q in a draft is %s (%v)", p, draft, ok)
	}
	if !found {
		return
	}
	replaced, err := doc.Apply(v, doc.Set(p, doc.MustString("here")))
	if there, _ := replaced.Get(p); err != nil || there.String() != `"here"` {
		t.Fatalf("%q holds %s after a set (%v)", p, there, err)
	}
	if back, err := doc.Apply(replaced, doc.CompareAndSet(p, doc.MustString("here"), got)); err != nil || !back.Equal(v) {
		t.Fatalf("set and set back: %s (%v)", back, err)
	}
}

// A builder, a map and operations make the same object, in any order of names.
func TestObjectsAreMadeInAnyOrder(t *testing.T) { rapid.Check(t, objectsAreMadeInAnyOrder) }

func objectsAreMadeInAnyOrder(t *rapid.T) {
	members := rapid.MapOfN(rapid.String(), genValue(), 0, 80).Draw(t, "members")
	want := doc.MustObject(members)
	var builder doc.Builder
	draft := doc.NewDraft(doc.MustObject(nil))
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	sorted := slices.Clone(names)
	if len(names) > 1 {
		names = rapid.Permutation(names).Draw(t, "order")
	}
	for _, name := range names {
		builder.Add(name, members[name])
		if err := draft.Apply(doc.Set(doc.P(name), members[name])); err != nil {
			t.Fatal(err)
		}
	}
	built, err := builder.Object()
	if err != nil || !built.Equal(want) || !draft.Value().Equal(want) {
		t.Fatalf("%s and %s, want %s (%v)", built, draft.Value(), want, err)
	}
	var walked []string
	for name, v := range draft.Value().Members() {
		walked = append(walked, name)
		if !v.Equal(members[name]) {
			t.Fatalf("member %q is %s, want %s", name, v, members[name])
		}
	}
	if !slices.Equal(walked, sorted) {
		t.Fatalf("walked %q, want %q", walked, sorted)
	}
}

// Splices of any size do what slices.Replace does.
func TestSplicesMatchSlices(t *testing.T) { rapid.Check(t, splicesMatchSlices) }

func splicesMatchSlices(t *rapid.T) {
	var want []doc.Value
	for i := range rapid.SampledFrom([]int{0, 1, 40, 1500}).Draw(t, "length") {
		want = append(want, doc.Int(int64(i)))
	}
	v := doc.List(want...)
	for step := range rapid.IntRange(1, 6).Draw(t, "steps") {
		at := rapid.IntRange(0, len(want)).Draw(t, "at")
		remove := min(rapid.SampledFrom([]int{0, 1, 5, 33, 400}).Draw(t, "remove"), len(want)-at)
		items := slices.Repeat([]doc.Value{doc.Int(int64(-step))}, rapid.SampledFrom([]int{0, 1, 5, 33, 400}).Draw(t, "insert"))
		edit := doc.Edit{Kind: doc.EditSplice, Index: at, Remove: remove, Value: doc.List(items...)}
		want = slices.Replace(want, at, at+remove, items...)
		var err error
		if v, err = doc.ApplyEdits(v, []doc.Edit{edit}); err != nil {
			t.Fatal(err)
		}
	}
	sameItems(t, v, want)
}

// The place that grew did so by what is said, and by more than half of the growth
// of everything around it.
func TestGrowthIsMostOfIt(t *testing.T) { rapid.Check(t, growthIsMostOfIt) }

func growthIsMostOfIt(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	before := doc.Must(model)
	after := history(t, before, model, 3)
	at, bytes := doc.Growth(before, after)
	for p := at; ; p = p.Parent() {
		was, found := before.Get(p)
		is, ok := after.Get(p)
		grown := is.Size() - was.Size()
		if !found {
			grown = is.Size()
		}
		if !ok || p.Equal(at) && grown != bytes || !p.Equal(at) && 2*bytes <= grown && at.Len() == p.Len()+1 {
			t.Fatalf("%s to %s: %d at %q, but %d at %q", before, after, bytes, at, grown, p)
		}
		if p.IsRoot() {
			return
		}
	}
}

// A value may be read, changed and compared by any number of goroutines; the race
// detector watches.
func TestManyGoroutinesShareAValue(t *testing.T) {
	base := megabyte(t)
	text := base.Digest()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			draft := doc.NewDraft(base)
			var trail doc.Trail
			for i := range 50 {
				at := doc.P("inventory", memberOf(g*50+i), "count")
				before := draft.Value()
				if err := draft.Apply(doc.Increment(at, 1), doc.AppendTo(at.Parent().Append("tags"), doc.Int(1))); err != nil {
					t.Error(err)
					return
				}
				trail.Add(before, draft.Value())
			}
			now := draft.Value()
			if got, err := doc.ApplyEdits(base, doc.Diff(base, now)); err != nil || !got.Equal(now) {
				t.Errorf("edits: %v", err)
			}
			if got, err := trail.Effects(now).Apply(base); err != nil || !got.Equal(now) {
				t.Errorf("effects: %v", err)
			}
		})
	}
	all.Wait()
	if base.Digest() != text {
		t.Error("the shared value changed")
	}
}

// Operations, values and effects go through encoding/json inside other types.
func TestWireTypesInsideOtherTypes(t *testing.T) {
	type request struct {
		ID      string
		Ops     []doc.Op
		Values  map[string]doc.Value
		Effects doc.Effects
		Edits   []doc.Edit
		Missing *doc.Value `json:",omitempty"`
	}
	a, b := parse(t, `{"n":1,"l":[1,2]}`), parse(t, `{"n":2,"l":[1,2,3],"s":"<&>"}`)
	in := request{
		ID:      "r1",
		Ops:     []doc.Op{doc.Increment("/n", 1), doc.SetIfAbsent("/s", doc.MustString("<&>")), doc.AppendTo("/l", doc.Int(3))},
		Values:  map[string]doc.Value{"a": a, "b": b},
		Effects: doc.EffectsBetween(a, b),
		Edits:   doc.Diff(a, b),
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out request
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	results := map[string]doc.Value{"value": out.Values["b"]}
	var errs [3]error
	results["ops"], errs[0] = doc.Apply(out.Values["a"], out.Ops...)
	results["edits"], errs[1] = doc.ApplyEdits(out.Values["a"], out.Edits)
	results["effects"], errs[2] = out.Effects.Apply(out.Values["a"])
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	for name, got := range results {
		if !got.Equal(b) {
			t.Errorf("%s: %s, want %s", name, got, b)
		}
	}
	if out.Missing != nil {
		t.Errorf("a value came from nowhere: %s", out.Missing)
	}
}
