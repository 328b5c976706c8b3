package codec_test

import (
	"encoding"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
)

func value(t *testing.T, text string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// lines are the errors that were joined.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

type bag struct {
	Coins  int8              `json:"coins"`
	Gems   uint              `json:"gems"`
	Ratio  float32           `json:"ratio"`
	Name   string            `json:"name"`
	Open   bool              `json:"open"`
	Raw    []byte            `json:"raw"`
	Key    [2]byte           `json:"key"`
	Pair   [2]int            `json:"pair"`
	Stacks []stack           `json:"stacks"`
	By     map[string]*stack `json:"by"`
	At     time.Time         `json:"at"`
}

func TestDecodeReportsEveryPlaceThatDoesNotFit(t *testing.T) {
	c := must(codec.For[bag]())(t)
	_, err := c.Decode(value(t, `{"coins":128,"gems":-1,"ratio":1e39,"name":1,"open":"yes","raw":"*","key":"AAAA","pair":[1],
		"stacks":[{"count":1.5},7],"by":{"a/b":{"count":"x"}},"at":"noon"}`))
	want := []string{
		`codec: at "/at": parsing time`,
		`codec: at "/by/a~1b/count": wrong kind of value: an integer expected, got string`,
		`codec: at "/coins": number out of range: 128 does not fit int8`,
		`codec: at "/gems": number out of range: -1 does not fit uint`,
		`codec: at "/key": 2 bytes expected, got 3`,
		`codec: at "/name": wrong kind of value: a string expected, got int`,
		`codec: at "/open": wrong kind of value: a bool expected, got string`,
		`codec: at "/pair": wrong kind of value: 2 items expected, got 1`,
		`codec: at "/ratio": number out of range: 1e+39 does not fit float32`,
		`codec: at "/raw": illegal base64 data`,
		`codec: at "/stacks/0/count": wrong kind of value: an integer expected, got float`,
		`codec: at "/stacks/1": wrong kind of value: an object expected, got int`,
	}
	got := lines(err)
	if len(got) != len(want) {
		t.Fatalf("%d errors: %v", len(got), err)
	}
	for i, line := range got {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("%s, want %s", line, want[i])
		}
	}
	var at *codec.Error
	if !errors.As(err, &at) || !errors.Is(err, doc.ErrOverflow) || !errors.Is(err, doc.ErrWrongType) {
		t.Errorf("%v has no typed errors", err)
	}
}

