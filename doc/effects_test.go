package doc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// The effects of a trail, applied to every state of its history, give the last
// one; also twice, and after the wire.
func TestTrailIsRightOnEveryState(t *testing.T) { rapid.Check(t, trailIsRightOnEveryState) }

func trailIsRightOnEveryState(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	states := []doc.Value{doc.Must(model)}
	var trail doc.Trail
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		op := genOp(model).Draw(t, "op")
		next, err := modelApply(model, op)
		if err != nil {
			continue
		}
		model = next
		prev := states[len(states)-1]
		now, _ := doc.Apply(prev, op)
		trail.Add(prev, now)
		states = append(states, now)
	}
	now := states[len(states)-1]
	effects := trail.Effects(now)
	if effects.Len() == 0 && !trail.Empty() {
		t.Fatal("a trail that is not empty has no effects")
	}
	for i, s := range states {
		lands(t, fmt.Sprintf("state %d", i), effects, s, now)
	}
	lands(t, "after the wire", rewired(t, effects), states[0], now)
}

func lands(t *rapid.T, what string, e doc.Effects, from, want doc.Value) {
	got, err := e.Apply(from)
	if err != nil || !got.Equal(want) {
		t.Fatalf("%s: %v on %s gives %s (%v), want %s", what, e, from, got, err, want)
	}
	if err := doc.Check(got); err != nil {
		t.Fatal(err)
	}
	if again, err := e.Apply(got); err != nil || !again.Equal(got) {
		t.Fatalf("%s: applying twice gives %s (%v)", what, again, err)
	}
}

func rewired(t *rapid.T, e doc.Effects) doc.Effects {
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back doc.Effects
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !back.Equal(e) || back.Len() != e.Len() {
		t.Fatalf("%s became %v", text, back)
	}
	return back
}

// Long lists: shifts, appends, cuts and changes of single items, over many steps.
func TestTrailOfLongLists(t *testing.T) { rapid.Check(t, trailOfLongLists) }

func trailOfLongLists(t *rapid.T) {
	var items []doc.Value
	for i := range rapid.SampledFrom([]int{0, 3, 100}).Draw(t, "length") {
		items = append(items, doc.Must(map[string]any{"id": i, "n": 0}))
	}
	states := []doc.Value{doc.MustObject(map[string]doc.Value{"l": doc.List(items...)})}
	var trail doc.Trail
	for range rapid.IntRange(1, 10).Draw(t, "steps") {
		prev := states[len(states)-1]
		now := prev
		for k := range rapid.IntRange(1, 3).Draw(t, "ops") {
			if next, err := doc.Apply(now, genListOp(now, k).Draw(t, "op")); err == nil {
				now = next
			}
		}
		trail.Add(prev, now)
		states = append(states, now)
	}
	now := states[len(states)-1]
	for i, s := range states {
		lands(t, fmt.Sprintf("state %d", i), trail.Effects(now), s, now)
	}
	lands(t, "after the wire", rewired(t, trail.Effects(now)), states[0], now)
}

// genListOp changes the list at /l somewhere.
func genListOp(v doc.Value, n int) *rapid.Generator[doc.Op] {
	list, _ := v.Member("l")
	return rapid.Custom(func(t *rapid.T) doc.Op {
		at := rapid.IntRange(0, max(0, list.Len()-1)).Draw(t, "at")
		item := doc.Int(int64(n))
		return rapid.SampledFrom([]doc.Op{
			doc.AppendTo("/l", item),
			doc.InsertAt("/l", at, item),
			doc.RemoveAt("/l", at),
			doc.Set(doc.P("l").AppendIndex(at).Append("n"), item),
			doc.Set(doc.P("l").AppendIndex(at), item),
			doc.Increment(doc.P("l").AppendIndex(at).Append("n"), 1),
		}).Draw(t, "op")
	})
}

// Two trails joined are the trail of both stretches: this is how a journal keeps
// what came after the snapshot of a save that is still in flight.
func TestJoinedTrails(t *testing.T) { rapid.Check(t, joinedTrails) }

