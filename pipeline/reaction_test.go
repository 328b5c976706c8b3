package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

// levels raises the level when there are enough points, and pays for each level.
func levels() pipeline.Config {
	return pipeline.Config{
		Derived: []pipeline.Derived{total("/score", "/level", "/coins")},
		Reactions: []pipeline.Reaction{
			{Name: "reward", On: paths("/level"), React: func(c pipeline.Change) ([]doc.Op, error) {
				return []doc.Op{doc.Increment("/coins", 10*(number(c.After, "/level")-number(c.Before, "/level")))}, nil
			}},
			{Name: "level up", On: paths("/xp"), React: func(c pipeline.Change) ([]doc.Op, error) {
				if xp := number(c.After, "/xp"); xp >= 100 {
					return []doc.Op{doc.Increment("/level", 1), doc.Increment("/xp", -100)}, nil
				}
				return nil, nil
			}},
		},
	}
}

func TestReactionsAnswerEachChangeOnce(t *testing.T) {
	p := build(t, levels())
	got := accepted(t, p, `{"coins":0,"level":1,"score":1,"xp":90}`, doc.Increment("/xp", 220))
	if want := `{"coins":30,"level":4,"score":34,"xp":10}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	res, err := run(p, parse(t, `{"coins":0,"level":1,"score":1,"xp":90}`), doc.Increment("/xp", 5))
	if err != nil || len(res.Edits) != 1 {
		t.Errorf("%v, %v", res.Edits, err)
	}
}

// What they change is seen by guards, and by derived fields, in one transaction.
func TestGuardsSeeWhatReactionsMade(t *testing.T) {
	c := levels()
	c.Guards = []pipeline.Guard{{Name: "poor", Check: func(c pipeline.Change) []pipeline.Violation {
		if number(c.After, "/score") > 20 {
			return []pipeline.Violation{{Path: doc.MustPath("/score"), Problem: "too much"}}
		}
		return nil
	}}}
	r := refused(t, build(t, c), `{"coins":0,"level":1,"score":1,"xp":90}`, doc.Increment("/xp", 220))
	sameStrings(t, "complaints", complaintsOf(r), "/score poor")
}

func TestReactionsWithoutPlacesSeeEveryChange(t *testing.T) {
	var seen []string
	p := build(t, pipeline.Config{Reactions: []pipeline.Reaction{{Name: "all", React: func(c pipeline.Change) ([]doc.Op, error) {
		seen = append(seen, fmt.Sprint(c.Source.Kind, len(c.Edits), c.Before, c.After))
		if number(c.After, "/n") < 3 {
			return []doc.Op{doc.Increment("/n", 1)}, nil
		}
		return nil, nil
	}}}})
	accepted(t, p, `{"n":0}`, doc.Increment("/n", 1))
	sameStrings(t, "seen", seen, `game1 {"n":0} {"n":1}`, `game1 {"n":1} {"n":2}`, `game1 {"n":2} {"n":3}`)
	seen = nil
	accepted(t, p, `{"n":0}`, doc.Set("/n", doc.Int(0)))
	if len(seen) > 0 {
		t.Errorf("called for no change: %q", seen)
	}
}

// A reaction is told of a change at, in or above what it watches, and of nothing else.
func TestReactionsWatchPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		op   doc.Op
		want bool
	}{
		"at":            {doc.Set("/a/b", doc.Int(1)), true},
		"in":            {doc.Set("/a/b/c", doc.Int(2)), true},
		"above":         {doc.Unset("/a"), true},
		"above, not it": {doc.Set("/a", doc.Must(map[string]any{"b": map[string]any{"c": 1}, "x": 1})), false},
		"beside":        {doc.Set("/a/bc", doc.Int(1)), false},
	} {
		called := false
		p := build(t, pipeline.Config{Reactions: []pipeline.Reaction{{Name: "r", On: paths("/nothing", "/a/b"), React: func(pipeline.Change) ([]doc.Op, error) {
			called = true
			return nil, nil
		}}}})
		accepted(t, p, `{"a":{"b":{"c":1}}}`, c.op)
		if called != c.want {
			t.Errorf("%s: called %v", name, called)
		}
	}
}

// countdown counts /n down to zero, one a round.
func countdown() pipeline.Config {
	return pipeline.Config{Reactions: []pipeline.Reaction{
		{Name: "count", On: paths("/n"), React: func(c pipeline.Change) ([]doc.Op, error) {
			if number(c.After, "/n") > 0 {
				return []doc.Op{doc.Increment("/n", -1)}, nil
			}
			return nil, nil
		}},
		{Name: "idle", React: func(pipeline.Change) ([]doc.Op, error) { return nil, nil }},
	}}
}

func TestSixteenRoundsAtMost(t *testing.T) {
	p := build(t, countdown())
	// The sixteenth round is the one that finds nothing to do.
	if got := accepted(t, p, `{"n":0}`, doc.Set("/n", doc.Int(pipeline.MaxRounds-1)), doc.Set("/x", doc.Int(1))); got != `{"n":0,"x":1}` {
		t.Error(got)
	}
	r := refused(t, p, `{"n":0}`, doc.Set("/n", doc.Int(1000)))
	sameStrings(t, "complaints", complaintsOf(r), "/n count")
	if !errors.Is(r, pipeline.ErrUnsettled) || !strings.HasSuffix(r.Error(), "after 16 rounds: count") {
		t.Error(r)
	}
}

func TestFailuresOfReactionsRefuse(t *testing.T) {
	no := errors.New("no quest")
	react := func(ops []doc.Op, err error) func(pipeline.Change) ([]doc.Op, error) {
		return func(pipeline.Change) ([]doc.Op, error) { return ops, err }
	}
	p := build(t, pipeline.Config{
		Derived: []pipeline.Derived{total("/score", "/a")},
		Reactions: []pipeline.Reaction{
			{Name: "fails", React: react(nil, no)},
			{Name: "panics", React: func(pipeline.Change) ([]doc.Op, error) { panic("boom") }},
			{Name: "misfits", React: react([]doc.Op{doc.Increment("/a", 1), doc.Increment("/x/y", 1), doc.Set("/score", doc.Int(1))}, nil)},
		},
	})
	r := refused(t, p, `{"a":0,"score":0}`, doc.Increment("/a", 1))
	sameStrings(t, "complaints", complaintsOf(r), " fails", " panics", "/x/y misfits", "/score misfits")
	var boom *pipeline.PanicError
	for _, target := range []error{no, pipeline.ErrReaction, doc.ErrNoPath, pipeline.ErrDerived} {
		if !errors.Is(r, target) {
			t.Errorf("not %v: %v", target, r)
		}
	}
	if !errors.As(r, &boom) || boom.Where != "reaction panics" {
		t.Error(r)
	}
}

// Reactions that undo the change leave nothing, and nobody is asked about nothing.
func TestReactionsMayUndoEverything(t *testing.T) {
	p := build(t, pipeline.Config{
		Reactions: []pipeline.Reaction{{Name: "cap", On: paths("/n"), React: func(c pipeline.Change) ([]doc.Op, error) {
			return []doc.Op{doc.Set("/n", doc.Int(min(number(c.After, "/n"), 10)))}, nil
		}}},
		Guards: []pipeline.Guard{{Name: "never", Check: func(pipeline.Change) []pipeline.Violation { return []pipeline.Violation{{}} }}},
	})
	res, err := run(p, parse(t, `{"n":10}`), doc.Increment("/n", 5))
	if err != nil || len(res.Edits) > 0 || res.After.String() != `{"n":10}` {
		t.Errorf("%v, %v", res, err)
	}
}
