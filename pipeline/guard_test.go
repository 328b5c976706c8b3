package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

var errCheat = errors.New("cheating")

// says is a guard that always says this.
func says(name string, mode pipeline.Mode, v ...pipeline.Violation) pipeline.Guard {
	return pipeline.Guard{Name: name, Mode: mode, Check: func(pipeline.Change) []pipeline.Violation { return v }}
}

func TestAllGuardsAreAsked(t *testing.T) {
	p := build(t, pipeline.Config{Guards: []pipeline.Guard{
		says("first", pipeline.Block, pipeline.Violation{Path: doc.MustPath("/a"), Err: errCheat}, pipeline.Violation{Path: doc.MustPath("/b"), Problem: "odd", Guard: "another"}),
		says("soft", pipeline.ReportOnly, pipeline.Violation{Problem: "unusual"}),
		{Name: "panics", Mode: pipeline.ReportOnly, Check: func(pipeline.Change) []pipeline.Violation { panic("boom") }},
		says("fine", pipeline.Block),
		says("last", pipeline.Block, pipeline.Violation{}),
	}})
	r := refused(t, p, `{}`, doc.Set("/a", doc.Int(1)))
	sameStrings(t, "complaints", complaintsOf(r), "/a first", "/b first", " panics", " last")
	var boom *pipeline.PanicError
	if !errors.Is(r, errCheat) || !errors.Is(r, pipeline.ErrGuard) || !errors.As(r, &boom) {
		t.Error(r)
	}
	if v := r.Violations; v[0].Problem != "cheating" || v[3].Problem != "a guard objects" {
		t.Errorf("%q", v)
	}
}

func TestReportsDoNotRefuse(t *testing.T) {
	p := build(t, pipeline.Config{
		Guards:   []pipeline.Guard{says("soft", pipeline.ReportOnly, pipeline.Violation{Path: doc.MustPath("/a"), Problem: "unusual"})},
		Policies: []pipeline.SourcePolicy{{Path: doc.MustPath("/a"), Allow: []pipeline.SourceKind{operator}, Mode: pipeline.ReportOnly}},
	})
	res, err := run(p, parse(t, `{}`), doc.Set("/a", doc.Int(1)))
	if err != nil || res.After.String() != `{"a":1}` {
		t.Fatalf("%v, %v", res, err)
	}
	var got []string
	for _, v := range res.Reports {
		got = append(got, v.String())
	}
	sameStrings(t, "reports", got, `"/a": policy: a source of kind "game" may not change it; allowed: operator`, `"/a": soft: unusual`)
	if res, err = run(p, res.After, doc.Set("/a", doc.Int(1))); err != nil || len(res.Reports) > 0 {
		t.Errorf("nothing changed, but: %v, %v", res.Reports, err)
	}
}

