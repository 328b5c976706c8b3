package form

import (
	"math"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// Writer appends an object to Out. Members are added in byte order of their names; those of
// extras are put in between.
type Writer struct {
	Out    []byte // what is written so far
	extras []Member
	begun  bool
}

// NewWriter begins an object behind dst. Extras are in byte order of their names.
func NewWriter(dst []byte, extras []Member) Writer {
	return Writer{Out: append(dst, '{'), extras: extras}
}

// At begins the member with this name: its value is to be appended to Out.
func (w *Writer) At(name string) {
	for len(w.extras) > 0 && w.extras[0].Name < name {
		w.extra()
	}
	w.name(name)
}

func (w *Writer) extra() {
	m := w.extras[0]
	w.extras = w.extras[1:]
	w.name(m.Name)
	w.Out = append(w.Out, m.Raw...)
}

func (w *Writer) name(name string) {
	if w.begun {
		w.Out = append(w.Out, ',')
	}
	w.begun = true
	w.Out = append(AppendText(w.Out, name), ':')
}

// Close puts in the extras that are left, ends the object and returns all of Out.
func (w *Writer) Close() []byte {
	for len(w.extras) > 0 {
		w.extra()
	}
	return append(w.Out, '}')
}

// Value adds a member.
func (w *Writer) Value(name string, v doc.Value) {
	w.At(name)
	w.Out = v.AppendJSON(w.Out)
}

// Count adds a whole number.
func (w *Writer) Count(name string, n uint64) { w.Value(name, doc.Int(int64(min(n, math.MaxInt64)))) }

// Text adds a string.
func (w *Writer) Text(name, s string) {
	w.At(name)
	w.Out = AppendText(w.Out, s)
}

// Flag adds a boolean.
func (w *Writer) Flag(name string, b bool) { w.Value(name, doc.Bool(b)) }

// Time adds a time, in TimeLayout and UTC.
func (w *Writer) Time(name string, t time.Time) {
	w.At(name)
	w.Out = append(w.Out, '"')
	w.Out = appendTime(w.Out, t)
	w.Out = append(w.Out, '"')
}

// appendTime is TimeLayout in UTC; a record has three times, and Time.AppendFormat takes
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

// AppendText appends a string's encoding. What is no UTF-8 never gets here from outside:
// keys and names are ASCII, tokens are random letters; anything else is made valid.
func AppendText(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	v, err := doc.String(s)
	if err != nil {
		v = doc.MustString(strings.ToValidUTF8(s, "\uFFFD"))
	}
	return v.AppendJSON(dst)
}

// isPlain tells that a text is ASCII, and encodes without any escape.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendList appends a list of objects.
func AppendList[E any](w *Writer, name string, items []E, one func(dst []byte, item E) []byte) {
	w.At(name)
	w.Out = append(w.Out, '[')
	for i, item := range items {
		if i > 0 {
			w.Out = append(w.Out, ',')
		}
		w.Out = one(w.Out, item)
	}
	w.Out = append(w.Out, ']')
}
