package doc_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/shoalworks/shoal/doc"
)

func TestZeroValueIsNull(t *testing.T) {
	var v doc.Value
	if !v.IsNull() || !v.Equal(doc.Null()) || v.String() != "null" || v.Kind() != doc.KindNull {
		t.Fatalf("the zero value is %s", v)
	}
	if size := unsafe.Sizeof(v); size > 24 {
		t.Fatalf("a value takes %d bytes", size)
	}
}

// Each accessor answers for its own kind and for no other.
func TestAccessorsAreStrict(t *testing.T) {
	values := []doc.Value{
		doc.Null(), doc.Bool(true), doc.Int(3), doc.MustFloat(3), doc.MustString("3"),
		doc.List(doc.Int(3)), doc.MustObject(map[string]doc.Value{"a": doc.Int(3)}),
	}
	for _, v := range values {
		kind := v.Kind()
		if b, ok := v.AsBool(); ok != (kind == doc.KindBool) || b != ok {
			t.Errorf("AsBool of %s: %v %v", v, b, ok)
		}
		if i, ok := v.AsInt(); ok != (kind == doc.KindInt) || ok && i != 3 {
			t.Errorf("AsInt of %s: %v %v", v, i, ok)
		}
		if f, ok := v.AsFloat(); ok != (kind == doc.KindInt || kind == doc.KindFloat) || ok && f != 3 {
			t.Errorf("AsFloat of %s: %v %v", v, f, ok)
		}
		if s, ok := v.AsString(); ok != (kind == doc.KindString) || ok && s != "3" {
			t.Errorf("AsString of %s: %v %v", v, s, ok)
		}
		if _, ok := v.Member("a"); ok != (kind == doc.KindObject) {
			t.Errorf("Member of %s: %v", v, ok)
		}
		for range v.Items() {
			if kind != doc.KindList {
				t.Errorf("%s has items", v)
			}
		}
		for range v.Members() {
			if kind != doc.KindObject {
				t.Errorf("%s has members", v)
			}
		}
		if want := map[doc.Kind]int{doc.KindString: 1, doc.KindList: 1, doc.KindObject: 1}[kind]; v.Len() != want {
			t.Errorf("Len of %s: %d", v, v.Len())
		}
		for _, w := range values {
			if v.Equal(w) != (kind == w.Kind()) {
				t.Errorf("%s equal to %s: %v", v, w, v.Equal(w))
			}
		}
	}
}

func TestIntegersAsFloats(t *testing.T) {
	for i, want := range map[int64]bool{
		0: true, -1: true, 1 << 53: true, 1<<53 + 1: false, math.MinInt64: true, math.MaxInt64: false, 1 << 62: true,
	} {
		f, ok := doc.Int(i).AsFloat()
		if ok != want || ok && int64(f) != i {
			t.Errorf("%d as float: %v %v", i, f, ok)
		}
	}
}

// case P15: what JSON cannot hold is refused.
func TestScalarsRefuseWhatJSONCannotHold(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := doc.Float(f); !errors.Is(err, doc.ErrNotFinite) {
			t.Errorf("%v: %v", f, err)
		}
	}
	if _, err := doc.String("a\xff"); !errors.Is(err, doc.ErrUTF8) {
		t.Errorf("invalid UTF-8: %v", err)
	}
	var at *doc.ValueError
	if _, err := doc.Object(map[string]doc.Value{"a/\xff": doc.Null()}); !errors.Is(err, doc.ErrUTF8) || !errors.As(err, &at) || at.Path.Last() != "a/\xff" {
		t.Errorf("invalid name: %v", err)
	}
	for _, f := range []func(){
		func() { doc.MustFloat(math.NaN()) },
		func() { doc.MustString("\xff") },
		func() { doc.MustPath("a") },
		func() { doc.List().Index(0) },
		func() { doc.Null().Index(0) },
		func() { doc.List(doc.Null()).Index(-1) },
	} {
		if !panics(f) {
			t.Error("no panic")
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// Encodings are canonical, and their length is known without encoding.
func TestEncoding(t *testing.T) {
	for _, tc := range []struct {
		v    doc.Value
		want string
	}{
		{doc.Null(), `null`},
		{doc.Bool(true), `true`},
		{doc.Bool(false), `false`},
		{doc.Int(0), `0`},
		{doc.Int(-7), `-7`},
		{doc.Int(math.MaxInt64), `9223372036854775807`},
		{doc.Int(math.MinInt64), `-9223372036854775808`},
		{doc.MustFloat(0), `0.0`},
		{doc.MustFloat(math.Copysign(0, -1)), `-0.0`},
		{doc.MustFloat(1), `1.0`},
		{doc.MustFloat(0.1), `0.1`},
		{doc.MustFloat(-2.5), `-2.5`},
		{doc.MustFloat(1e20), `100000000000000000000.0`},
		{doc.MustFloat(1e21), `1e+21`},
		{doc.MustFloat(1e-6), `0.000001`},
		{doc.MustFloat(1e-7), `1e-7`},
		{doc.MustFloat(1.5e-10), `1.5e-10`},
		{doc.MustFloat(math.MaxFloat64), `1.7976931348623157e+308`},
		{doc.MustFloat(math.SmallestNonzeroFloat64), `5e-324`},
		{doc.MustString(""), `""`},
		{doc.MustString("é😀\u2028<>&"), "\"é😀\u2028<>&\""},
		{doc.MustString("\"\\\b\f\n\r\t\x00\x1f\x7f"), "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\""},
		{doc.List(), `[]`},
		{doc.List(doc.Int(1), doc.List(), doc.MustFloat(1)), `[1,[],1.0]`},
		{doc.MustObject(nil), `{}`},
		{doc.Must(map[string]any{"b": 1, "a": 2, "": 3, "é": 4, "B": 5, "\n": 6}), `{"":3,"\n":6,"B":5,"a":2,"b":1,"é":4}`},
	} {
		if got := tc.v.String(); got != tc.want {
			t.Errorf("encoded %s, want %s", got, tc.want)
		}
		check(t, tc.v)
		back := parse(t, tc.want)
		if !back.Equal(tc.v) || back.Kind() != tc.v.Kind() {
			t.Errorf("%s parsed back as %s", tc.want, back)
		}
		if dst := string(tc.v.AppendJSON([]byte("x="))); dst != "x="+tc.want {
			t.Errorf("appended %s", dst)
		}
	}
}

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 0, `[]`: 1, `{}`: 1, `[1]`: 1, `[[]]`: 2, `{"a":[{"b":1}],"c":1}`: 3,
	} {
		if got := parse(t, text).Depth(); got != want {
			t.Errorf("depth of %s is %d, want %d", text, got, want)
		}
	}
	v, err := doc.Apply(parse(t, `{"a":[{"b":1}],"c":[]}`), doc.Unset("/a"))
	if err != nil || v.Depth() != 2 {
		t.Errorf("depth of %s is %d after the deepest went", v, v.Depth())
	}
}

