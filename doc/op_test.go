package doc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
)

const sample = `{"a":{"b":1},"f":1.5,"l":[1,[2],{"x":3}],"n":5,"s":"text","z":null}`

// What each operation makes of a document.
func TestOperations(t *testing.T) {
	one := doc.Int(1)
	object := func(text string) doc.Value { return parse(t, text) }
	for _, tc := range []struct {
		name string
		op   doc.Op
		path string // where to look afterwards
		want string // what is there; "" means nothing
	}{
		{"set a member", doc.Set("/n", one), "/n", `1`},
		{"set the document", doc.Set("", one), "", `1`},
		{"set a new member", doc.Set("/new", one), "/new", `1`},
		{"set creates parents", doc.Set("/a/x/y/z", one), "/a", `{"b":1,"x":{"y":{"z":1}}}`},
		{"set creates objects for numbers", doc.Set("/players/42", one), "/players", `{"42":1}`},
		{"set an item", doc.Set("/l/1", one), "/l", `[1,1,{"x":3}]`},
		{"set below an item", doc.Set("/l/2/y", one), "/l/2", `{"x":3,"y":1}`},
		{"set behind a list", doc.Set("/l/-", one), "/l", `[1,[2],{"x":3},1]`},
		{"set replaces null", doc.Set("/z", one), "/z", `1`},
		{"unset", doc.Unset("/a/b"), "/a", `{}`},
		{"unset what is missing", doc.Unset("/q/r"), "", sample},
		{"unset below a scalar", doc.Unset("/n/r"), "", sample},
		{"unset far below", doc.Unset(doc.P(make([]string, 100)...)), "", sample},
		{"unset inside an item", doc.Unset("/l/2/x"), "/l/2", `{}`},
		{"unset below a missing item", doc.Unset("/l/9/x"), "", sample},
		{"increment", doc.Increment("/n", -7), "/n", `-2`},
		{"increment by int64", doc.Increment("/n", int64(2)), "/n", `7`},
		{"increment by a value", doc.Increment("/n", doc.Int(2)), "/n", `7`},
		{"increment a float", doc.Increment("/f", 0.25), "/f", `1.75`},
		{"increment a float by an integer", doc.Increment("/f", 2), "/f", `3.5`},
		{"increment an item", doc.Increment("/l/0", 1), "/l/0", `2`},
		{"increment what is missing", doc.Increment("/new", 3), "/new", `3`},
		{"increment what is missing by a float", doc.Increment("/new", 3.0), "/new", `3.0`},
		{"increment inside bounds", doc.Increment("/n", -5).AtLeast(doc.Int(0)).AtMost(doc.Int(9)), "/n", `0`},
		{"increment to the upper bound", doc.Increment("/n", 4).AtMost(doc.Int(9)), "/n", `9`},
		{"clamp below", doc.Increment("/n", -50).AtLeast(doc.Int(0)).Clamped(), "/n", `0`},
		{"clamp above", doc.Increment("/n", 50).AtMost(doc.Int(9)).Clamped(), "/n", `9`},
		{"clamp an overflow", doc.Increment("/n", math.MaxInt64).AtMost(doc.Int(9)).Clamped(), "/n", `9`},
		{"clamp an underflow", doc.Increment(doc.P("m"), math.MinInt64).AtLeast(doc.Int(math.MinInt64)), "/m", `-9223372036854775808`},
		{"clamp a float", doc.Increment("/f", 9.5).AtMost(doc.Int(2)).Clamped(), "/f", `2.0`},
		{"clamp a float below", doc.Increment("/f", -9.5).AtLeast(doc.MustFloat(0.5)).Clamped(), "/f", `0.5`},
		{"clamp an overflow of floats", doc.Increment("/f", math.MaxFloat64).AtMost(doc.Int(2)).Clamped(), "/f", `2.0`},
		{"append", doc.AppendTo("/l", one, doc.Null()), "/l", `[1,[2],{"x":3},1,null]`},
		{"append nothing", doc.AppendTo("/l"), "/l", `[1,[2],{"x":3}]`},
		{"append to what is missing", doc.AppendTo("/new", one), "/new", `[1]`},
		{"append inside a list", doc.AppendTo("/l/1", one), "/l/1", `[2,1]`},
		{"insert first", doc.InsertAt("/l", 0, one), "/l", `[1,1,[2],{"x":3}]`},
		{"insert last", doc.InsertAt("/l", 3, one), "/l", `[1,[2],{"x":3},1]`},
		{"insert into what is missing", doc.InsertAt("/new", 0, one), "/new", `[1]`},
		{"remove", doc.RemoveAt("/l", 1), "/l", `[1,{"x":3}]`},
		{"remove the last", doc.RemoveAt("/l/1", 0), "/l/1", `[]`},
		{"merge", doc.Merge("", object(`{"a":{"c":2},"n":{"x":1},"l":[9],"z":{}}`)), "", `{"a":{"b":1,"c":2},"f":1.5,"l":[9],"n":{"x":1},"s":"text","z":{}}`},
		{"merge null", doc.Merge("/a", object(`{"b":null}`)), "/a", `{"b":null}`},
		{"merge nothing", doc.Merge("/a", object(`{}`)), "", sample},
		{"merge creates", doc.Merge("/x/y", object(`{"b":1}`)), "/x", `{"y":{"b":1}}`},
		{"merge into an item", doc.Merge("/l/2", object(`{"y":{}}`)), "/l/2", `{"x":3,"y":{}}`},
		{"compare and set", doc.CompareAndSet("/n", doc.Int(5), one), "/n", `1`},
		{"compare null and set", doc.CompareAndSet("/z", doc.Null(), one), "/z", `1`},
		{"compare an object and set", doc.CompareAndSet("/a", object(`{"b":1}`), one), "/a", `1`},
		{"set if absent", doc.SetIfAbsent("/new/x", one), "/new", `{"x":1}`},
		{"compare and unset", doc.CompareAndUnset("/l/2/x", doc.Int(3)), "/l/2", `{}`},
	} {
		v := parse(t, sample)
		got, err := doc.Apply(v, tc.op)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		at, ok, _ := got.Lookup(tc.path)
		if !ok || at.String() != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, at, tc.want)
		}
		check(t, got)
		if v.String() != sample {
			t.Errorf("%s: the document changed to %s", tc.name, v)
		}
	}
}

