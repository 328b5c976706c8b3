package doc_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// wellFormed holds the text of effects against the plain way to make it.
func wellFormed(t *rapid.T, e doc.Effects) {
	want := string(doc.BuiltForm(e).Encode())
	if got := string(e.AppendJSON([]byte("before"))); got != "before"+want {
		t.Fatalf("got\n%s, want\n%s", got, want)
	}
	if got, err := e.MarshalJSON(); string(got) != want || err != nil {
		t.Fatalf("got\n%s, %v, want\n%s", got, err, want)
	}
	if e.Size() != len(want) {
		t.Fatalf("size %d, want %d: %s", e.Size(), len(want), want)
	}
}

// The text of the effects of any history is that of the value that they are.
func TestEffectsAreWrittenAsTheValueTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := genTree(3).Draw(t, "document")
		var trail doc.Trail
		now := walk(t, walk(t, doc.Must(model), &model, &trail), &model, &trail)
		wellFormed(t, trail.Effects(now))
	})
}

// genStrangeName has names whose order in a pointer is another than by themselves.
func genStrangeName() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		letters := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "~", "-", ".", "0", "1", "\"", "\\", "\n", "\x01", "}", "é", " "}), 0, 3)
		return strings.Join(letters.Draw(t, "letters"), "")
	})
}

// So it is for names that nobody would choose, in whatever order the effects are.
func TestEffectsAtStrangeNamesAreWrittenAsTheValueTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seen := make(map[string]bool)
		var list []doc.Effect
		for range rapid.IntRange(0, 8).Draw(t, "effects") {
			p := doc.P(rapid.SliceOfN(genStrangeName(), 1, 3).Draw(t, "path")...)
			if seen[p.String()] {
				continue
			}
			seen[p.String()] = true
			kind := rapid.SampledFrom([]doc.EffectKind{doc.EffectSet, doc.EffectUnset, doc.EffectTail}).Draw(t, "kind")
			x := doc.Effect{Kind: kind, Path: p}
			switch kind {
			case doc.EffectSet:
				x.Value = doc.Must(genTree(2).Draw(t, "value"))
			case doc.EffectTail:
				x.From, x.Value = rapid.IntRange(0, 200).Draw(t, "from"), doc.List(doc.Int(1), doc.Null())
			case doc.EffectUnset:
			}
			list = append(list, x)
		}
		wellFormed(t, doc.EffectsOf(list...))
	})
}

func TestPointersAreComparedAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(genStrangeName(), 0, 3)
		p, q := doc.P(names.Draw(t, "p")...), doc.P(names.Draw(t, "q")...)
		sign := func(n int) int { return max(-1, min(1, n)) }
		if got, want := sign(doc.ComparePointers(p, q)), strings.Compare(p.String(), q.String()); got != want {
			t.Fatalf("%q and %q: got %d, want %d", p, q, got, want)
		}
	})
}

// Memory that is used again holds nothing of what was in it, and gives nothing away.
func TestEffectsInTheMemoryOfOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var room doc.Effects
		for range 3 {
			model := genTree(3).Draw(t, "document")
			base := doc.Must(model)
			var trail doc.Trail
			now := walk(t, base, &model, &trail)
			trail.EffectsInto(&room, now)
			want := trail.Effects(now)
			if got := slices.Collect(room.All()); len(got) != want.Len() || string(room.AppendJSON(nil)) != want.String() {
				t.Fatalf("got %v, want %v", got, want)
			}
			lands(t, "in used memory", room, base, now)
		}
	})
}

func TestEffectsIntoAllocatesNothingTwice(t *testing.T) {
	base := parse(t, `{"bag":{"a":1,"b":2,"c":3},"coins":1,"l":[1,2,3,4,5,6]}`)
	now, err := doc.Apply(base, doc.Set("/bag/a", doc.Int(7)), doc.Set("/bag/c", doc.Int(7)), doc.Increment("/coins", 1), doc.Set("/l/1", doc.Int(9)))
	if err != nil {
		t.Fatal(err)
	}
	var (
		trail doc.Trail
		room  doc.Effects
		text  []byte
	)
	trail.Add(base, now)
	if n := testing.AllocsPerRun(100, func() {
		trail.EffectsInto(&room, now)
		text = room.AppendJSON(text[:0])
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if want := `{"set":{"/bag/a":7,"/bag/c":7,"/coins":2,"/l/1":9}}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
