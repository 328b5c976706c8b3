package form

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

// Member is a member of an object in its encoded form.
type Member struct {
	Name string
	Raw  []byte
}

// Reader is an object being read. The first problem is kept; later reads answer zero values.
type Reader struct {
	members []Member // those not taken yet
	err     error
}

// Open splits an object into its members. It is as strict as package doc: duplicate
// names, invalid UTF-8 and trailing data are refused.
func Open(text []byte) *Reader { return open(text, bytes.Clone) }

// Glance is Open for who looks and goes on: what is taken from it shares the text's memory.
func Glance(text []byte) *Reader { return open(text, func(raw []byte) []byte { return raw }) }

// ordinary is how many members an object has, as a rule at most.
const ordinary = 12

func open(text []byte, keep func([]byte) []byte) *Reader {
	f := &Reader{members: make([]Member, 0, ordinary)}
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
		f.members = append(f.members, Member{Name: name, Raw: keep(raw)})
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

// Err is the first problem.
func (f *Reader) Err() error { return f.err }

// Fail keeps a problem with a member, unless there is an earlier one.
func (f *Reader) Fail(name, format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %w", name, fmt.Errorf(format, args...))
	}
}

// Take removes and returns the text of a member; nil when it is not there or null.
func (f *Reader) Take(name string) []byte {
	i := slices.IndexFunc(f.members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	raw := f.members[i].Raw
	f.members = slices.Delete(f.members, i, i+1)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// Has tells that the member is there, null included.
func (f *Reader) Has(name string) bool {
	return slices.ContainsFunc(f.members, func(m Member) bool { return m.Name == name })
}

// Swap puts another text in a member's place and returns what was there; nil, and nothing is
// changed, when there is no such member.
func (f *Reader) Swap(name string, raw []byte) []byte {
	i := slices.IndexFunc(f.members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	was := f.members[i].Raw
	f.members[i].Raw = raw
	return was
}

// Rest are the members that nobody took, in byte order of their names.
func (f *Reader) Rest() []Member {
	if len(f.members) == 0 {
		return nil
	}
	slices.SortFunc(f.members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return f.members
}

// anySize lifts the limits of the parser: the store's own limits hold for what is stored.
var anySize = &doc.Limits{MaxDepth: -1, MaxBytes: -1} //nolint:gochecknoglobals // an immutable table

// Value is the value of a member; null when missing.
func (f *Reader) Value(name string) doc.Value {
	raw := f.Take(name)
	if raw == nil {
		return doc.Value{}
	}
	v, err := doc.Parse(raw, anySize)
	if err != nil {
		f.Fail(name, "%w", err)
	}
	return v
}

// Count is a whole number of at least 0; 0 when missing.
func (f *Reader) Count(name string) uint64 {
	v := f.Value(name)
	if v.IsNull() {
		return 0
	}
	i, ok := v.AsInt()
	if !ok || i < 0 {
		f.Fail(name, "a whole number of at least 0 expected, got %.40s", v)
		return 0
	}
	return uint64(i)
}

// Small is a count that fits an int32.
func (f *Reader) Small(name string) int {
	n := f.Count(name)
	if n > math.MaxInt32 {
		f.Fail(name, "at most %d expected, got %d", math.MaxInt32, n)
		return 0
	}
	return int(n)
}

// Text is a string; empty when missing.
func (f *Reader) Text(name string) string {
	v := f.Value(name)
	s, ok := v.AsString()
	if !ok && !v.IsNull() {
		f.Fail(name, "a string expected, got %.40s", v)
	}
	return s
}

// Word is a string that may not be empty.
func (f *Reader) Word(name string) string {
	s := f.Text(name)
	if s == "" {
		f.Fail(name, "a string expected")
	}
	return s
}

// Flag is a boolean; false when missing.
func (f *Reader) Flag(name string) bool {
	v := f.Value(name)
	b, ok := v.AsBool()
	if !ok && !v.IsNull() {
		f.Fail(name, "true or false expected, got %.40s", v)
	}
	return b
}

// TimeLayout is how times are stored.
const TimeLayout = "2006-01-02T15:04:05.000Z07:00"

// Time is a time; zero when missing.
func (f *Reader) Time(name string) time.Time {
	s := f.Text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		f.Fail(name, "a time like %s expected, got %.40q", TimeLayout, s)
	}
	return Stamp(t)
}

// List calls read with each item of a list of objects; a missing list has none.
func (f *Reader) List(name string, read func(item *Reader)) {
	raw := f.Take(name)
	if raw == nil || f.err != nil {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		f.Fail(name, "a list expected, got %.40s", raw)
		return
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		item, err := dec.ReadValue()
		if err != nil {
			f.Fail(name, "%w", err)
			return
		}
		g := Open(item)
		if g.err == nil {
			read(g)
		}
		if g.err != nil {
			f.Fail(fmt.Sprintf("%s[%d]", name, i), "%w", g.err)
			return
		}
	}
}

// Object calls read with a member that is an object; a missing one is none.
func (f *Reader) Object(name string, read func(inner *Reader)) {
	raw := f.Take(name)
	if raw == nil || f.err != nil {
		return
	}
	g := Open(raw)
	if g.err == nil {
		read(g)
	}
	if g.err != nil {
		f.Fail(name, "%w", g.err)
	}
}

// ErrLater tells that a later release has written the value.
var ErrLater = errors.New("written by a later release")

// CheckFormat takes the format of a stored value: ErrLater for a later one, another
// error for what is no format at all.
func (f *Reader) CheckFormat(known uint64) {
	if f.err != nil {
		return
	}
	format := f.Count("format")
	switch {
	case f.err != nil:
	case format == 0:
		f.Fail("format", "a number of at least 1 expected")
	case format > known:
		f.err = fmt.Errorf("format %d, this release knows %d: %w", format, known, ErrLater)
	}
}

// Stamp is a time as it is stored: UTC, whole milliseconds.
func Stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