// What each operation refuses, and why.
func TestOperationsRefuse(t *testing.T) {
	one := doc.Int(1)
	big := doc.Int(math.MaxInt64)
	for _, tc := range []struct {
		name string
		op   doc.Op
		want error
	}{
		{"no path", doc.Set("n", one), doc.ErrBadPath},
		{"no path for increment", doc.Increment("~", 1), doc.ErrBadPath},
		{"a name that is no UTF-8", doc.Set(doc.P("\xff"), one), doc.ErrBadPath},
		{"set below a scalar", doc.Set("/n/x", one), doc.ErrWrongType},
		{"set below null", doc.Set("/z/x", one), doc.ErrWrongType},
		{"set a missing item", doc.Set("/l/3", one), doc.ErrIndex},
		{"set an item by name", doc.Set("/l/x", one), doc.ErrIndex},
		{"set below a missing item", doc.Set("/l/-/x", one), doc.ErrIndex},
		{"set behind a missing list", doc.Set("/new/-", one), doc.ErrNoPath},
		{"set too deep", doc.Set("/n", nested(64)), doc.ErrTooDeep},
		{"set too far down", doc.Set(doc.P(make([]string, 65)...), one), doc.ErrTooDeep},
		{"append too deep", doc.AppendTo("/l", nested(63)), doc.ErrTooDeep},
		{"insert too deep", doc.InsertAt("/l", 0, nested(63)), doc.ErrTooDeep},
		{"merge too deep", doc.Merge("", doc.MustObject(map[string]doc.Value{"q": nested(64)})), doc.ErrTooDeep},
		{"unset the document", doc.Unset(""), doc.ErrBadPath},
		{"unset an item", doc.Unset("/l/0"), doc.ErrWrongType},
		{"unset a missing item", doc.Unset("/l/9"), doc.ErrWrongType},
		{"increment a string", doc.Increment("/s", 1), doc.ErrWrongType},
		{"increment null", doc.Increment("/z", 1), doc.ErrWrongType},
		{"increment an object", doc.Increment("/a", 1), doc.ErrWrongType},
		{"increment an integer by a float", doc.Increment("/n", 1.0), doc.ErrWrongType},
		{"bound an integer by a float", doc.Increment("/n", 1).AtMost(doc.MustFloat(9)), doc.ErrWrongType},
		{"increment a float inexactly", doc.Increment("/f", doc.Int(1<<53+1)), doc.ErrWrongType},
		{"increment below what is missing", doc.Increment("/new/x", 1), doc.ErrNoPath},
		{"increment behind a list", doc.Increment("/l/-", 1), doc.ErrIndex},
		{"increment by NaN", doc.Increment("/f", math.NaN()), doc.ErrNotFinite},
		{"increment by text", doc.Increment("/n", doc.MustString("1")), doc.ErrBadOp},
		{"bound by text", doc.Increment("/n", 1).AtLeast(doc.MustString("1")), doc.ErrBadOp},
		{"bounds the wrong way round", doc.Increment("/n", 1).AtLeast(doc.Int(2)).AtMost(one), doc.ErrBadOp},
		{"float bounds the wrong way round", doc.Increment("/f", 1).AtLeast(doc.MustFloat(1.5)).AtMost(one), doc.ErrBadOp},
		{"overflow", doc.Increment("/n", big), doc.ErrOverflow},
		{"overflow with a lower bound", doc.Increment("/n", big).AtLeast(one).Clamped(), doc.ErrOverflow},
		{"underflow", doc.Increment("/m", math.MinInt64).AtMost(one), doc.ErrOverflow},
		{"overflow of floats", doc.Increment("/g", math.MaxFloat64), doc.ErrOverflow},
		{"below the bound", doc.Increment("/n", -6).AtLeast(doc.Int(0)), doc.ErrBounds},
		{"above the bound", doc.Increment("/n", 5).AtMost(doc.Int(9)), doc.ErrBounds},
		{"overflow beyond a bound", doc.Increment("/n", big).AtMost(doc.Int(9)), doc.ErrBounds},
		{"float above the bound", doc.Increment("/f", 5).AtMost(doc.Int(3)), doc.ErrBounds},
		{"append to an object", doc.AppendTo("/a", one), doc.ErrWrongType},
		{"append below what is missing", doc.AppendTo("/new/x", one), doc.ErrNoPath},
		{"append what is no list", doc.Op{Kind: doc.OpAppend, Path: doc.P("l"), Value: one}, doc.ErrBadOp},
		{"insert too far", doc.InsertAt("/l", 4, one), doc.ErrIndex},
		{"insert before the start", doc.InsertAt("/l", -1, one), doc.ErrIndex},
		{"insert into a string", doc.InsertAt("/s", 0, one), doc.ErrWrongType},
		{"insert into what is missing, too far", doc.InsertAt("/new", 1, one), doc.ErrIndex},
		{"remove too far", doc.RemoveAt("/l", 3), doc.ErrIndex},
		{"remove before the start", doc.RemoveAt("/l", -1), doc.ErrIndex},
		{"remove from what is missing", doc.RemoveAt("/new", 0), doc.ErrNoPath},
		{"remove from an object", doc.RemoveAt("/a", 0), doc.ErrWrongType},
		{"merge into a list", doc.Merge("/l", doc.MustObject(nil)), doc.ErrWrongType},
		{"merge into null", doc.Merge("/z", doc.MustObject(nil)), doc.ErrWrongType},
		{"merge what is no object", doc.Merge("/a", one), doc.ErrBadOp},
		{"compare and set another value", doc.CompareAndSet("/n", doc.MustFloat(5), one), doc.ErrMismatch},
		{"compare and set nothing", doc.CompareAndSet("/new", doc.Null(), one), doc.ErrMismatch},
		{"set if absent, but it is there", doc.SetIfAbsent("/z", one), doc.ErrMismatch},
		{"compare and unset another value", doc.CompareAndUnset("/n", one), doc.ErrMismatch},
		{"compare and unset nothing", doc.CompareAndUnset("/new", doc.Null()), doc.ErrMismatch},
		{"compare and unset an item", doc.CompareAndUnset("/l/0", one), doc.ErrWrongType},
		{"the zero operation", doc.Op{}, doc.ErrBadOp},
		{"no such kind", doc.Op{Kind: 99}, doc.ErrBadOp},
	} {
		v, err := doc.Apply(parse(t, sample), doc.Set("/g", doc.MustFloat(math.MaxFloat64)), doc.Set("/m", doc.Int(-1)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := doc.Apply(v, doc.Set("/first", one), tc.op)
		var at *doc.OpError
		if !errors.Is(err, tc.want) || !errors.As(err, &at) || at.Index != 1 || at.Op != tc.op.Kind || !at.Path.Equal(tc.op.Path) {
			t.Errorf("%s: error %v, want %v", tc.name, err, tc.want)
		}
		if !got.Equal(v) {
			t.Errorf("%s: half applied: %s", tc.name, got)
		}
	}
}

// A document that came in deeper than usual can still be changed, but not deepened.
func TestDeepDocumentsStayUsable(t *testing.T) {
	text := strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70)
	v, err := doc.Parse([]byte(text), &doc.Limits{MaxDepth: -1})
	if err != nil {
		t.Fatal(err)
	}
	leaf := strings.Repeat("/a", 70)
	if v, err = doc.Apply(v, doc.Increment(leaf, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err = doc.Apply(v, doc.Set(leaf, doc.List())); !errors.Is(err, doc.ErrTooDeep) {
		t.Errorf("deepened: %v", err)
	}
}

// Values nested as deep as allowed can be set, and parsed again.
func TestDeepestAllowed(t *testing.T) {
	v, err := doc.Apply(doc.MustObject(nil), doc.Set("/a", nested(63)), doc.AppendTo("/b", nested(62)), doc.InsertAt("/b", 0, nested(62)))
	if err != nil || v.Depth() != doc.DefaultMaxDepth {
		t.Fatalf("depth %d, %v", v.Depth(), err)
	}
	if _, err := doc.Parse(v.Encode(), nil); err != nil {
		t.Fatal(err)
	}
}

func TestOpWireForm(t *testing.T) {
	for _, tc := range []struct {
		op   doc.Op
		want string
	}{
		{doc.Set("/a~1b", doc.Null()), `{"op":"set","path":"/a~1b","value":null}`},
		{doc.Unset("/a"), `{"op":"unset","path":"/a"}`},
		{doc.Increment("/coins", 3).AtLeast(doc.Int(0)), `{"by":3,"min":0,"op":"increment","path":"/coins"}`},
		{doc.Increment("/x", 1.0).AtMost(doc.Int(9)).Clamped(), `{"by":1.0,"clamp":true,"max":9,"op":"increment","path":"/x"}`},
		{doc.AppendTo("/l", doc.Int(1)), `{"items":[1],"op":"append","path":"/l"}`},
		{doc.InsertAt("/l", 2, doc.Int(1)), `{"index":2,"op":"insert","path":"/l","value":1}`},
		{doc.RemoveAt("/l", 2), `{"index":2,"op":"remove","path":"/l"}`},
		{doc.Merge("", doc.MustObject(nil)), `{"op":"merge","path":"","value":{}}`},
		{doc.CompareAndSet("/a", doc.Null(), doc.Int(1)), `{"old":null,"op":"compareAndSet","path":"/a","value":1}`},
		{doc.SetIfAbsent("/a", doc.Int(1)), `{"op":"compareAndSet","path":"/a","value":1}`},
		{doc.CompareAndUnset("/a", doc.Int(1)), `{"old":1,"op":"compareAndUnset","path":"/a"}`},
	} {
		if got := tc.op.String(); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
		var back []doc.Op
		if err := json.Unmarshal(fmt.Appendf(nil, "[%s]", tc.want), &back); err != nil || back[0].String() != tc.want {
			t.Errorf("%s came back as %v (%v)", tc.want, back, err)
		}
	}
	if _, err := doc.Set("bad", doc.Null()).MarshalJSON(); !errors.Is(err, doc.ErrBadPath) {
		t.Errorf("an operation without a path was written: %v", err)
	}
	if got := (doc.Op{}).String(); !strings.Contains(got, "malformed") {
		t.Errorf("the zero operation prints as %s", got)
	}
}

// Whatever an operation does not have is refused by name.
func TestOpWireFormIsStrict(t *testing.T) {
	for text, names := range map[string]string{
		`1`:                                                      "object",
		`{}`:                                                     `"op"`,
		`{"op":1,"path":""}`:                                     `"op"`,
		`{"op":"zap","path":""}`:                                 `"zap"`,
		`{"op":"set","value":1}`:                                 `"path"`,
		`{"op":"set","path":"x","value":1}`:                      `"path"`,
		`{"op":"set","path":7,"value":1}`:                        `"path"`,
		`{"op":"set","path":""}`:                                 `"value"`,
		`{"op":"set","path":"","val":1}`:                         `"value"`,
		`{"op":"set","path":"","value":1,"x":1}`:                 `"x"`,
		`{"op":"unset","path":"","value":1}`:                     `"value"`,
		`{"op":"increment","path":""}`:                           `"by"`,
		`{"op":"increment","path":"","by":"1"}`:                  "string",
		`{"op":"increment","path":"","by":1,"min":"0"}`:          "string",
		`{"op":"increment","path":"","by":1,"min":1,"max":0}`:    "below",
		`{"op":"increment","path":"","by":1,"clamp":1}`:          `"clamp"`,
		`{"op":"increment","path":"","by":1,"value":1}`:          `"value"`,
		`{"op":"append","path":"","items":1}`:                    `"items"`,
		`{"op":"insert","path":"","index":1.0,"value":1}`:        `"index"`,
		`{"op":"insert","path":"","index":-1,"value":1}`:         `"index"`,
		`{"op":"insert","path":"","index":1}`:                    `"value"`,
		`{"op":"insert","path":"","index":9999999999,"value":1}`: `"index"`,
		`{"op":"remove","path":""}`:                              `"index"`,
		`{"op":"merge","path":"","value":1}`:                     "object",
		`{"op":"compareAndSet","path":"","old":1}`:               `"value"`,
		`{"op":"compareAndUnset","path":""}`:                     `"old"`,
	} {
		var op doc.Op
		err := op.UnmarshalJSON([]byte(text))
		if !errors.Is(err, doc.ErrBadOp) || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v, should name %s", text, err, names)
		}
	}
	var op doc.Op
	if err := op.UnmarshalJSON([]byte(`{"op":"set","op":"set"}`)); !errors.Is(err, doc.ErrDuplicate) {
		t.Errorf("a name twice: %v", err)
	}
}
