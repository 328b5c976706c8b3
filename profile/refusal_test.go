package profile_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/schema"
)

// strict is a set with a rule of every kind.
func strict(t *testing.T) *profile.Options {
	t.Helper()
	rules, err := schema.Parse([]byte(`{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"list":{"type":"array","items":{"type":"integer"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &profile.Options{
		Template:   doc.Must(map[string]any{"coins": 0, "name": "x", "list": []any{1}, "xp": 0}),
		HardBytes:  400,
		JSONSchema: rules,
		Validate: func(v doc.Value) error {
			if coins(v) < 0 {
				return errors.New("debts")
			}
			return nil
		},
		Derived: []profile.Derived{{Path: doc.MustPath("/level"), Inputs: []doc.Path{doc.MustPath("/xp")}, Compute: func(in []doc.Value) (doc.Value, error) {
			xp, ok := in[0].AsInt()
			if !ok {
				return doc.Value{}, errors.New("xp is no number")
			}
			return doc.Int(xp / 100), nil
		}}},
		Reactions: []profile.Reaction{{Name: "bonus", On: []doc.Path{doc.MustPath("/level")}, React: func(c profile.Change) ([]doc.Op, error) {
			if level, _ := c.After.Member("level"); level.Equal(doc.Int(13)) {
				panic("unlucky")
			}
			return []doc.Op{doc.Increment("/coins", 10)}, nil
		}}},
		SourcePolicies: []profile.SourcePolicy{{Path: doc.MustPath("/gems"), Allow: []profile.SourceKind{profile.SourceOperator}, Raise: true}},
		Guards: []profile.Guard{{Name: "fair", Check: func(c profile.Change) []profile.Violation {
			if coins(c.After) == 777 {
				return []profile.Violation{{Path: doc.MustPath("/coins"), Problem: "too lucky"}}
			}
			return nil
		}}},
	}
}

// Bad input is refused as a whole, with its path, and the session goes on as if nothing had
// been asked. case P15, case P18.
func TestBadInputIsRefusedWithItsPath(t *testing.T) {
	deep := doc.Path{}
	for range 65 {
		deep = deep.Append("d")
	}
	nested := doc.Int(1)
	for range 63 {
		nested = doc.List(nested)
	}
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", strict(t))
		s := a.load("u", nil)
		add(t, s, 5)
		save(t, s)
		before := s.Data()
		for name, c := range map[string]struct {
			op   doc.Op
			path string
			err  error
		}{
			"missing path":     {doc.Increment("/bag/fish", 1), "/bag/fish", doc.ErrNoPath},
			"missing list":     {doc.RemoveAt("/bag", 0), "/bag", doc.ErrNoPath},
			"wrong kind":       {doc.Increment("/name", 1), "/name", doc.ErrWrongType},
			"through a string": {doc.Set("/name/first", doc.Int(1)), "/name/first", doc.ErrWrongType},
			"index":            {doc.RemoveAt("/list", 7), "/list", doc.ErrIndex},
			"overflow":         {doc.Increment("/coins", math.MaxInt64), "/coins", doc.ErrOverflow},
			"bounds":           {doc.Increment("/coins", -7).AtLeast(doc.Int(0)), "/coins", doc.ErrBounds},
			"not a number":     {doc.Increment("/coins", math.NaN()), "/coins", doc.ErrNotFinite},
			"infinite":         {doc.Increment("/coins", math.Inf(1)), "/coins", doc.ErrNotFinite},
			"not UTF-8":        {doc.Set(doc.P("\xff"), doc.Int(1)), "/\xff", doc.ErrUTF8},
			"no path":          {doc.Set("coins", doc.Int(1)), "", doc.ErrBadPath},
			"too deep a path":  {doc.Set(deep, doc.Int(1)), deep.String(), doc.ErrTooDeep},
			"too deep a value": {doc.Set("/a/b", nested), "/a/b", doc.ErrTooDeep},
			"mismatch":         {doc.CompareAndSet("/coins", doc.Int(4), doc.Int(9)), "/coins", doc.ErrMismatch},
			"no operation":     {doc.Op{}, "", doc.ErrBadOp},
			"too large":        {doc.Set("/text", doc.MustString(strings.Repeat("x", 500))), "/text", profile.ErrTooLarge},
			"schema":           {doc.Set("/name", doc.Int(1)), "/name", profile.ErrSchema},
			"schema, missing":  {doc.Unset("/name"), "/name", profile.ErrSchema},
			"schema, in depth": {doc.AppendTo("/list", doc.MustString("a")), "/list/1", profile.ErrSchema},
			"validity":         {doc.Set("/coins", doc.Int(-1)), "", profile.ErrSchema},
			"derived":          {doc.Set("/level", doc.Int(9)), "/level", profile.ErrDerived},
			"not computable":   {doc.Set("/xp", doc.MustString("many")), "/level", profile.ErrCompute},
			"reaction":         {doc.Set("/xp", doc.Int(1300)), "", profile.ErrReaction},
			"source":           {doc.Set("/gems", doc.Int(1)), "/gems", profile.ErrPolicy},
			"guard":            {doc.Set("/coins", doc.Int(777)), "/coins", profile.ErrGuard},
		} {
			_, err := s.Transact(game, doc.Increment("/coins", 1), c.op)
			var r *profile.RefusedError
			if !errors.As(err, &r) || !errors.Is(err, profile.ErrRefused) || !errors.Is(err, c.err) || len(r.Violations) != 1 || r.Violations[0].Path.String() != c.path {
				t.Errorf("%s: %v, want %v at %q", name, err, c.err, c.path)
			}
			if !s.Data().Equal(before) || s.Revision() != 2 || s.Reason() != 0 {
				t.Fatalf("%s left %v, revision %d, %v", name, s.Data(), s.Revision(), s.Reason())
			}
		}
		if st := a.Stats(); st.Refused != 25 || st.Panics != 1 {
			t.Errorf("%d refused, %d panics", st.Refused, st.Panics)
		}
		add(t, s, 1)
		save(t, s)
	})
}

// One refusal tells everything that is wrong, of the operations and of the guards.
func TestRefusalsListEveryComplaint(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", strict(t)).load("u", nil)
		_, err := s.Transact(game, doc.Increment("/a/b", 1), doc.Set("/level", doc.Int(1)), doc.Increment("/name", 1))
		for _, want := range []error{doc.ErrNoPath, profile.ErrDerived, doc.ErrWrongType} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not in: %v", want, err)
			}
		}
		if want := `profile: transact u: refused: 3 complaints: "/a/b": op 0, increment: `; !strings.HasPrefix(err.Error(), want) {
			t.Error(err)
		}
		_, err = s.Transact(game, doc.Set("/name", doc.Int(1)), doc.Set("/gems", doc.Int(1)), doc.Set("/coins", doc.Int(-1)), doc.Set("/big", doc.MustString(strings.Repeat("x", 500))))
		var size *profile.SizeError
		for _, want := range []error{profile.ErrSchema, profile.ErrPolicy, profile.ErrTooLarge} {
			if !errors.Is(err, want) {
				t.Errorf("%v is not in: %v", want, err)
			}
		}
		if !errors.As(err, &size) || size.Limit != 400 || !strings.Contains(err.Error(), "debts") || !strings.Contains(err.Error(), "4 complaints") {
			t.Error(err)
		}
	})
}

// The whole pipeline in a session: an operator's gems, a derived level, a reaction's bonus, in
// one commit that is stored as such.
func TestOneCommitOfOperationsDerivedFieldsAndReactions(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", strict(t)).load("u", nil)
		before := s.Data()
		c, err := s.Transact(profile.Source{Kind: profile.SourceOperator}, doc.Increment("/xp", 250), doc.Set("/gems", doc.Int(3)))
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"coins":10,"gems":3,"level":2,"list":[1],"name":"x","xp":250}`; c.Data.String() != want || !s.Data().Equal(c.Data) || c.Revision != s.Revision() {
			t.Errorf("%v, want %s", c.Data, want)
		}
		if made, err := doc.ApplyEdits(before, c.Edits); err != nil || !made.Equal(c.Data) {
			t.Errorf("the edits make %v, %v", made, err)
		}
		if _, err := s.Transact(game, doc.Increment("/gems", -1)); err != nil {
			t.Errorf("spending: %v", err)
		}
		release(t, s)
		if r := f.stored("u"); !strings.Contains(string(r.Data), `"level":2`) {
			t.Errorf("stored %s", r.Data)
		}
	})
}

// Wrong rules are found when the set is made.
func TestWrongRulesAreRefusedByNew(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		none := func(profile.Change) []profile.Violation { return nil }
		_, err := profile.New(a.node, "others", &profile.Options{
			Derived: []profile.Derived{{Path: doc.MustPath("/a")}},
			Guards:  []profile.Guard{{Name: "size", Check: none}},
		})
		for _, want := range []string{"profile: options: ", `"/a": Compute is missing`, `two guards are called "size"`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
		if _, err := profile.New(a.node, "others", nil); err != nil {
			t.Errorf("and the name is taken: %v", err)
		}
	})
}
