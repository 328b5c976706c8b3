package doc_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
)

// case P15: every JSON value round-trips exactly.
func TestParseAccepts(t *testing.T) {
	for text, want := range map[string]string{
		` null `: `null`, "\t[\n1 , 2\r]": `[1,2]`, `-0`: `0`, `-0.0`: `-0.0`, `0e0`: `0.0`, `1E2`: `100.0`,
		`1e-999`: `0.0`, `-9223372036854775808`: `-9223372036854775808`, `9223372036854775808.0`: `9223372036854776000.0`,
		`{"b":1,"a":{"d":[],"c":{}}}`:  `{"a":{"c":{},"d":[]},"b":1}`,
		`"\u0061\/\ud83d\ude00\u0000"`: `"a/😀\u0000"`, `{"\u0061":1}`: `{"a":1}`, `{"":{"":0}}`: `{"":{"":0}}`,
		`{"1":1,"2":2}`: `{"1":1,"2":2}`,
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// What is refused is refused with the place and the reason.
func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		text   string
		offset int64
		path   string
		want   error // nil: any reason
	}{
		{``, 0, "", io.ErrUnexpectedEOF},
		{`  `, 0, "", io.ErrUnexpectedEOF},
		{`[1`, 2, "", io.ErrUnexpectedEOF},
		{`[1,]`, 2, "", nil},
		{`[1 2]`, 3, "", nil},
		{`nul`, 3, "", nil},
		{`01`, 2, "", nil},
		{`1.`, 0, "", nil},
		{`'a'`, 0, "", nil},
		{`{a:1}`, 1, "", nil},
		{`{"a" 1}`, 5, "/a", nil},
		{`{"a":1,}`, 6, "", nil},
		{`1 2`, 3, "", nil},
		{`{} {}`, 4, "", nil},
		{"\xef\xbb\xbf1", 0, "", nil},
		{`{"a":1,"b":{"c":1,"c":2}}`, 21, "/b/c", doc.ErrDuplicate},
		{`{"a":1,"\u0061":2}`, 15, "/a", doc.ErrDuplicate},
		{"[1,\"a\xff\"]", 5, "/1", doc.ErrUTF8},
		{"{\"a\xff\":1}", 3, "", doc.ErrUTF8},
		{`["\ud800"]`, 2, "/0", doc.ErrUTF8},
		{`["\udc00\ud800"]`, 2, "/0", doc.ErrUTF8},
		{"[\"a\x01\"]", 3, "/0", nil},
		{`{"a":[9223372036854775808]}`, 25, "/a/0", doc.ErrOverflow},
		{`-9223372036854775809`, 20, "", doc.ErrOverflow},
		{`[1,1e999]`, 8, "/1", doc.ErrOverflow},
		{`NaN`, 0, "", nil},
		{strings.Repeat("[", 65) + strings.Repeat("]", 65), 64, strings.Repeat("/0", 63), doc.ErrTooDeep},
	} {
		v, err := doc.Parse([]byte(tc.text), nil)
		var at *doc.SyntaxError
		if !errors.As(err, &at) {
			t.Errorf("%q became %s, error %v", tc.text, v, err)
			continue
		}
		if at.Offset != tc.offset || at.Path.String() != tc.path {
			t.Errorf("%q refused at byte %d in %q, want %d in %q: %v", tc.text, at.Offset, at.Path, tc.offset, tc.path, err)
		}
		if tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%q: %v, want %v", tc.text, err, tc.want)
		}
		if !v.IsNull() {
			t.Errorf("%q: refused, with %s", tc.text, v)
		}
	}
}

func TestParseLimits(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	long := []byte(`"` + strings.Repeat("a", doc.DefaultMaxBytes) + `"`)
	for _, tc := range []struct {
		text   []byte
		limits *doc.Limits
		want   error
	}{
		{deep(64), nil, nil},
		{deep(65), nil, doc.ErrTooDeep},
		{deep(65), &doc.Limits{MaxDepth: 65}, nil},
		{deep(9000), &doc.Limits{MaxDepth: -1}, nil},
		{deep(3), &doc.Limits{MaxDepth: 2}, doc.ErrTooDeep},
		{long, nil, doc.ErrTooLarge},
		{long, &doc.Limits{MaxBytes: -1}, nil},
		{long, &doc.Limits{MaxBytes: len(long)}, nil},
		{[]byte(`[1,2]`), &doc.Limits{MaxBytes: 4}, doc.ErrTooLarge},
	} {
		if _, err := doc.Parse(tc.text, tc.limits); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
			t.Errorf("%.20s with %+v: %v, want %v", tc.text, tc.limits, err, tc.want)
		}
	}
}

// Values and paths fit into structs that go through encoding/json.
func TestInsideOtherJSON(t *testing.T) {
	type envelope struct {
		At   doc.Path
		Data doc.Value
	}
	in := envelope{doc.P("a/b"), parse(t, `{"x":[1,1.0,"<"]}`)}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out envelope
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if !out.Data.Equal(in.Data) || !out.At.Equal(in.At) {
		t.Fatalf("%s came back as %v", text, out)
	}
	for _, bad := range []string{`{"Data":{"a":1,"a":2}}`, `{"At":"x"}`} {
		if err := json.Unmarshal([]byte(bad), &out); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if !out.Data.Equal(in.Data) {
		t.Error("a refused text changed the value")
	}
}

func TestErrorsSpeak(t *testing.T) {
	_, err := doc.Parse([]byte(`{"a":[1,1e999]}`), nil)
	if got, want := err.Error(), `doc: parse at byte 13 in "/a/1": number out of range`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, err = doc.Apply(doc.Null(), doc.Set("", doc.Int(1)), doc.Increment("/a", 1))
	if got, want := err.Error(), `doc: op 1, increment "/a": wrong kind of value: "a" leads into a value of kind int`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, err = doc.ApplyEdits(doc.Null(), []doc.Edit{{Kind: doc.EditUnset, Path: doc.P("a")}})
	if got, want := err.Error(), `doc: edit 0 at "/a": nothing at this path`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, err = doc.From([]any{func() {}})
	if got, want := err.Error(), `doc: value at "/0": no JSON form for this Go value`; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
