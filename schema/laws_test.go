package schema_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

// drawPair draws a schema that both the package and the library take.
func drawPair(t *rapid.T) (*schema.Schema, *jsonschema.Schema) {
	text := drawRoot(t)
	s, err := schema.Parse(text)
	if err != nil {
		t.Skipf("%s: %v", text, err) // It refers to itself.
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:///s", parsed); err != nil {
		t.Fatal(err)
	}
	lib, err := c.Compile("test:///s")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s, lib
}

func TestCheckAgreesWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, lib := drawPair(t)
		for range 4 {
			v := drawValue(t, 4)
			err := lib.Validate(v.Any())
			if found := s.Check(v); (len(found) == 0) != (err == nil) {
				t.Fatalf("schema %s\nvalue %s\nfound %v\nlibrary %v", s.Text(), v, found, err)
			}
		}
	})
}

// drawEdit changes something small somewhere in v.
func drawEdit(t *rapid.T, v doc.Value) doc.Value {
	switch {
	case v.Kind() == doc.KindObject && rapid.IntRange(0, 3).Draw(t, "deeper") > 0:
		name := rapid.SampledFrom(names).Draw(t, "name")
		m, ok := v.Member(name)
		if !ok || rapid.IntRange(0, 3).Draw(t, "replace") == 0 {
			m = drawValue(t, 2)
		} else if rapid.IntRange(0, 3).Draw(t, "unset") == 0 {
			after, err := doc.Apply(v, doc.Unset(doc.P(name)))
			if err != nil {
				t.Fatal(err)
			}
			return after
		} else {
			m = drawEdit(t, m)
		}
		after, err := doc.Apply(v, doc.Set(doc.P(name), m))
		if err != nil {
			t.Fatal(err)
		}
		return after
	case v.Kind() == doc.KindList && rapid.IntRange(0, 3).Draw(t, "deeper") > 0:
		var items []doc.Value
		for _, item := range v.Items() {
			switch rapid.IntRange(0, 5).Draw(t, "item") {
			case 0:
			case 1:
				items = append(items, drawValue(t, 2), item)
			case 2:
				items = append(items, drawEdit(t, item))
			default:
				items = append(items, item)
			}
		}
		return doc.List(items...)
	default:
		return drawValue(t, 3)
	}
}

func TestChangeOfAValidValueIsCheckedAsTheWhole(t *testing.T) {
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawPair(t)
		before := drawValue(t, 4)
		if len(s.Check(before)) > 0 {
			return
		}
		for range 4 {
			valid++
			after := drawEdit(t, before)
			edits := doc.Diff(before, after)
			found, all := s.CheckChange(before, after, edits), s.Check(after)
			if (len(found) == 0) != (len(all) == 0) {
				t.Fatalf("schema %s\nbefore %s\nafter %s\nedits %s\nfound %v\nwhole %v", s.Text(), before, after, edits, found, all)
			}
			if len(all) == 0 {
				before = after
			}
		}
	})
	if valid == 0 {
		t.Error("no valid value was ever drawn")
	}
}