func TestGuardsSeeTheWholeChange(t *testing.T) {
	var seen pipeline.Change
	p := build(t, pipeline.Config{Guards: []pipeline.Guard{{Name: "g", Check: func(c pipeline.Change) []pipeline.Violation {
		seen = c
		return nil
	}}}})
	_, err := p.Run(pipeline.Proposal{Before: parse(t, `{"a":1}`), Source: pipeline.Source{Kind: operator, Actor: "ann"}, Ops: []doc.Op{doc.Set("/b", doc.Int(2))}})
	if err != nil || seen.Before.String() != `{"a":1}` || seen.After.String() != `{"a":1,"b":2}` || len(seen.Edits) != 1 || seen.Source.Actor != "ann" {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestPolicies(t *testing.T) {
	policies := []pipeline.SourcePolicy{
		{Path: doc.MustPath("/wallet"), Deny: []pipeline.SourceKind{receipt, "client"}},
		{Path: doc.MustPath("/wallet/premium"), Allow: []pipeline.SourceKind{operator, receipt}, Raise: true},
		{Path: doc.MustPath("/wallet/log"), Allow: []pipeline.SourceKind{operator}},
		{Path: doc.MustPath("/wallet/log/open")},
		{Path: doc.MustPath("/closed"), Allow: []pipeline.SourceKind{operator}, Deny: []pipeline.SourceKind{operator}},
	}
	p := build(t, pipeline.Config{Policies: policies, Derived: []pipeline.Derived{total("/wallet/log/sum", "/wallet/coins")}})
	const before = `{"wallet":{"coins":5,"log":{"sum":5,"x":1},"premium":10}}`
	for name, c := range map[string]struct {
		kind pipeline.SourceKind
		op   doc.Op
		want string // the paths complained about
	}{
		"no policy":                 {"client", doc.Set("/name", doc.Int(1)), ""},
		"denied":                    {"client", doc.Increment("/wallet/coins", 1), "/wallet/coins"},
		"not denied":                {game, doc.Increment("/wallet/coins", 1), ""}, // though it changes the derived sum
		"raise":                     {game, doc.Increment("/wallet/premium", 1), "/wallet/premium"},
		"spend":                     {game, doc.Increment("/wallet/premium", -1), ""},
		"raise by a receipt":        {receipt, doc.Increment("/wallet/premium", 1), ""},
		"no number":                 {game, doc.Set("/wallet/premium", doc.MustString("9")), "/wallet/premium"},
		"to nothing":                {game, doc.Unset("/wallet/premium"), ""},
		"not in the list":           {game, doc.Set("/wallet/log/y", doc.Int(1)), "/wallet/log/y"},
		"open below":                {game, doc.Set("/wallet/log/open", doc.Int(1)), ""},
		"replaced from above":       {game, doc.Set("/wallet", doc.Must(map[string]any{"premium": 99, "log": map[string]any{"x": 1}})), "/wallet/premium"},
		"taken away with the whole": {game, doc.Unset("/wallet"), "/wallet/log/x"},
		"closed to all":             {operator, doc.Set("/closed", doc.Int(1)), "/closed"},
	} {
		_, err := p.Run(pipeline.Proposal{Before: parse(t, before), Source: pipeline.Source{Kind: c.kind}, Ops: []doc.Op{c.op}})
		var (
			r   *pipeline.RefusedError
			got []string
		)
		if errors.As(err, &r) {
			for _, v := range r.Violations {
				got = append(got, v.Path.String())
			}
		}
		if strings.Join(got, " ") != c.want || c.want != "" && !errors.Is(err, pipeline.ErrPolicy) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestPoliciesSayWhatWouldBeAllowed(t *testing.T) {
	for want, policy := range map[string]pipeline.SourcePolicy{
		`a source of kind "game" may not raise it; allowed: operator, receipt`: {Raise: true, Allow: []pipeline.SourceKind{operator, receipt}},
		`a source of kind "game" may not change it; allowed: operator`:         {Allow: []pipeline.SourceKind{operator, game}, Deny: []pipeline.SourceKind{game}},
		`a source of kind "game" may not change it; allowed: nobody`:           {Allow: []pipeline.SourceKind{game}, Deny: []pipeline.SourceKind{game}},
		`a source of kind "game" may not change it; allowed: all but game`:     {Deny: []pipeline.SourceKind{game}},
	} {
		policy.Path = doc.MustPath("/n")
		r := refused(t, build(t, pipeline.Config{Policies: []pipeline.SourcePolicy{policy}}), `{}`, doc.Set("/n", doc.Int(1)))
		if got := r.Violations[0].Problem; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestWrongConfigurationsAreRefusedWithAllThatIsWrong(t *testing.T) {
	_, err := pipeline.New(pipeline.Config{
		Derived:   []pipeline.Derived{{}},
		Reactions: []pipeline.Reaction{{}, {Name: "r"}, {Name: "r", React: func(pipeline.Change) ([]doc.Op, error) { return nil, nil }}},
		Policies:  []pipeline.SourcePolicy{{Path: doc.MustPath("/a")}, {Path: doc.MustPath("/a"), Mode: 7}},
		Guards:    []pipeline.Guard{{}, says("g", 7), says("g", pipeline.Block)},
	})
	for _, want := range []string{
		"whole document", "Compute is missing", "reaction 0 has no name", `reaction "r": the function is missing`, `two reactions are called "r"`,
		`two policies for "/a"`, `policy "/a": Block or ReportOnly expected, got mode 7`,
		"guard 0 has no name", `guard "g": Block or ReportOnly expected, got mode 7`, `two guards are called "g"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}