func joinedTrails(t *rapid.T) {
	model := genTree(3).Draw(t, "document")
	base := doc.Must(model)
	var first, second doc.Trail
	middle := walk(t, base, &model, &first)
	now := walk(t, middle, &model, &second)
	lands(t, "second", second.Effects(now), middle, now)
	before := second.Effects(now)
	first.Join(&second)
	lands(t, "joined", first.Effects(now), base, now)
	lands(t, "joined", first.Effects(now), middle, now)
	if !second.Effects(now).Equal(before) {
		t.Fatal("joining changed the trail that was joined")
	}
	later := walk(t, now, &model, &first)
	lands(t, "gone on", first.Effects(later), base, later)
	if !second.Effects(now).Equal(before) {
		t.Fatal("the joined trails share marks")
	}
}

func walk(t *rapid.T, v doc.Value, model *any, trail *doc.Trail) doc.Value {
	for range rapid.IntRange(0, 5).Draw(t, "steps") {
		op := genOp(*model).Draw(t, "op")
		next, err := modelApply(*model, op)
		if err != nil {
			continue
		}
		*model = next
		now, _ := doc.Apply(v, op)
		trail.Add(v, now)
		v = now
	}
	return v
}

// A list that one trail cut, and in which another touched an item behind the cut,
// is cut; one that was cut later loses what was touched behind it.
func TestJoinedTrailsOfOneList(t *testing.T) {
	s0 := parse(t, `[1,2,3,4,5,6,7]`)
	s1 := parse(t, `[1,2,3,4,5,6]`)
	s2 := parse(t, `[1,2,3,4,9,6]`)
	s3 := parse(t, `[1,2,3,4]`)
	for _, states := range [][]doc.Value{{s0, s1, s2}, {s1, s2, s3}, {s0, s1, s2, s3}, {s3, s0, s1, s2}} {
		var joined doc.Trail
		for i := range states[1:] {
			var one doc.Trail
			one.Add(states[i], states[i+1])
			joined.Join(&one)
		}
		now := states[len(states)-1]
		effects := joined.Effects(now)
		var back doc.Effects
		if err := back.UnmarshalJSON([]byte(effects.String())); err != nil {
			t.Fatalf("%s: %v", effects, err)
		}
		for _, s := range states {
			if got, err := back.Apply(s); err != nil || !got.Equal(now) {
				t.Errorf("%s on %s gives %s (%v), want %s", effects, s, got, err, now)
			}
		}
	}
}

func TestEffectsBetweenIsMinimal(t *testing.T) {
	for _, tc := range []struct{ base, now, want string }{
		{`{"a":1}`, `{"a":1}`, `{}`},
		{`{"a":1,"b":2,"c":{"d":1,"e":2}}`, `{"a":5,"c":{"d":1,"e":3,"f":4}}`, `{"set":{"/a":5,"/c/e":3,"/c/f":4},"unset":["/b"]}`},
		{`{"l":[1,2,3]}`, `{"l":[1,2,3,4]}`, `{"tail":{"/l":{"from":3,"items":[4]}}}`},
		{`{"l":[1,2,3]}`, `{"l":[1,2]}`, `{"tail":{"/l":{"from":2,"items":[]}}}`},
		{`{"l":[1,2,3,4]}`, `{"l":[1,3,4]}`, `{"tail":{"/l":{"from":1,"items":[3,4]}}}`},
		{`{"l":[{"n":1,"m":1},2,3,4,5]}`, `{"l":[{"n":2,"m":1},2,3,4,5,6]}`, `{"set":{"/l/0/n":2},"tail":{"/l":{"from":5,"items":[6]}}}`},
		{`{"l":[1,2,3,4]}`, `{"l":[1,9,3,4]}`, `{"set":{"/l/1":9}}`},
		{`{"l":[1,2,3,4]}`, `{"l":[9,8,7,4]}`, `{"tail":{"/l":{"from":0,"items":[9,8,7,4]}}}`},
		{`1`, `2`, `{"set":{"":2}}`},
		{`{"a":[1]}`, `{"a":{"0":1}}`, `{"set":{"/a":{"0":1}}}`},
		{`[1]`, `[]`, `{"tail":{"":{"from":0,"items":[]}}}`},
	} {
		e := doc.EffectsBetween(parse(t, tc.base), parse(t, tc.now))
		text, err := json.Marshal(e)
		if err != nil || string(text) != tc.want {
			t.Errorf("%s to %s: %s (%v), want %s", tc.base, tc.now, text, err, tc.want)
		}
		if e.Size() != len(text) {
			t.Errorf("%s: size %d, want %d", text, e.Size(), len(text))
		}
	}
}

