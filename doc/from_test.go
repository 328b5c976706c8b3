package doc_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
)

type rank uint8

// MarshalText makes ranks speak.
func (r rank) MarshalText() ([]byte, error) { return []byte{'#', '0' + byte(r)}, nil }

// UnmarshalText is the reverse.
func (r *rank) UnmarshalText(text []byte) error {
	*r = rank(text[1] - '0')
	return nil
}

type price float64

type shout float64

func (shout) MarshalJSON() ([]byte, error) { return []byte(`"!"`), nil }

type fisher struct {
	Name    string             `json:"name"`
	Coins   int64              `json:"coins"`
	Luck    float64            `json:"luck"`
	Weight  float32            `json:"weight"`
	Price   price              `json:"price"`
	Quoted  float64            `json:"quoted,string"`
	Rank    rank               `json:"rank"`
	Since   time.Time          `json:"since"`
	Fish    []string           `json:"fish"`
	Best    map[string]float64 `json:"best"`
	Pet     *fisher            `json:"pet"`
	Any     any                `json:"any"`
	Extra   doc.Value          `json:"extra"`
	Raw     json.RawMessage    `json:"raw"`
	Hidden  int                `json:"-"`
	Skipped string             `json:"skipped,omitempty"`
}

// case P15: Go values come in exactly, floats as floats and integers as integers.
func TestFromStructs(t *testing.T) {
	in := fisher{
		Name: "Ada", Coins: math.MaxInt64, Luck: 1, Weight: 0.1, Price: 2, Quoted: 3, Rank: 4,
		Since: time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC), Fish: []string{"cod"}, Best: map[string]float64{"cod": 7},
		Pet: &fisher{Raw: json.RawMessage(`[1,1.0]`)}, Any: []any{1, 1.0, map[string]any{"x": 2.0}},
		Extra: doc.MustFloat(5), Raw: json.RawMessage(`{"z":1,"a":1.50}`), Hidden: 1,
	}
	v, err := doc.From(in)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/coins": `9223372036854775807`, "/luck": `1.0`, "/weight": `0.1`, "/price": `2.0`, "/quoted": `"3"`,
		"/rank": `"#4"`, "/since": `"2026-08-11T00:00:00Z"`, "/fish": `["cod"]`, "/best": `{"cod":7.0}`,
		"/pet/raw": `[1,1.0]`, "/any": `[1,1.0,{"x":2.0}]`, "/extra": `5.0`, "/raw": `{"a":1.5,"z":1}`,
		"/pet/fish": `[]`, "/pet/best": `{}`, "/pet/pet": `null`,
	} {
		if got, _, _ := v.Lookup(path); got.String() != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if v.Len() != 14 {
		t.Errorf("%d members: %s", v.Len(), v)
	}
	var out fisher
	if err := v.Into(&out); err != nil {
		t.Fatal(err)
	}
	if again := doc.Must(out); !again.Equal(v) {
		t.Errorf("through the struct and back: %s", cmp.Diff(v.Any(), again.Any()))
	}
}

func TestFromScalarsAndCollections(t *testing.T) {
	type name string
	for _, tc := range []struct {
		in   any
		want string
	}{
		{nil, `null`},
		{true, `true`},
		{1, `1`},
		{int8(-1), `-1`},
		{uint16(7), `7`},
		{uint64(math.MaxInt64), `9223372036854775807`},
		{1.0, `1.0`},
		{float32(0.1), `0.1`},
		{price(2), `2.0`},
		{shout(1), `"!"`},
		{"x", `"x"`},
		{name("y"), `"y"`},
		{[]int{1, 2}, `[1,2]`},
		{[]any{}, `[]`},
		{[]any(nil), `[]`},
		{map[string]any(nil), `{}`},
		{map[name]any{"k": []float64{1}}, `{"k":[1.0]}`},
		{[]doc.Value{doc.Int(1)}, `[1]`},
		{map[string]doc.Value{"a": doc.Null()}, `{"a":null}`},
		{doc.Int(5), `5`},
		{(*fisher)(nil), `null`},
		{[2]bool{true, false}, `[true,false]`},
		{json.Number("1.50"), `"1.50"`},
	} {
		v, err := doc.From(tc.in)
		if err != nil || v.String() != tc.want {
			t.Errorf("%#v became %s (%v), want %s", tc.in, v, err, tc.want)
			continue
		}
		check(t, v)
	}
}

