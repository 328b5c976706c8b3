package pipeline_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

// world is a pipeline drawn at random, with what is needed to check it: derived fields that
// form an acyclic graph, reactions that come to rest, and a guard that refuses now and then.
type world struct {
	config pipeline.Config
	pipe   *pipeline.Pipeline
	naive  []pipeline.Derived // in an order in which each can be computed
}

func inputs() []string { return []string{"/a", "/b", "/bag/c", "/bag/d", "/bag"} }

func drawWorld(t *rapid.T) world {
	var w world
	pool := inputs()
	for i, at := range []string{"/d0", "/out/d1", "/out/d2", "/z/y/d3"}[:rapid.IntRange(0, 4).Draw(t, "fields")] {
		in := rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 0, 3, rapid.ID).Draw(t, fmt.Sprint("inputs ", at))
		w.naive = append(w.naive, pipeline.Derived{Path: doc.MustPath(at), Inputs: paths(in...), Compute: func(v []doc.Value) (doc.Value, error) {
			total := int64(i)
			for j, x := range v {
				n, _ := x.AsInt()
				total += n*int64(j+2) + int64(x.Len())
			}
			if total%97 == 13 {
				return doc.Value{}, errors.New("unlucky")
			}
			return doc.Int(total), nil
		}})
		pool = append(pool, at)
	}
	w.config.Derived = rapid.Permutation(w.naive).Draw(t, "order")
	all := []pipeline.Reaction{
		{Name: "cap", On: paths("/a"), React: func(c pipeline.Change) ([]doc.Op, error) {
			if number(c.After, "/a") > 20 {
				return []doc.Op{doc.Set("/a", doc.Int(20)), doc.Set("/bag/c", doc.Int(1))}, nil
			}
			return nil, nil
		}},
		{Name: "carry", On: paths("/bag"), React: func(c pipeline.Change) ([]doc.Op, error) {
			if number(c.After, "/bag/d") > 10 {
				return []doc.Op{doc.Increment("/bag/d", -10), doc.Increment("/b", 1)}, nil
			}
			return nil, nil
		}},
		{Name: "follow", On: paths("/d0"), React: func(c pipeline.Change) ([]doc.Op, error) {
			return []doc.Op{doc.Set("/seen", doc.Int(number(c.After, "/d0")))}, nil
		}},
	}
	w.config.Reactions = all[:rapid.IntRange(0, len(all)).Draw(t, "reactions")]
	w.config.Guards = []pipeline.Guard{{Name: "odd", Check: func(c pipeline.Change) []pipeline.Violation {
		if c.After.Size()%5 == 0 {
			return []pipeline.Violation{{Problem: "size"}}
		}
		return nil
	}}}
	var err error
	if w.pipe, err = pipeline.New(w.config); err != nil {
		t.Fatal(err)
	}
	return w
}

// fromScratch computes all derived fields one by one.
func (w world) fromScratch(v doc.Value) (doc.Value, error) {
	for _, d := range w.naive {
		var in []doc.Value
		for _, at := range d.Inputs {
			x, _ := v.Get(at)
			in = append(in, x)
		}
		field, err := d.Compute(in)
		if err != nil {
			return v, err
		}
		if v, err = doc.Apply(v, doc.Set(d.Path, field)); err != nil {
			return v, err
		}
	}
	return v, nil
}

func genOps() *rapid.Generator[[]doc.Op] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) doc.Op {
		at := rapid.SampledFrom([]string{"/a", "/b", "/bag/c", "/bag/d", "/bag", "/out", "/out/d1", "/new", "", "/a/b"}).Draw(t, "at")
		n := rapid.Int64Range(-5, 40).Draw(t, "n")
		value := rapid.SampledFrom([]doc.Value{
			doc.Int(n), doc.MustObject(map[string]doc.Value{"c": doc.Int(n)}), doc.List(doc.Int(n)),
			doc.MustObject(map[string]doc.Value{"out": doc.MustObject(map[string]doc.Value{"d1": doc.Int(n)}), "a": doc.Int(n)}),
		}).Draw(t, "value")
		switch rapid.IntRange(0, 5).Draw(t, "op") {
		case 0:
			return doc.Set(at, value)
		case 1:
			return doc.Unset(at)
		case 2:
			return doc.AppendTo(at, value)
		case 3:
			return doc.Merge(at, doc.MustObject(map[string]doc.Value{"c": value}))
		}
		return doc.Increment(at, n)
	}), 0, 4)
}

// start is a document whose derived fields are right.
func (w world) start(t *rapid.T) doc.Value {
	v := doc.Must(map[string]any{
		"a": rapid.IntRange(0, 20).Draw(t, "a"), "b": 2,
		"bag": map[string]any{"c": 3, "d": rapid.IntRange(0, 10).Draw(t, "d")},
	})
	got, err := w.pipe.Derive(v)
	want, wantErr := w.fromScratch(v)
	if (err == nil) != (wantErr == nil) || err == nil && !got.Equal(want) {
		t.Fatalf("derived %s (%v), from scratch %s (%v)", got, err, want, wantErr)
	}
	if err != nil {
		t.Skip("no start")
	}
	return got
}

func TestLaws(t *testing.T) { rapid.Check(t, laws) }

// After any sequence of transactions: edits make the document after; derived fields are what
// they are from scratch; a refusal leaves no trace; nothing done once more changes nothing;
// and another order of declaration gives the same.
func laws(t *rapid.T) {
	w := drawWorld(t)
	other := w.config
	other.Derived = rapid.Permutation(w.naive).Draw(t, "another order")
	second, err := pipeline.New(other)
	if err != nil {
		t.Fatal(err)
	}
	now := w.start(t)
	for range rapid.IntRange(1, 5).Draw(t, "transactions") {
		ops := genOps().Draw(t, "ops")
		digest := now.String()
		res, err := run(w.pipe, now, ops...)
		if now.String() != digest {
			t.Fatalf("the document before became %s", now)
		}
		again, againErr := run(second, now, ops...)
		if fmt.Sprint(err) != fmt.Sprint(againErr) && len(w.naive) < 2 || (err == nil) != (againErr == nil) || !again.After.Equal(res.After) {
			t.Fatalf("%s (%v), in another order %s (%v)", res.After, err, again.After, againErr)
		}
		if err != nil {
			w.checkRefusal(t, res, err)
			continue
		}
		w.checkResult(t, now, res)
		now = res.After
	}
}

func (w world) checkRefusal(t *rapid.T, res pipeline.Result, err error) {
	var r *pipeline.RefusedError
	if !errors.As(err, &r) || len(r.Violations) == 0 || !res.After.IsNull() || res.Edits != nil {
		t.Fatalf("refused with %v, and %+v", err, res)
	}
}

func (w world) checkResult(t *rapid.T, before doc.Value, res pipeline.Result) {
	if made, err := doc.ApplyEdits(before, res.Edits); err != nil || !made.Equal(res.After) {
		t.Fatalf("the edits make %s (%v), not %s", made, err, res.After)
	}
	if right, err := w.fromScratch(res.After); err != nil || !right.Equal(res.After) {
		t.Fatalf("%s, from scratch %s (%v)", res.After, right, err)
	}
	idle, err := run(w.pipe, res.After)
	if err != nil || len(idle.Edits) > 0 || !idle.After.Equal(res.After) {
		t.Fatalf("nothing made %s of %s (%v)", idle.After, res.After, err)
	}
}
