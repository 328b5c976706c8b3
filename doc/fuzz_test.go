package doc_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// What parses is JSON, round-trips through its canonical encoding, and that
// encoding is stable.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`null`, `[1,-0,1.0,-0.0,1e21,1e-7,9223372036854775807]`, `{"b":{"":[]},"a":"\u0000\ud83d\ude00\\"}`,
		`{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `[[[[[[]]]]]]`, ` {} x`, `1e999`, `-`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agreesWithJSON(t, data)
		v, err := doc.Parse(data, nil)
		if err != nil {
			return
		}
		check(t, v)
		text := v.Encode()
		again, err := doc.Parse(text, &doc.Limits{MaxBytes: -1})
		if err != nil || !again.Equal(v) || !v.Equal(again) {
			t.Fatalf("%s came back as %s (%v)", text, again, err)
		}
		if !bytes.Equal(again.Encode(), text) || again.Digest() != v.Digest() {
			t.Fatalf("the encoding of %s is not stable", text)
		}
		if other := doc.Must(v.Any()); !other.Equal(v) {
			t.Fatalf("%s through Go values is %s", v, other)
		}
	})
}

// A JSON Pointer that parses prints as it was, and its parts make it again.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"", "/", "/a/b", "/~0~1", "//", "/-/0/01", "a", "/~2", "/\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := doc.ParsePath(text)
		if err != nil {
			return
		}
		if p.String() != text {
			t.Fatalf("%q became %q", text, p)
		}
		if !doc.P(p.Segments()...).Equal(p) || !p.Parent().Append(p.Segments()[max(0, p.Len()-1):]...).Equal(p) {
			t.Fatalf("%q does not survive being taken apart", text)
		}
		var back doc.Path
		wire, _ := p.MarshalText()
		if err := back.UnmarshalText(wire); err != nil || back.Compare(p) != 0 {
			t.Fatalf("%q does not survive as text", text)
		}
	})
}

// An operation that can be read can be written, and doing it never panics.
func FuzzOpJSON(f *testing.F) {
	for _, text := range []string{
		`{"op":"set","path":"/a/b","value":{"c":1}}`, `{"op":"unset","path":"/a"}`,
		`{"op":"increment","path":"/n","by":3,"min":0,"max":9,"clamp":true}`,
		`{"op":"append","path":"/l","items":[1]}`, `{"op":"insert","path":"/l","index":1,"value":2}`,
		`{"op":"remove","path":"/l","index":0}`, `{"op":"merge","path":"","value":{"a":{}}}`,
		`{"op":"compareAndSet","path":"/n","old":1,"value":2}`, `{"op":"compareAndUnset","path":"/n","old":1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var op, back doc.Op
		if op.UnmarshalJSON(data) != nil {
			return
		}
		wire, err := op.MarshalJSON()
		if err != nil {
			t.Fatalf("%s cannot be written: %v", data, err)
		}
		if err := back.UnmarshalJSON(wire); err != nil || back.String() != op.String() {
			t.Fatalf("%s came back as %s (%v)", wire, back, err)
		}
		v := parse(t, `{"a":{"b":1},"n":1,"l":[1,2,{"x":1.5}]}`)
		got, err := doc.Apply(v, op)
		if (err != nil) != got.Equal(v) && err != nil {
			t.Fatalf("refused and changed: %s", got)
		}
		check(t, got)
	})
}

// Edits and effects that can be read can be written; doing them never panics, and
// effects are idempotent.
func FuzzChangesJSON(f *testing.F) {
	for _, text := range []string{
		`{"edit":"set","path":"/a/b","value":1}`, `{"edit":"unset","path":"/a"}`,
		`{"edit":"splice","path":"/l","index":1,"remove":1,"insert":[3,4]}`,
		`{"set":{"/a/b":2,"/l/0":1},"unset":["/n"],"tail":{"/l":{"from":1,"items":[7]}}}`,
		`{"set":{"":1}}`, `{"set":{"/l/-":1}}`, `{"set":{"/l/2":{}},"tail":{"/l":{"from":3,"items":[]}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v := parse(t, `{"a":{"b":1},"n":1,"l":[1,2,{"x":1.5}]}`)
		var e doc.Edit
		if e.UnmarshalJSON(data) == nil {
			got, _ := doc.ApplyEdits(v, []doc.Edit{e})
			check(t, got)
		}
		var effects, back doc.Effects
		if effects.UnmarshalJSON(data) != nil {
			return
		}
		if err := back.UnmarshalJSON([]byte(effects.String())); err != nil || !back.Equal(effects) {
			t.Fatalf("%s came back as %s (%v)", effects, back, err)
		}
		got, err := effects.Apply(v)
		if err != nil {
			return
		}
		check(t, got)
		if again, err := effects.Apply(got); err != nil || !again.Equal(got) {
			t.Fatalf("%s twice: %s, then %s (%v)", effects, got, again, err)
		}
	})
}

func FuzzOperationsMatchModel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(operationsMatchModel)) }

func FuzzDiffThenApply(f *testing.F) { f.Fuzz(rapid.MakeFuzz(diffThenApplyIsIdentity)) }

func FuzzTrail(f *testing.F) { f.Fuzz(rapid.MakeFuzz(trailIsRightOnEveryState)) }

// Go values of the model go in and come out the same.
func TestGoValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := genTree(4).Draw(t, "value")
		v := doc.Must(model)
		if diff := cmp.Diff(model, v.Any()); diff != "" {
			t.Fatal(diff)
		}
		parsed, err := doc.Parse(v.Encode(), nil)
		if err != nil || !parsed.Equal(v) || doc.Check(v) != nil {
			t.Fatalf("%s came back as %s (%v)", v, parsed, err)
		}
	})
}