// What changed and changed back is in a trail, and not between the two ends: that
// is why a journal needs the trail.
func TestTrailKnowsWhatChangedBack(t *testing.T) {
	s0, s1 := parse(t, `{"gold":1}`), parse(t, `{"gold":2}`)
	var trail doc.Trail
	trail.Add(s0, s1)
	trail.Add(s1, s0)
	got, err := trail.Effects(s0).Apply(s1)
	if err != nil || !got.Equal(s0) {
		t.Fatalf("the trail gives %s (%v), want %s", got, err, s0)
	}
	if n := doc.EffectsBetween(s0, s0).Len(); n != 0 {
		t.Fatalf("%d effects between equal states", n)
	}
}

// A place that became something else in between is set as a whole.
func TestTrailOfChangingKinds(t *testing.T) {
	var states []doc.Value
	for _, text := range []string{`{"a":{"x":1}}`, `{"a":5}`, `{"a":[1,2]}`, `{"a":[1,2,3]}`, `{}`, `{"a":{"x":1,"y":2}}`} {
		states = append(states, parse(t, text))
	}
	var trail doc.Trail
	for i := range states[1:] {
		trail.Add(states[i], states[i+1])
	}
	now := states[len(states)-1]
	e := trail.Effects(now)
	for _, s := range states {
		if got, err := e.Apply(s); err != nil || !got.Equal(now) {
			t.Errorf("on %s: %s (%v)", s, got, err)
		}
	}
	trail.Reset()
	if !trail.Empty() || trail.Effects(now).Len() != 0 {
		t.Error("a trail is not empty after Reset")
	}
}

// A trail is bounded: names that come and go for ever do not make it grow.
func TestTrailIsBounded(t *testing.T) {
	var trail doc.Trail
	empty := parse(t, `{"bag":{},"gold":1}`)
	for i := range doc.MaxMarks + 10 {
		with, err := doc.Apply(empty, doc.Set(doc.P("bag", fmt.Sprint(i)), doc.Int(1)))
		if err != nil {
			t.Fatal(err)
		}
		trail.Add(empty, with)
		trail.Add(with, empty)
	}
	e := trail.Effects(empty)
	if e.Len() != 1 {
		t.Fatalf("%d effects, want the document as a whole", e.Len())
	}
	if got, err := e.Apply(doc.Null()); err != nil || !got.Equal(empty) {
		t.Fatalf("gives %s (%v)", got, err)
	}
}

// The limit counts marks that are there, not marks that were: a place that went
// as a whole is one mark, whatever had been marked inside it.
func TestTrailRecounts(t *testing.T) {
	var trail doc.Trail
	now := parse(t, `{"a":{},"b":{},"k":1}`)
	base := now
	step := func(op doc.Op) {
		next, err := doc.Apply(now, op)
		if err != nil {
			t.Fatal(err)
		}
		trail.Add(now, next)
		now = next
	}
	for _, bag := range []string{"a", "b"} {
		for i := range doc.MaxMarks * 2 / 3 {
			step(doc.Set(doc.P(bag, fmt.Sprint(i)), doc.Int(1)))
		}
		step(doc.Set(doc.P(bag), doc.Int(0)))
	}
	var paths []string
	for e := range trail.Effects(now).All() {
		paths = append(paths, e.Path.String())
	}
	if diff := cmp.Diff([]string{"/a", "/b"}, paths); diff != "" {
		t.Fatal(diff)
	}
	if got, err := trail.Effects(now).Apply(base); err != nil || !got.Equal(now) {
		t.Fatalf("gives %s (%v)", got, err)
	}
}