// Equality is that of encodings, also between trees of different shapes.
func TestEqual(t *testing.T) {
	texts := []string{
		`1`, `1.0`, `"1"`, `0.0`, `-0.0`, `true`, `null`, `[]`, `{}`, `[1,2]`, `[2,1]`, `[1,2,3]`, `{"a":1}`, `{"b":1}`,
		`{"a":1,"b":2}`, `{"a":2,"b":1}`, `["ab"]`, `["ba"]`,
	}
	for i, a := range texts {
		for j, b := range texts {
			if got := parse(t, a).Equal(parse(t, b)); got != (i == j) {
				t.Errorf("%s equal to %s: %v", a, b, got)
			}
		}
	}
	built := doc.List()
	var all []doc.Value
	for i := range 500 {
		built, _ = doc.Apply(built, doc.InsertAt("", i/2, doc.Int(int64(i))))
		all = append(all[:i/2], append([]doc.Value{doc.Int(int64(i))}, all[i/2:]...)...)
	}
	if !built.Equal(doc.List(all...)) || built.Digest() != doc.List(all...).Digest() {
		t.Error("two trees of the same items differ")
	}
}

func TestDigest(t *testing.T) {
	a := parse(t, `{"a":1,"b":[1.0]}`)
	if d := a.Digest(); len(d) != 32 || d != parse(t, ` {"b":[1.00],"a":1}`).Digest() {
		t.Errorf("digest %s", d)
	}
	if a.Digest() == parse(t, `{"a":1,"b":[1]}`).Digest() {
		t.Error("different values, same digest")
	}
}

func TestBuilder(t *testing.T) {
	var b doc.Builder
	for i := range 2000 {
		b.Add(fmt.Sprint((i*7919)%2000), doc.Int(int64(i)))
	}
	v, err := b.Object()
	if err != nil || v.Len() != 2000 || b.Len() != 2000 {
		t.Fatalf("%d members, %v", v.Len(), err)
	}
	check(t, v)
	last := ""
	for name := range v.Members() {
		if name < last {
			t.Fatalf("%q after %q", name, last)
		}
		last = name
	}
	b.Add("7", doc.Null())
	var at *doc.ValueError
	if _, err := b.Object(); !errors.Is(err, doc.ErrDuplicate) || !errors.As(err, &at) || at.Path.String() != "/7" {
		t.Errorf("a name twice: %v", err)
	}
	var bad doc.Builder
	bad.Add("\xff", doc.Null())
	if _, err := bad.Object(); !errors.Is(err, doc.ErrUTF8) {
		t.Errorf("an invalid name: %v", err)
	}
}

// Walks may stop anywhere.
func TestWalksStop(t *testing.T) {
	var b doc.Builder
	var items []doc.Value
	for i := range 200 {
		b.Add(fmt.Sprintf("%03d", i), doc.Int(int64(i)))
		items = append(items, doc.Int(int64(i)))
	}
	object, _ := b.Object()
	seen := 0
	for range object.Members() {
		if seen++; seen == 50 {
			break
		}
	}
	for i, item := range doc.List(items...).Items() {
		if got, _ := item.AsInt(); got != int64(i) {
			t.Fatalf("item %d is %d", i, got)
		}
		if seen++; seen == 100 {
			break
		}
	}
	if seen != 100 {
		t.Fatalf("%d steps", seen)
	}
}

// case P11: nothing that a value hands out, or was made of, changes it.
func TestReadersCannotChangeAValue(t *testing.T) {
	items := []doc.Value{doc.Int(1), doc.Int(2)}
	members := map[string]doc.Value{"l": doc.List(items...)}
	v := doc.MustObject(members)
	const want = `{"l":[1,2]}`
	items[0] = doc.Null()
	members["x"] = doc.Null()
	text := v.Encode()
	text[0] = 'X'
	plain := v.Any().(map[string]any)
	plain["l"].([]any)[0] = "changed"
	wire, _ := v.MarshalJSON()
	clear(wire)
	input := []byte(want)
	parsed := parse(t, string(input))
	fromBytes, err := doc.Parse(input, nil)
	if err != nil {
		t.Fatal(err)
	}
	clear(input)
	segs := doc.P("l", "0").Segments()
	segs[0] = "x"
	for _, got := range []doc.Value{v, parsed, fromBytes} {
		if got.String() != want {
			t.Errorf("changed to %s", got)
		}
	}
}
