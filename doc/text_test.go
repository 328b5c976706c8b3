package doc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// writer writes a model as JSON in one of the many ways there are.
type writer struct {
	t   *rapid.T
	out strings.Builder
}

func (w *writer) space() {
	w.out.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r\n  "}).Draw(w.t, "space"))
}

func (w *writer) text(s string) {
	w.out.WriteByte('"')
	for _, r := range s {
		switch way := rapid.IntRange(0, 3).Draw(w.t, "way"); {
		case way == 0 && r == '/':
			w.out.WriteString(`\/`)
		case way == 0 && r == '\n':
			w.out.WriteString(`\n`)
		case way <= 1 || r < ' ' || r == '"' || r == '\\':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&w.out, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(w.t, "case"), unit)
			}
		default:
			w.out.WriteRune(r)
		}
	}
	w.out.WriteByte('"')
}

func (w *writer) value(v any) {
	w.space()
	switch v := v.(type) {
	case string:
		w.text(v)
	case []any:
		w.out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				w.out.WriteByte(',')
			}
			w.value(item)
		}
		w.space()
		w.out.WriteByte(']')
	case map[string]any:
		w.members(v)
	case float64:
		w.out.WriteString(rapid.SampledFrom([]string{
			fmt.Sprintf("%.17e", v), fmt.Sprintf("%.17E", v), doc.MustFloat(v).String(),
		}).Draw(w.t, "float"))
	default:
		fmt.Fprint(&w.out, doc.Must(v))
	}
	w.space()
}

func (w *writer) members(v map[string]any) {
	w.out.WriteByte('{')
	names := sortedNames(v)
	if len(names) > 1 {
		names = rapid.Permutation(names).Draw(w.t, "order")
	}
	for i, name := range names {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.space()
		w.text(name)
		w.space()
		w.out.WriteByte(':')
		w.value(v[name])
	}
	w.space()
	w.out.WriteByte('}')
}

// However a value is written, it is read as the same value.
func TestAnyWritingIsReadTheSame(t *testing.T) { rapid.Check(t, anyWritingIsReadTheSame) }

func anyWritingIsReadTheSame(t *rapid.T) {
	model := genTree(3).Draw(t, "value")
	w := writer{t: t}
	w.value(model)
	v, err := doc.Parse([]byte(w.out.String()), nil)
	if err != nil || !v.Equal(doc.Must(model)) {
		t.Fatalf("%s was read as %s (%v)", w.out.String(), v, err)
	}
	if err := doc.Check(v); err != nil {
		t.Fatal(err)
	}
}

// A text with a fault is refused if it is no JSON, and otherwise only for one of
// the reasons in which this package is stricter.
func TestFaultsAreFound(t *testing.T) { rapid.Check(t, faultsAreFound) }

func faultsAreFound(t *rapid.T) {
	text := doc.Must(genTree(3).Draw(t, "value")).Encode()
	for range rapid.IntRange(1, 2).Draw(t, "faults") {
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		piece := []byte(rapid.SampledFrom([]string{
			"", "0", "-", ".", "e", `"`, `\`, ",", ":", "[", "]", "{", "}", " ", "\x00", "\xff", "\u00e9", "null", `"a":1,`, `\ud800`,
		}).Draw(t, "piece"))
		text = slices.Replace(text, at, at+rapid.IntRange(0, 1).Draw(t, "cut"), piece...)
		if len(text) == 0 {
			return
		}
	}
	agreesWithJSON(t, text)
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// agreesWithJSON compares what is accepted with what encoding/json accepts.
func agreesWithJSON(t fataler, text []byte) {
	_, err := doc.Parse(text, nil)
	valid := json.Valid(text)
	var at *doc.SyntaxError
	switch {
	case err == nil && !valid:
		t.Fatalf("%q is no JSON", text)
	case err == nil:
	case !errors.As(err, &at) || at.Offset < 0 || at.Offset > int64(len(text)):
		t.Fatalf("%q: %v", text, err)
	case valid:
		for _, stricter := range []error{doc.ErrDuplicate, doc.ErrUTF8, doc.ErrOverflow, doc.ErrTooDeep, doc.ErrTooLarge} {
			if errors.Is(err, stricter) {
				return
			}
		}
		t.Fatalf("%q is JSON: %v", text, err)
	}
}

// Names of one text share memory, and never one another's letters.
func TestNamesAreKeptApart(t *testing.T) {
	var text bytes.Buffer
	text.WriteByte('[')
	for i := range 500 {
		if i > 0 {
			text.WriteByte(',')
		}
		// The same ends and lengths, so that many fall onto one place of the cache.
		fmt.Fprintf(&text, `{"a%03dz":%d,"\u0061%03dy":%d,"":%d,"%s":%d}`, i, i, i, i, i, strings.Repeat("n", i%90+1), i)
	}
	text.WriteByte(']')
	v := parse(t, text.String())
	for i, item := range v.Items() {
		for _, name := range []string{fmt.Sprintf("a%03dz", i), fmt.Sprintf("a%03dy", i), "", strings.Repeat("n", i%90+1)} {
			got, ok := item.Member(name)
			if n, _ := got.AsInt(); !ok || n != int64(i) {
				t.Fatalf("member %q of item %d is %s", name, i, got)
			}
		}
	}
}

// What nests as deep as the parser allows can be handled; comparing lists level
// by level is meant for less.
func TestVeryDeepValues(t *testing.T) {
	read := func(depth int, leaf string) doc.Value {
		text := strings.Repeat(`[{"a":`, depth/2) + leaf + strings.Repeat(`}]`, depth/2)
		v, err := doc.Parse([]byte(text), &doc.Limits{MaxDepth: -1})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := read(9000, "1"); v.Depth() != 9000 || v.Size() != len(v.Encode()) || !v.Equal(read(9000, "1")) || v.Equal(read(9000, "2")) {
		t.Errorf("depth %d, size %d", v.Depth(), v.Size())
	}
	a, b := read(500, "1"), read(500, "2")
	edits := doc.Diff(a, b)
	if got, err := doc.ApplyEdits(a, edits); err != nil || !got.Equal(b) || len(edits) != 1 {
		t.Errorf("%d edits, %v", len(edits), err)
	}
	if got, err := doc.EffectsBetween(a, b).Apply(a); err != nil || !got.Equal(b) {
		t.Errorf("effects: %v", err)
	}
	if path, bytes := doc.Growth(a, read(500, "100")); bytes != 2 || !path.IsRoot() {
		t.Errorf("grew by %d at %s", bytes, path)
	}
}
