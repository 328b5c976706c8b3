package doc_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// Whatever a draft handed out stays as it was, however the draft goes on: values,
// parts of values, and the values that were put in.
func TestDraftsFreezeWhatTheyHandOut(t *testing.T) { rapid.Check(t, draftsFreezeWhatTheyHandOut) }

func draftsFreezeWhatTheyHandOut(t *rapid.T) {
	type seen struct {
		v    doc.Value
		text string
	}
	var all []seen
	keep := func(v doc.Value) { all = append(all, seen{v, v.String()}) }
	model := genTree(3).Draw(t, "document")
	d := doc.NewDraft(doc.Must(model))
	keep(d.Base())
	for range rapid.IntRange(1, 15).Draw(t, "steps") {
		op := genOp(model).Draw(t, "op")
		keep(op.Value)
		if d.Apply(op) == nil {
			model, _ = modelApply(model, op)
		}
		switch rapid.IntRange(0, 3).Draw(t, "look") {
		case 0:
			keep(d.Value())
		case 1:
			if places := containers(model, nil, nil); len(places) > 0 {
				if v, ok := d.Get(rapid.SampledFrom(places).Draw(t, "place")); ok {
					keep(v)
				}
			}
		}
	}
	for _, s := range all {
		if s.v.String() != s.text || doc.Check(s.v) != nil {
			t.Fatalf("%s became %s", s.text, s.v)
		}
	}
	if got := d.Value(); !got.Equal(doc.Must(model)) {
		t.Fatalf("the draft holds %s", got)
	}
}

// A call that is refused half way leaves a draft as it was, also what the draft
// had already changed in place.
func TestDraftRollsBack(t *testing.T) {
	d := doc.NewDraft(parse(t, `{"a":{"n":1},"l":[1]}`))
	if err := d.Apply(doc.Increment("/a/n", 1)); err != nil {
		t.Fatal(err)
	}
	err := d.Apply(doc.Increment("/a/n", 1), doc.AppendTo("/l", doc.Int(2)), doc.Increment("/l", 1))
	var at *doc.OpError
	if !errors.As(err, &at) || at.Index != 2 || !errors.Is(err, doc.ErrWrongType) {
		t.Fatalf("error %v", err)
	}
	if got := d.Value().String(); got != `{"a":{"n":2},"l":[1]}` {
		t.Fatalf("the draft holds %s", got)
	}
	if err := d.Apply(doc.Increment("/a/n", 1)); err != nil {
		t.Fatal(err)
	}
	if got := d.Value().String(); got != `{"a":{"n":3},"l":[1]}` {
		t.Fatalf("the draft holds %s", got)
	}
	if d.Reset(); d.Value().String() != d.Base().String() {
		t.Fatalf("reset to %s", d.Value())
	}
}

// One draft copies a node once: ten changes of one large object allocate little
// more than one.
func TestDraftCopiesOnce(t *testing.T) {
	v := megabyte(t)
	op := doc.Increment("/inventory/item-00100/count", 1)
	many := []doc.Op{op, op, op, op, op, op, op, op, op, op}
	one := testing.AllocsPerRun(20, func() { _, _ = doc.Apply(v, op) })
	ten := testing.AllocsPerRun(20, func() { _, _ = doc.Apply(v, many...) })
	if ten > 2*one+20 {
		t.Errorf("one operation allocates %v times, ten %v times", one, ten)
	}
}

// The budget of an increment in a document of a megabyte, in allocations, which
// do not depend on the machine.
func TestIncrementAllocations(t *testing.T) {
	v := megabyte(t)
	p := doc.MustPath("/inventory/item-02600/stats/caught/2")
	if n := testing.AllocsPerRun(100, func() { _, _ = doc.Apply(v, doc.Increment(p, 1)) }); n > 40 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { v.Get(p) }); n > 0 {
		t.Errorf("reading allocates %v times", n)
	}
}