func TestEffectsRefuseStrangers(t *testing.T) {
	for _, tc := range []struct {
		effects, v string
		want       error
	}{
		{`{"set":{"/a/b":1}}`, `{}`, doc.ErrNoPath},
		{`{"set":{"/a/b":1}}`, `{"a":1}`, doc.ErrWrongType},
		{`{"set":{"/a/3":1}}`, `{"a":[1,2,3]}`, doc.ErrIndex},
		{`{"set":{"/a/-":1}}`, `{"a":[1,2,3]}`, doc.ErrIndex},
		{`{"unset":["/a/b"]}`, `{}`, doc.ErrNoPath},
		{`{"unset":["/a/0"]}`, `{"a":[1]}`, doc.ErrWrongType},
		{`{"tail":{"/a":{"from":2,"items":[]}}}`, `{"a":[1]}`, doc.ErrIndex},
		{`{"tail":{"/a":{"from":0,"items":[]}}}`, `{"a":1}`, doc.ErrWrongType},
		{`{"tail":{"/a":{"from":0,"items":[]}}}`, `{}`, doc.ErrNoPath},
	} {
		var e doc.Effects
		if err := json.Unmarshal([]byte(tc.effects), &e); err != nil {
			t.Fatal(err)
		}
		v := parse(t, tc.v)
		got, err := e.Apply(v)
		var at *doc.EditError
		if !errors.Is(err, tc.want) || !errors.As(err, &at) || !got.Equal(v) {
			t.Errorf("%s on %s: %s, %v, want %v", tc.effects, tc.v, got, err, tc.want)
		}
	}
	deep, err := json.Marshal(map[string]any{"set": map[string]any{"/a": nested(doc.DefaultMaxDepth)}})
	if err != nil {
		t.Fatal(err)
	}
	var e doc.Effects
	if err := json.Unmarshal(deep, &e); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(parse(t, `{}`)); !errors.Is(err, doc.ErrTooDeep) {
		t.Errorf("too deep: %v", err)
	}
}

func TestEffectsJSONIsStrict(t *testing.T) {
	for _, text := range []string{
		`[]`, `{"x":1}`, `{"set":[]}`, `{"unset":{}}`, `{"unset":[1]}`, `{"unset":[""]}`, `{"tail":[]}`,
		`{"set":{"a":1}}`, `{"set":{"/a":1,"/a/b":2}}`, `{"set":{"":1,"/a":2}}`, `{"set":{"/a":1},"unset":["/a"]}`,
		`{"set":{"/a/b":1},"unset":["/a"]}`, `{"unset":["/a","/a"]}`,
		`{"tail":{"/l":{"from":0}}}`, `{"tail":{"/l":{"from":-1,"items":[]}}}`, `{"tail":{"/l":{"from":0,"items":1}}}`,
		`{"tail":{"/l":{"from":0,"items":[],"to":1}}}`, `{"tail":{"/l":1}}`,
		`{"set":{"/l/3":1},"tail":{"/l":{"from":3,"items":[]}}}`, `{"set":{"/l":1},"tail":{"/l":{"from":3,"items":[]}}}`,
		`{"tail":{"/l":{"from":3,"items":[]},"/l/3":{"from":0,"items":[]}}}`,
	} {
		var e doc.Effects
		if err := e.UnmarshalJSON([]byte(text)); !errors.Is(err, doc.ErrBadOp) {
			t.Errorf("%s: error %v, want ErrBadOp", text, err)
		}
	}
	var e doc.Effects
	if err := e.UnmarshalJSON([]byte(`{"set":`)); !errors.As(err, new(*doc.SyntaxError)) {
		t.Errorf("no JSON: %v", err)
	}
	ok := `{"set":{"/l/2/x":1},"tail":{"/l":{"from":3,"items":[1]}},"unset":["/l/1/y"]}`
	if err := e.UnmarshalJSON([]byte(ok)); err != nil || e.Len() != 3 {
		t.Errorf("%s: %v", ok, err)
	}
}
