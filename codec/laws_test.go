package codec_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
)

func codecOf[T any](t interface{ Fatal(...any) }) *codec.Codec[T] {
	c, err := codec.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// same compares what the JSON form holds.
func same(t *rapid.T, what string, got, want rich) {
	if edits := doc.Diff(doc.Must(want), doc.Must(got)); len(edits) > 0 {
		t.Fatalf("%s: want %s\ngot %s\nedits %s", what, doc.Must(want), doc.Must(got), edits)
	}
}

func TestEncodeIsFrom(t *testing.T) {
	c := codecOf[rich](t)
	rapid.Check(t, func(t *rapid.T) {
		x := drawRich(t, "x")
		want := doc.Must(x)
		got, err := c.Encode(x)
		if err != nil || !got.Equal(want) {
			t.Fatalf("%v\ngot  %s\nwant %s", err, got, want)
		}
		var text rich
		if err := want.Into(&text); err != nil {
			t.Fatal(err)
		}
		back, err := c.Decode(got)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "decoded", back, text)
	})
}

// salted is v with members that no type knows, in every object that is not a map of a game's.
func salted(t *rapid.T, v doc.Value, at string) doc.Value {
	switch kind := v.Kind(); {
	case kind == doc.KindObject:
		var b doc.Builder
		for name, m := range v.Members() {
			b.Add(name, salted(t, m, at+"/"+name))
		}
		if !isMap(at) && rapid.Bool().Draw(t, "salt") {
			b.Add("!unknown", doc.Must([]any{at, rapid.IntRange(0, 9).Draw(t, "n")}))
		}
		o, err := b.Object()
		if err != nil {
			t.Fatal(err)
		}
		return o
	case kind == doc.KindList:
		var items []doc.Value
		for _, item := range v.Items() {
			items = append(items, salted(t, item, at+"/*"))
		}
		return doc.List(items...)
	default:
		return v
	}
}

// isMap tells the places that hold maps and free values.
func isMap(at string) bool {
	for _, p := range []string{"/Map", "/Kinds", "/extra"} {
		if at == p {
			return true
		}
	}
	return strings.HasPrefix(at, "/Any") || strings.HasPrefix(at, "/Val")
}

func TestGraftOfTheUnchangedIsTheDocument(t *testing.T) {
	c := codecOf[rich](t)
	rapid.Check(t, func(t *rapid.T) {
		before := salted(t, doc.Must(drawRich(t, "x")), "")
		x, err := c.Decode(before)
		if err != nil {
			t.Fatal(err)
		}
		after, err := c.Graft(before, c.Clone(x))
		if err != nil {
			t.Fatal(err)
		}
		if edits := doc.Diff(before, after); len(edits) > 0 {
			t.Fatalf("before %s\nafter %s\nedits %s", before, after, edits)
		}
	})
}

func TestGraftHoldsTheValueAndKeepsTheRest(t *testing.T) {
	c := codecOf[rich](t)
	rapid.Check(t, func(t *rapid.T) {
		before := salted(t, doc.Must(drawRich(t, "x")), "")
		y := drawRich(t, "y")
		after, err := c.Graft(before, y)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Decode(after)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Decode(doc.Must(y))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "grafted", got, want)
		for _, at := range []string{"/!unknown", "/num/!unknown", "/Pair/0/!unknown", "/Pair/1/!unknown"} {
			p := doc.MustPath(at)
			was, there := before.Get(p)
			is, _ := after.Get(p)
			if there && !was.Equal(is) {
				t.Fatalf("%s was %s and is %s", at, was, is)
			}
		}
		for name, m := range before.Members() {
			if _, still := y.Map[name]; name != "Map" || !still {
				continue
			}
			was, there := m.Member("!unknown")
			is, _ := after.Get(doc.P("Map", name, "!unknown"))
			if there && !was.Equal(is) {
				t.Fatalf("map %s: %s became %s", name, was, is)
			}
		}
	})
}

func TestACloneSharesNothing(t *testing.T) {
	c := codecOf[rich](t)
	rapid.Check(t, func(t *rapid.T) {
		x := drawRich(t, "x")
		before := doc.Must(x)
		y := c.Clone(x)
		if !doc.Must(y).Equal(before) {
			t.Fatalf("the clone is %s, not %s", doc.Must(y), before)
		}
		scramble(&y)
		if now := doc.Must(x); !now.Equal(before) {
			t.Fatalf("changing the clone made\n%s of\n%s", now, before)
		}
	})
}

// numbersOf are numbers around the limits of Go's types.
var numbersOf = []any{
	127, 128, -128, -129, 65535, 65536, -1, 255.0, 1.0, int64(math.MaxInt64), int64(math.MinInt64), float64(1 << 63), -float64(1 << 63), 1e300, 3.5e38, math.MaxFloat32, 1<<53 + 1,
}

// corrupted is v with something else somewhere.
func corrupted(t *rapid.T, v doc.Value) doc.Value {
	if rapid.IntRange(0, 5).Draw(t, "here") == 0 {
		return doc.Must(rapid.SampledFrom(slices.Concat(small, numbersOf)).Draw(t, "other"))
	}
	switch kind := v.Kind(); {
	case kind == doc.KindObject && v.Len() > 0:
		var all []string
		for name := range v.Members() {
			all = append(all, name)
		}
		p := doc.P(rapid.SampledFrom(all).Draw(t, "name"))
		m, _ := v.Get(p)
		op := doc.Set(p, corrupted(t, m))
		if rapid.IntRange(0, 9).Draw(t, "unset") == 0 {
			op = doc.Unset(p)
		}
		after, err := doc.Apply(v, op)
		if err != nil {
			t.Fatal(err)
		}
		return after
	case kind == doc.KindList:
		var items []doc.Value
		for _, item := range v.Items() {
			switch rapid.IntRange(0, 4).Draw(t, "item") {
			case 0:
			case 1:
				items = append(items, corrupted(t, item), item)
			case 2:
				items = append(items, corrupted(t, item))
			default:
				items = append(items, item)
			}
		}
		return doc.List(items...)
	}
	return doc.Must(rapid.SampledFrom(small).Draw(t, "other"))
}

func TestCheckChangeFindsWhatDecodeFinds(t *testing.T) {
	c := codecOf[rich](t)
	bad := 0
	rapid.Check(t, func(t *rapid.T) {
		before := salted(t, doc.Must(drawRich(t, "x")), "")
		for range 5 {
			after := corrupted(t, before)
			_, want := c.Decode(after)
			got := c.CheckChange(after, doc.Diff(before, after))
			if (got == nil) != (want == nil) {
				t.Fatalf("before %s\nafter %s\nedits %s\ngot %v\nwant %v", before, after, doc.Diff(before, after), got, want)
			}
			if want == nil {
				before = after
			} else {
				bad++
			}
		}
	})
	if bad == 0 {
		t.Error("nothing was ever wrong")
	}
}
