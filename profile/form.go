package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/shoalworks/shoal/doc"
)

// This file reads and writes the stored forms: JSON objects whose members are in byte order
// of their names, with members of later releases kept as they came.

// member is a member of an object in its encoded form.
type member struct {
	name string
	raw  []byte
}

// form is an object being read. The first problem is kept; later reads answer zero values.
type form struct {
	members []member // those not taken yet
	err     error
}

// openForm splits an object into its members. It is as strict as package doc: duplicate
// names, invalid UTF-8 and trailing data are refused.
func openForm(text []byte) *form {
	f := &form{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		f.err = errors.Join(errors.New("a JSON object expected"), err)
		return f
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			f.err = err
			return f
		}
		name := tok.String()
		raw, err := dec.ReadValue()
		if err != nil {
			f.err = err
			return f
		}
		f.members = append(f.members, member{name, bytes.Clone(raw)})
	}
	if _, err := dec.ReadToken(); err != nil {
		f.err = err
		return f
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		f.err = errors.Join(errors.New("nothing behind the object expected"), err)
	}
	return f
}

func (f *form) fail(name, format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %w", name, fmt.Errorf(format, args...))
	}
}

// take removes and returns the text of a member; nil when it is not there or null.
func (f *form) take(name string) []byte {
	i := slices.IndexFunc(f.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	raw := f.members[i].raw
	f.members = slices.Delete(f.members, i, i+1)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// has tells that the member is there, null included.
func (f *form) has(name string) bool {
	return slices.ContainsFunc(f.members, func(m member) bool { return m.name == name })
}

// rest are the members that nobody took, in byte order of their names.
func (f *form) rest() []member {
	if len(f.members) == 0 {
		return nil
	}
	slices.SortFunc(f.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return f.members
}

// anySize lifts the limits of the parser: the store's own limits hold for what is stored.
var anySize = &doc.Limits{MaxDepth: -1, MaxBytes: -1} //nolint:gochecknoglobals // an immutable table

func (f *form) value(name string) doc.Value {
	raw := f.take(name)
	if raw == nil {
		return doc.Value{}
	}
	v, err := doc.Parse(raw, anySize)
	if err != nil {
		f.fail(name, "%w", err)
	}
	return v
}

// count is a whole number of at least 0; 0 when missing.
func (f *form) count(name string) uint64 {
	v := f.value(name)
	if v.IsNull() {
		return 0
	}
	i, ok := v.AsInt()
	if !ok || i < 0 {
		f.fail(name, "a whole number of at least 0 expected, got %.40s", v)
		return 0
	}
	return uint64(i)
}

// small is a count that fits an int32.
func (f *form) small(name string) int {
	n := f.count(name)
	if n > math.MaxInt32 {
		f.fail(name, "at most %d expected, got %d", math.MaxInt32, n)
		return 0
	}
	return int(n)
}

// text is a string; empty when missing.
func (f *form) text(name string) string {
	v := f.value(name)
	s, ok := v.AsString()
	if !ok && !v.IsNull() {
		f.fail(name, "a string expected, got %.40s", v)
	}
	return s
}

// word is a string that may not be empty.
func (f *form) word(name string) string {
	s := f.text(name)
	if s == "" {
		f.fail(name, "a string expected")
	}
	return s
}

// flag is a boolean; false when missing.
func (f *form) flag(name string) bool {
	v := f.value(name)
	b, ok := v.AsBool()
	if !ok && !v.IsNull() {
		f.fail(name, "true or false expected, got %.40s", v)
	}
	return b
}

// timeLayout is how times are stored.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// time is a time; zero when missing.
func (f *form) time(name string) time.Time {
	s := f.text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		f.fail(name, "a time like %s expected, got %.40q", timeLayout, s)
	}
	return stamp(t)
}

// list calls read with each item of a list of objects; a missing list has none.
func (f *form) list(name string, read func(item *form)) {
	raw := f.take(name)
	if raw == nil || f.err != nil {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		f.fail(name, "a list expected, got %.40s", raw)
		return
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		item, err := dec.ReadValue()
		if err != nil {
			f.fail(name, "%w", err)
			return
		}
		g := openForm(item)
		if g.err == nil {
			read(g)
		}
		if g.err != nil {
			f.fail(fmt.Sprintf("%s[%d]", name, i), "%w", g.err)
			return
		}
	}
}

// object calls read with a member that is an object; a missing one is none.
func (f *form) object(name string, read func(inner *form)) {
	raw := f.take(name)
	if raw == nil || f.err != nil {
		return
	}
	g := openForm(raw)
	if g.err == nil {
		read(g)
	}
	if g.err != nil {
		f.fail(name, "%w", g.err)
	}
}

// writer appends an object to out. Members are added in byte order of their names; those of
// extras are put in between.
type writer struct {
	out    []byte
	extras []member
	begun  bool
}

func openWriter(dst []byte, extras []member) writer {
	return writer{out: append(dst, '{'), extras: extras}
}

// at begins the member with this name: its value is to be appended to out.
func (w *writer) at(name string) {
	for len(w.extras) > 0 && w.extras[0].name < name {
		w.extra()
	}
	w.name(name)
}

func (w *writer) extra() {
	m := w.extras[0]
	w.extras = w.extras[1:]
	w.name(m.name)
	w.out = append(w.out, m.raw...)
}

func (w *writer) name(name string) {
	if w.begun {
		w.out = append(w.out, ',')
	}
	w.begun = true
	w.out = append(appendText(w.out, name), ':')
}

func (w *writer) close() []byte {
	for len(w.extras) > 0 {
		w.extra()
	}
	return append(w.out, '}')
}

func (w *writer) value(name string, v doc.Value) {
	w.at(name)
	w.out = v.AppendJSON(w.out)
}

func (w *writer) count(name string, n uint64) { w.value(name, doc.Int(int64(min(n, math.MaxInt64)))) }

func (w *writer) text(name, s string) {
	w.at(name)
	w.out = appendText(w.out, s)
}

func (w *writer) flag(name string, b bool) { w.value(name, doc.Bool(b)) }

func (w *writer) time(name string, t time.Time) {
	w.at(name)
	w.out = append(w.out, '"')
	w.out = appendTime(w.out, t)
	w.out = append(w.out, '"')
}

// appendTime is timeLayout in UTC; a record has three times, and Time.AppendFormat takes
// longer for them than for all the rest of an ordinary envelope.
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = append(appendDigits(dst, year, 4), '-')
	dst = append(appendDigits(dst, int(month), 2), '-')
	dst = append(appendDigits(dst, day, 2), 'T')
	dst = append(appendDigits(dst, hour, 2), ':')
	dst = append(appendDigits(dst, minute, 2), ':')
	dst = append(appendDigits(dst, second, 2), '.')
	return append(appendDigits(dst, t.Nanosecond()/int(time.Millisecond), 3), 'Z')
}

// appendDigits appends the last n digits of a number of at least 0.
func appendDigits(dst []byte, number, n int) []byte {
	at := len(dst)
	for range n {
		dst = append(dst, '0')
	}
	for i := at + n - 1; i >= at; i-- {
		dst[i] += byte(number % 10)
		number /= 10
	}
	return dst
}

// appendText appends a string's encoding. What is no UTF-8 never gets here from outside:
// keys and names are ASCII, tokens are random letters; anything else is made valid.
func appendText(dst []byte, s string) []byte {
	v, err := doc.String(s)
	if err != nil {
		v = doc.MustString(strings.ToValidUTF8(s, "\uFFFD"))
	}
	return v.AppendJSON(dst)
}

// appendList appends a list of objects.
func appendList[E any](w *writer, name string, items []E, one func(dst []byte, item E) []byte) {
	w.at(name)
	w.out = append(w.out, '[')
	for i, item := range items {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = one(w.out, item)
	}
	w.out = append(w.out, ']')
}
