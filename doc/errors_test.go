package doc_test

import (
	"errors"
	"math"
	"testing"

	"github.com/shoalworks/shoal/doc"
)

// Each refusal reads as one sentence that names place and reason, and unwraps to
// what callers test for.
func TestErrorsNamePlaceAndReason(t *testing.T) {
	apply := func(text string, op doc.Op) error {
		_, err := doc.Apply(parse(t, text), op)
		return err
	}
	edit := func(text string, e doc.Edit) error {
		_, err := doc.ApplyEdits(parse(t, text), []doc.Edit{e})
		return err
	}
	read := func(text string) error {
		_, err := doc.Parse([]byte(text), nil)
		return err
	}
	from := func(v any) error {
		_, err := doc.From(v)
		return err
	}
	wire := func(text string) error {
		var op doc.Op
		return op.UnmarshalJSON([]byte(text))
	}
	path := func(text string) error {
		_, err := doc.ParsePath(text)
		return err
	}
	one := doc.Int(1)
	for _, tc := range []struct {
		err  error
		is   error
		want string
	}{
		{
			apply(`{"a":1}`, doc.Set("/a/b", one)), doc.ErrWrongType,
			`doc: op 0, set "/a/b": wrong kind of value: "b" leads into a value of kind int`,
		},
		{
			apply(`{}`, doc.Increment("/a/b", 1)), doc.ErrNoPath,
			`doc: op 0, increment "/a/b": nothing at this path: "a" is missing`,
		},
		{
			apply(`{"l":[1]}`, doc.RemoveAt("/l", 1)), doc.ErrIndex,
			`doc: op 0, remove "/l": index outside the list: 1 of a list of 1`,
		},
		{
			apply(`{"n":1}`, doc.Increment("/n", math.MaxInt64)), doc.ErrOverflow,
			`doc: op 0, increment "/n": number out of range: 1+9223372036854775807`,
		},
		{
			apply(`{"n":1}`, doc.Increment("/n", -2).AtLeast(doc.Int(0))), doc.ErrBounds,
			`doc: op 0, increment "/n": outside the bounds: the result would pass 0`,
		},
		{
			apply(`{"n":1}`, doc.CompareAndSet("/n", doc.Int(2), one)), doc.ErrMismatch,
			`doc: op 0, compareAndSet "/n": not the expected value`,
		},
		{
			apply(`{"n":1}`, doc.SetIfAbsent("/n", one)), doc.ErrMismatch,
			`doc: op 0, compareAndSet "/n": not the expected value: something is there`,
		},
		{
			apply(`{}`, doc.Set("n", one)), doc.ErrBadPath,
			`doc: op 0, set "": bad path "n": it must begin with a slash`,
		},
		{
			apply(`{}`, doc.Set("/x", nested(64))), doc.ErrTooDeep,
			`doc: op 0, set "/x": nested too deep: 65 levels`,
		},
		{
			apply(`{}`, doc.Merge("/x", one)), doc.ErrBadOp,
			`doc: op 0, merge "/x": malformed operation: what is merged must be of kind object, not int`,
		},
		{
			edit(`{"l":[1]}`, doc.Edit{Kind: doc.EditSplice, Path: doc.P("l"), Index: 1, Remove: 1, Value: doc.List()}), doc.ErrIndex,
			`doc: edit 0 at "/l": index outside the list: 1 and 1 more of a list of 1`,
		},
		{
			read(`{"a":[{"b":1,"b":2}]}`), doc.ErrDuplicate,
			`doc: parse at byte 16 in "/a/0/b": duplicate member name`,
		},
		{
			read(`[1,2`), nil,
			`doc: parse at byte 4 in "": unexpected EOF`,
		},
		{
			read(`{} 1`), nil,
			`doc: parse at byte 4 in "": text behind the value`,
		},
		{
			from(map[string]any{"a": []any{math.NaN()}}), doc.ErrNotFinite,
			`doc: value at "/a/0": not a finite number`,
		},
		{
			from(map[string]any{"a": map[int]bool{}}), doc.ErrUnsupported,
			`doc: value at "/a": no JSON form for this Go value: a map with names of type int`,
		},
		{
			wire(`{"op":"set","path":"","value":1,"speed":2}`), doc.ErrBadOp,
			`doc: malformed operation: the operation set has no field "speed"`,
		},
		{
			wire(`{"op":"set","path":"x","value":1}`), doc.ErrBadOp,
			`doc: malformed operation: "path" of an operation: bad path "x": it must begin with a slash`,
		},
		{
			path("/a~b"), doc.ErrBadPath,
			`doc: bad path "/a~b": a tilde must be followed by 0 or 1`,
		},
	} {
		if tc.err == nil || tc.err.Error() != tc.want {
			t.Errorf("%v\nwant %s", tc.err, tc.want)
		}
		if tc.is != nil && !errors.Is(tc.err, tc.is) {
			t.Errorf("%v is not %v", tc.err, tc.is)
		}
	}
}

// The sentinels are different conditions: no error is two of them by accident.
func TestSentinelsAreApart(t *testing.T) {
	all := []error{
		doc.ErrNoPath, doc.ErrWrongType, doc.ErrOverflow, doc.ErrBounds, doc.ErrMismatch, doc.ErrIndex, doc.ErrTooDeep,
		doc.ErrTooLarge, doc.ErrBadPath, doc.ErrBadOp, doc.ErrNotFinite, doc.ErrUTF8, doc.ErrDuplicate, doc.ErrUnsupported,
	}
	texts := make(map[string]bool)
	for i, a := range all {
		if texts[a.Error()] {
			t.Errorf("two sentinels say %q", a)
		}
		texts[a.Error()] = true
		for j, b := range all {
			if errors.Is(a, b) != (i == j) {
				t.Errorf("%v is %v", a, b)
			}
		}
	}
}

// A refused decoding leaves the receiver as it was.
func TestRefusedDecodingChangesNothing(t *testing.T) {
	v, op := parse(t, `{"a":1}`), doc.Set("/a", doc.Int(1))
	edit := doc.Diff(v, parse(t, `{"a":2}`))[0]
	effects := doc.EffectsBetween(v, parse(t, `{"a":2}`))
	p := doc.P("a")
	before := []string{v.String(), op.String(), edit.String(), effects.String(), p.String()}
	for i, err := range []error{
		v.UnmarshalJSON([]byte(`{`)),
		op.UnmarshalJSON([]byte(`{"op":"set","path":"/b","value":1,"x":1}`)),
		edit.UnmarshalJSON([]byte(`{"edit":"set","path":"/b","value":1,"x":1}`)),
		effects.UnmarshalJSON([]byte(`{"set":{"/b":1},"x":1}`)),
		p.UnmarshalText([]byte("b")),
	} {
		if err == nil {
			t.Errorf("decoding %d was not refused", i)
		}
	}
	for i, after := range []string{v.String(), op.String(), edit.String(), effects.String(), p.String()} {
		if after != before[i] {
			t.Errorf("%s became %s", before[i], after)
		}
	}
}