// case P15: what JSON cannot hold is refused with its path; number keys do not
// silently become strings.
func TestFromRefuses(t *testing.T) {
	deep := any(1)
	for range doc.DefaultMaxDepth + 1 {
		deep = []any{deep}
	}
	type node struct {
		Next *node `json:"next"`
	}
	loop := &node{}
	loop.Next = loop
	for _, tc := range []struct {
		in   any
		path string
		want error
	}{
		{math.NaN(), "", doc.ErrNotFinite},
		{map[string]any{"a": []any{1, math.Inf(1)}}, "/a/1", doc.ErrNotFinite},
		{map[string]any{"a": fisher{Luck: math.Inf(-1)}}, "/a/luck", doc.ErrNotFinite},
		{fisher{Pet: &fisher{Best: map[string]float64{"x": math.NaN()}}}, "/pet/best/x", doc.ErrNotFinite},
		{[]float32{1, float32(math.NaN())}, "/1", doc.ErrNotFinite},
		{uint64(math.MaxUint64), "", doc.ErrOverflow},
		{map[string]any{"n": []uint64{0, 1 << 63}}, "/n/1", doc.ErrOverflow},
		{[]any{"ok", "\xff"}, "/1", doc.ErrUTF8},
		{[]string{"ok", "\xff"}, "/1", doc.ErrUTF8},
		{map[string]any{"a": map[string]any{"\xff": 1}}, "/a/\xff", doc.ErrUTF8},
		{map[int]string{1: "x"}, "", doc.ErrUnsupported},
		{map[string]any{"a": []any{map[int]int{}}}, "/a/0", doc.ErrUnsupported},
		{fisher{Any: map[uint]int{}}, "/any", doc.ErrUnsupported},
		{[]any{func() {}}, "/0", doc.ErrUnsupported},
		{fisher{Any: make(chan int)}, "/any", doc.ErrUnsupported},
		{fisher{Any: complex(1, 1)}, "/any", doc.ErrUnsupported},
		{struct{ D time.Duration }{1}, "/D", doc.ErrUnsupported},
		{deep, strings.Repeat("/0", 64), doc.ErrTooDeep},
		{fisher{Raw: json.RawMessage(`{"a":1e999}`)}, "/raw/a", doc.ErrOverflow},
	} {
		v, err := doc.From(tc.in)
		var at *doc.ValueError
		if !errors.As(err, &at) || !errors.Is(err, tc.want) || at.Path.String() != tc.path || !v.IsNull() {
			t.Errorf("%T became %s, error %v, want %v at %q", tc.in, v, err, tc.want, tc.path)
		}
	}
	self := map[string]any{}
	self["self"] = self
	for _, in := range []any{self, nested(65), []any{nested(64)}, map[string]any{"a": nested(64)}} {
		if _, err := doc.From(in); !errors.Is(err, doc.ErrTooDeep) {
			t.Errorf("%T: %v, want ErrTooDeep", in, err)
		}
	}
	if v, err := doc.From(loop); err == nil {
		t.Errorf("a value without end became %s", v)
	}
	if v, err := doc.From(json.RawMessage(`{"a":1,"a":2}`)); err == nil {
		t.Errorf("a raw message with a name twice became %s", v)
	}
	if !panics(func() { doc.Must(math.NaN()) }) {
		t.Error("Must does not panic")
	}
}

func TestIntoRefuses(t *testing.T) {
	var f fisher
	if err := parse(t, `{"coins":1.5}`).Into(&f); err == nil {
		t.Error("a float went into an integer")
	}
	if err := parse(t, `{"coins":1,"unknown":2}`).Into(&f); err != nil || f.Coins != 1 {
		t.Errorf("an unknown member: %v", err)
	}
}

// case P15: integers beyond 2^53 survive a field of type any.
func TestIntoAny(t *testing.T) {
	const text = `{"any":[9223372036854775807,1,1.0,{"x":1}],"pet":{"any":1}}`
	var f fisher
	if err := parse(t, text).Into(&f); err != nil {
		t.Fatal(err)
	}
	if got := doc.Must(f.Any).String(); got != `[9223372036854775807,1,1.0,{"x":1}]` {
		t.Errorf("any holds %s", got)
	}
	var all any
	if err := parse(t, text).Into(&all); err != nil || doc.Must(all).String() != text {
		t.Errorf("%v (%v)", all, err)
	}
	pet := &fisher{Coins: 7}
	f.Any = pet
	if err := parse(t, `{"any":{"name":"Bo"}}`).Into(&f); err != nil || pet.Name != "Bo" || pet.Coins != 7 {
		t.Errorf("what any pointed to was not filled: %+v (%v)", pet, err)
	}
}