func TestDecodeTakesNullAndTheUnknown(t *testing.T) {
	c := must(codec.For[bag]())(t)
	got, err := c.Decode(value(t, `{"coins":2.0,"gems":null,"name":null,"stacks":null,"by":{"a":null},"at":null,"more":[1],"pair":null,"raw":null,"key":null,"open":null,"ratio":3}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bag{Coins: 2, Ratio: 3, By: map[string]*stack{"a": nil}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEncodeReportsEveryPlaceThatJSONCannotHold(t *testing.T) {
	type floats struct {
		F []float64      `json:"f"`
		U uint64         `json:"u"`
		S string         `json:"s"`
		A any            `json:"a"`
		M map[string]int `json:"m"`
	}
	c := must(codec.For[floats]())(t)
	before := doc.Must(map[string]any{"x": 1})
	got, err := c.Graft(before, floats{
		F: []float64{1, math.NaN()}, U: math.MaxUint64, S: "\xff", A: map[string]any{"k": []any{math.Inf(1)}}, M: map[string]int{"\xff": 1},
	})
	want := []string{
		`codec: at "/a/k/0": not a finite number`,
		`codec: at "/f/1": not a finite number`,
		`codec: at "/m/\xff": invalid UTF-8`,
		`codec: at "/s": invalid UTF-8`,
		`codec: at "/u": number out of range`,
	}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Error(diff)
	}
	if !got.Equal(before) {
		t.Errorf("got %s", got)
	}
}

type loop struct {
	Next *loop `json:"next"`
}

func TestEncodeEndsInALoop(t *testing.T) {
	c := must(codec.For[*loop]())(t)
	l := &loop{}
	l.Next = l
	if _, err := c.Encode(l); !errors.Is(err, doc.ErrTooDeep) {
		t.Errorf("%v", err)
	}
}

// readless writes text, and cannot read it.
type readless struct{ encoding.TextMarshaler }

type shade struct {
	Name string
}

func TestForNamesWhatItCannotSupport(t *testing.T) {
	type inner struct {
		Ch chan int `json:"ch"`
	}
	type broken struct {
		In    []inner
		Fn    func()
		Cx    map[string]complex128
		Keys  map[int]string
		When  time.Duration
		Iface encoding.TextMarshaler
		Once  readless
		Two   map[string]*inner
	}
	_, err := codec.For[broken]()
	want := []string{
		"field In[].Ch: chan int has no JSON form",
		"field Fn: func() has no JSON form",
		"field Cx[]: complex128 has no JSON form",
		"field Keys: map[int]string: the keys must be plain strings",
		"field When: time.Duration has no JSON form",
		"field Iface: ",
		"field Once: codec_test.readless writes JSON or text, but cannot read it",
	}
	got := lines(err)
	if len(got) != len(want) {
		t.Fatalf("%d errors: %v", len(got), err)
	}
	for i, line := range got {
		if !strings.Contains(line, want[i]) {
			t.Errorf("%s, want %s", line, want[i])
		}
	}
}

func TestForNamesBadTags(t *testing.T) {
	type broken struct {
		A int `json:"a,string"`
		B int `json:"b,omitzero,inline"`
		C int `json:"'c'"`
		D int `json:"e"`
		*shade
	}
	_, err := codec.For[broken]()
	for _, want := range []string{
		`field A: json tag "a,string": the option "string" is not supported`, `field B: json tag "b,omitzero,inline"`, `field C: json tag "'c'"`,
		`field shade: an embedded pointer to a type that is not exported cannot be set`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestGraft(t *testing.T) {
	type inner struct {
		ID    string `json:"id"`
		Count int    `json:"count"`
	}
	type outer struct {
		Coins int              `json:"coins"`
		Rate  float64          `json:"rate"`
		Name  string           `json:"name,omitempty"`
		Level int              `json:"level,omitzero"`
		List  []inner          `json:"list"`
		Map   map[string]inner `json:"map"`
		Ptr   *inner           `json:"ptr"`
		At    time.Time        `json:"at"`
		Tags  []string         `json:"tags"`
	}
	c := must(codec.For[outer]())(t)
	for _, k := range []struct {
		name, before string
		change       func(*outer)
		want         string
		edits        int
	}{
		{
			"nothing", `{"coins":1.0,"rate":3,"name":null,"list":null,"at":"2026-01-02T03:04:05+00:00","x":1}`, func(*outer) {},
			`{"at":"2026-01-02T03:04:05+00:00","coins":1.0,"list":null,"name":null,"rate":3,"x":1}`, 0,
		},
		{"one field", `{"x":{"y":1}}`, func(o *outer) { o.Coins = 2 }, `{"coins":2,"x":{"y":1}}`, 1},
		{"digits that a float has not", `{"rate":9007199254740993}`, func(o *outer) { o.Coins = 1 }, `{"coins":1,"rate":9007199254740993}`, 1},
		{"omitempty", `{"name":"a","x":1}`, func(o *outer) { o.Name = "" }, `{"x":1}`, 1},
		{"omitzero", `{"level":2}`, func(o *outer) { o.Level = 0 }, `{}`, 1},
		{"a zero that is stored stays", `{"level":0,"name":""}`, func(o *outer) { o.Coins = 1 }, `{"coins":1,"level":0,"name":""}`, 1},
		{
			"an item in the middle", `{"list":[{"id":"a","x":1},{"id":"b","x":2},{"id":"c","x":3}]}`, func(o *outer) { o.List[1].Count = 5 },
			`{"list":[{"id":"a","x":1},{"count":5,"id":"b","x":2},{"id":"c","x":3}]}`, 1,
		},
		{
			"the first item taken out", `{"list":[{"id":"a","x":1},{"id":"b","x":2},{"id":"c","x":3}]}`, func(o *outer) { o.List = o.List[1:] },
			`{"list":[{"id":"b","x":2},{"id":"c","x":3}]}`, 1,
		},
		{
			"one out, one changed, one new", `{"list":[{"id":"a","x":1},{"id":"b","x":2},{"id":"c","x":3},{"id":"d","x":4}]}`,
			func(o *outer) { o.List[2].Count = 1; o.List = append(o.List[1:], inner{ID: "e"}) },
			`{"list":[{"id":"b","x":2},{"count":1,"id":"c","x":3},{"id":"d","x":4},{"count":0,"id":"e"}]}`, -1,
		},
		{"a map", `{"map":{"a":{"id":"1","x":1},"b":{"id":"2","x":2}}}`, func(o *outer) {
			delete(o.Map, "a")
			o.Map["b"] = inner{ID: "3"}
			o.Map["c"] = inner{}
		}, `{"map":{"b":{"id":"3","x":2},"c":{"count":0,"id":""}}}`, 3},
		{"a pointer", `{"ptr":{"id":"a","x":1}}`, func(o *outer) { o.Ptr.ID = "b" }, `{"ptr":{"id":"b","x":1}}`, 1},
		{"a pointer to nothing", `{"ptr":{"id":"a","x":1}}`, func(o *outer) { o.Ptr = nil }, `{"ptr":null}`, 1},
		{"a pointer to something", `{"ptr":null}`, func(o *outer) { o.Ptr = &inner{} }, `{"ptr":{"count":0,"id":""}}`, 1},
		{"strings", `{"tags":["a","b","c"]}`, func(o *outer) { o.Tags = []string{"b", "c", "d"} }, `{"tags":["b","c","d"]}`, -1},
	} {
		t.Run(k.name, func(t *testing.T) {
			before := value(t, k.before)
			o, err := c.Decode(before)
			if err != nil {
				t.Fatal(err)
			}
			k.change(&o)
			after, err := c.Graft(before, o)
			if err != nil {
				t.Fatal(err)
			}
			if after.String() != k.want {
				t.Errorf("got  %s\nwant %s", after, k.want)
			}
			if edits := doc.Diff(before, after); k.edits >= 0 && len(edits) != k.edits {
				t.Errorf("edits %s", edits)
			}
			if back, err := c.Decode(after); err != nil || !doc.Must(back).Equal(doc.Must(o)) {
				t.Errorf("decoded again: %+v, %v", back, err)
			}
		})
	}
}
