package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

// power depends on attack, which depends on weapon and strength; declared the wrong way round.
func power() pipeline.Config {
	return pipeline.Config{Derived: []pipeline.Derived{
		total("/stats/power", "/stats/attack", "/luck"),
		total("/stats/attack", "/weapon", "/strength"),
	}}
}

const hero = `{"luck":1,"name":"x","stats":{"attack":5,"power":6},"strength":3,"weapon":2}`

func TestDerivedFieldsFollowTheirInputs(t *testing.T) {
	p := build(t, power())
	got := accepted(t, p, hero, doc.Increment("/strength", 10))
	if want := `{"luck":1,"name":"x","stats":{"attack":15,"power":16},"strength":13,"weapon":2}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDerivedFieldsAreMadeWhereTheyAreMissing(t *testing.T) {
	p := build(t, power())
	got := accepted(t, p, `{"weapon":2}`, doc.Set("/name", doc.MustString("x")))
	if want := `{"name":"x","stats":{"attack":2,"power":2},"weapon":2}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	v, err := p.Derive(parse(t, `{"luck":1,"stats":{"attack":99,"power":0},"weapon":2}`))
	if want := `{"luck":1,"stats":{"attack":2,"power":3},"weapon":2}`; err != nil || v.String() != want {
		t.Errorf("%s, %v, want %s", v, err, want)
	}
}

func TestDerivedFieldsAreComputedOnlyWhenNeeded(t *testing.T) {
	calls := 0
	p := build(t, pipeline.Config{Derived: []pipeline.Derived{{Path: doc.MustPath("/d"), Inputs: paths("/a"), Compute: func(in []doc.Value) (doc.Value, error) {
		calls++
		return in[0], nil
	}}}})
	accepted(t, p, `{"a":1,"d":1}`, doc.Increment("/b", 1), doc.Set("/a", doc.Int(1)))
	if calls != 0 {
		t.Errorf("%d calls though no input changed", calls)
	}
	accepted(t, p, `{"a":1,"d":1}`, doc.Increment("/a", 1))
	if calls != 1 {
		t.Errorf("%d calls for one change", calls)
	}
}

func TestNobodyWritesADerivedField(t *testing.T) {
	p := build(t, power())
	r := refused(t, p, hero,
		doc.Set("/stats/power", doc.Int(99)),
		doc.Increment("/stats/attack", 1),
		doc.Unset("/stats/power/deep"),
		doc.Merge("", parse(t, `{"stats":{"power":99}}`)),
		doc.Merge("/stats/power", parse(t, `{}`)),
		doc.Merge("", parse(t, `{"stats":{"luck":1}}`)),
	)
	sameStrings(t, "complaints", complaintsOf(r), "/stats/power ", "/stats/attack ", "/stats/power/deep ", " ", "/stats/power ")
	if !errors.Is(r, pipeline.ErrDerived) || !strings.Contains(r.Violations[3].Problem, `"/stats/power"`) {
		t.Error(r)
	}
}

// Who replaces what is above a derived field cannot smuggle a value in: it is computed anew.
func TestReplacingTheParentComputesAnew(t *testing.T) {
	p := build(t, power())
	for name, op := range map[string]doc.Op{
		"forged": doc.Set("/stats", parse(t, `{"attack":1000,"power":1000}`)),
		"gone":   doc.Unset("/stats"),
		"empty":  doc.Set("/stats", parse(t, `{}`)),
	} {
		if got := accepted(t, p, hero, op); got != hero {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := accepted(t, p, hero, doc.Set("", parse(t, `{"stats":{"power":1000},"weapon":7}`))); got != `{"stats":{"attack":7,"power":7},"weapon":7}` {
		t.Error(got)
	}
	r := refused(t, p, hero, doc.Set("/stats", doc.Int(5)))
	sameStrings(t, "no place for them", complaintsOf(r), "/stats/attack derived")
}

// A field that cannot be computed refuses, one complaint each; what depends on it is not
// computed from a wrong value.
func TestFailureToComputeRefuses(t *testing.T) {
	no := errors.New("no such weapon")
	c := power()
	c.Derived[1].Compute = func([]doc.Value) (doc.Value, error) { return doc.Value{}, no }
	fame := total("/fame", "/stats/power", "/strength")
	fame.Compute = func([]doc.Value) (doc.Value, error) {
		return doc.Value{}, errors.New("computed from what is not there")
	}
	c.Derived = append(c.Derived, fame, pipeline.Derived{Path: doc.MustPath("/rank"), Inputs: paths("/strength"), Compute: func([]doc.Value) (doc.Value, error) { panic("boom") }})
	p := build(t, c)
	r := refused(t, p, hero, doc.Increment("/strength", 1))
	sameStrings(t, "complaints", complaintsOf(r), "/stats/attack derived", "/rank derived")
	var boom *pipeline.PanicError
	if !errors.Is(r, no) || !errors.Is(r, pipeline.ErrCompute) || !errors.As(r, &boom) || boom.Value != "boom" {
		t.Error(r)
	}
	if v, err := p.Derive(parse(t, hero)); !errors.Is(err, no) || v.String() != hero {
		t.Errorf("derive: %s, %v", v, err)
	}
}

func TestWrongDerivedFieldsAreRefusedAtConstruction(t *testing.T) {
	for name, c := range map[string]struct {
		fields []pipeline.Derived
		want   string
	}{
		"cycle":    {[]pipeline.Derived{total("/a", "/b"), total("/b", "/x", "/c"), total("/c", "/a")}, "/a ← /b ← /c ← /a"},
		"itself":   {[]pipeline.Derived{total("/a", "/a")}, "/a ← /a"},
		"above":    {[]pipeline.Derived{total("/stats/sum", "/stats")}, "/stats/sum ← /stats/sum"},
		"twice":    {[]pipeline.Derived{total("/a"), total("/a")}, `"/a" and "/a" overlap`},
		"in other": {[]pipeline.Derived{total("/a/b"), total("/a")}, `"/a/b" and "/a" overlap`},
		"root":     {[]pipeline.Derived{total("")}, "whole document"},
		"end":      {[]pipeline.Derived{total("/list/-")}, "add to a list"},
		"no func":  {[]pipeline.Derived{{Path: doc.MustPath("/a")}}, `"/a": Compute is missing`},
	} {
		if _, err := pipeline.New(pipeline.Config{Derived: c.fields}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A pipeline does not change when what it was made of does.
func TestPipelineKeepsItsOwnConfiguration(t *testing.T) {
	c := power()
	p := build(t, c)
	c.Derived[0].Inputs[0] = doc.MustPath("/name")
	c.Derived[1] = total("/other")
	if got := accepted(t, p, hero, doc.Increment("/weapon", 1)); !strings.Contains(got, `{"attack":6,"power":7}`) {
		t.Error(got)
	}
}
