package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound what [Parse] accepts. For each field zero means the default and a
// negative value no limit.
type Limits struct {
	// MaxDepth is how deep lists and objects may nest. Without a limit the parser
	// still refuses more than 10,000. Default 64.
	MaxDepth int
	// MaxBytes is how long the text may be. Default 4 MiB.
	MaxBytes int
}

// The limits that hold where none are given. [Apply] keeps DefaultMaxDepth too.
const (
	DefaultMaxDepth = 64
	DefaultMaxBytes = 4 << 20
)

func (l *Limits) orDefault() Limits {
	set := Limits{}
	if l != nil {
		set = *l
	}
	if set.MaxDepth == 0 {
		set.MaxDepth = DefaultMaxDepth
	}
	if set.MaxBytes == 0 {
		set.MaxBytes = DefaultMaxBytes
	}
	return set
}

// Parse reads one JSON text (RFC 8259, UTF-8). It is strict: duplicate names,
// invalid UTF-8, lone surrogates, an integer outside int64, a float that
// overflows, and anything behind the value are refused with a [*SyntaxError].
// An integer is what has neither fraction nor exponent; -0 is the integer 0. A
// float is rounded to the nearest float64. Nil limits are the defaults.
func Parse(data []byte, limits *Limits) (Value, error) {
	l := limits.orDefault()
	if l.MaxBytes > 0 && len(data) > l.MaxBytes {
		return Value{}, &SyntaxError{Offset: int64(l.MaxBytes), Err: ErrTooLarge}
	}
	p := parser{
		dec:      jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true)),
		maxDepth: l.MaxDepth,
	}
	v, err := p.document()
	if err != nil {
		return Value{}, p.locate(err)
	}
	return v, nil
}

// parser turns tokens into values. Unfinished containers keep their items on two
// stacks, so that a container costs its own nodes and no more.
type parser struct {
	dec      *jsontext.Decoder
	maxDepth int
	items    []Value
	members  []member
	names    interner
}

// duplicateError carries where the second of two equal names stands.
type duplicateError struct{ member }

func (e *duplicateError) Error() string { return ErrDuplicate.Error() }
func (e *duplicateError) Unwrap() error { return ErrDuplicate }

func (p *parser) document() (Value, error) {
	v, err := p.value(1)
	if err != nil {
		return Value{}, err
	}
	switch _, err := p.dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return v, nil
	case err != nil:
		return Value{}, err
	default:
		return Value{}, errors.New("text behind the value")
	}
}

// value reads the next value; a container that begins here has this depth.
func (p *parser) value(depth int) (Value, error) {
	kind := p.dec.PeekKind()
	if kind != '[' && kind != '{' {
		raw, err := p.dec.ReadValue() // Valid until the next read; no copy is made of it.
		if err != nil {
			return Value{}, err
		}
		return scalar(raw)
	}
	if p.maxDepth > 0 && depth > p.maxDepth {
		return Value{}, ErrTooDeep
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Value{}, err
	}
	if kind == '[' {
		return p.list(depth)
	}
	return p.object(depth)
}

// scalar makes a value of a text that the decoder has checked.
func scalar(raw jsontext.Value) (Value, error) {
	switch raw[0] {
	case 'n':
		return Value{}, nil
	case 't', 'f':
		return Bool(raw[0] == 't'), nil
	case '"':
		return str(raw)
	default:
		return number(raw)
	}
}

// str makes a string of its own, which keeps no input alive. The decoder has
// checked that it is UTF-8.
func str(raw jsontext.Value) (Value, error) {
	if len(raw) > maxString {
		return Value{}, ErrTooLarge
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return text(string(raw[1 : len(raw)-1])), nil
	}
	plain, err := jsontext.AppendUnquote(nil, raw)
	return text(string(plain)), err
}

func (p *parser) list(depth int) (Value, error) {
	base := len(p.items)
	for p.dec.PeekKind() != ']' {
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		p.items = append(p.items, v)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Value{}, err
	}
	v := List(p.items[base:]...)
	p.items = p.items[:base]
	return v, nil
}

func (p *parser) object(depth int) (Value, error) {
	base := len(p.members)
	for p.dec.PeekKind() != '}' {
		raw, err := p.dec.ReadValue()
		if err != nil {
			return Value{}, err
		}
		name, at := p.names.name(raw), p.dec.InputOffset()
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		p.members = append(p.members, member{name, v, at})
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Value{}, err
	}
	v, twice := assemble(p.members[base:])
	if twice != nil {
		return Value{}, &duplicateError{*twice}
	}
	p.members = p.members[:base]
	return v, nil
}

// number makes an integer or a float of a JSON number.
func number(raw []byte) (Value, error) {
	if slices.ContainsFunc(raw, func(c byte) bool { return c == '.' || c == 'e' || c == 'E' }) {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return Value{}, ErrOverflow
		}
		return Float(f)
	}
	i, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return Value{}, ErrOverflow
	}
	return Int(i), nil
}

// locate says where the parser stood when it met err.
func (p *parser) locate(err error) error {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return &SyntaxError{
			Offset: syntactic.ByteOffset,
			Path:   pathOf(syntactic.JSONPointer),
			Err:    textual(syntactic.Err),
		}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	at := &SyntaxError{Offset: p.dec.InputOffset(), Path: pathOf(p.dec.StackPointer()), Err: err}
	var twice *duplicateError
	if errors.As(err, &twice) { // Found when the object ended.
		at.Offset, at.Path, at.Err = twice.at, at.Path.Append(twice.name), ErrDuplicate
	}
	return at
}

// textual gives the sentinel to what the package jsontext says of bad characters;
// it has no sentinel of its own for that.
func textual(err error) error {
	switch what := err.Error(); {
	case what == ErrUTF8.Error():
		return ErrUTF8
	case strings.Contains(what, "UTF-8"), strings.Contains(what, "surrogate"):
		return fmt.Errorf("%w: %w", ErrUTF8, err)
	default:
		return err
	}
}

func pathOf(pointer jsontext.Pointer) Path {
	p, err := ParsePath(string(pointer))
	if err != nil {
		return Path{}
	}
	return p
}

// interner lets the names of one text share their memory, since the objects of a
// list mostly have the same ones. It is a small cache, not a set.
type interner [64]string

// name is the unquoted text of a name, from the cache if it is there.
func (in *interner) name(raw jsontext.Value) string {
	plain := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(raw, '\\') >= 0 {
		plain, _ = jsontext.AppendUnquote(nil, raw) // The decoder has checked it.
	}
	n := len(plain)
	if n == 0 || n > 64 {
		return string(plain)
	}
	slot := &in[(n*131+int(plain[0])*31+int(plain[n/2])*17+int(plain[n-1]))%len(in)]
	if *slot != string(plain) {
		*slot = string(plain)
	}
	return *slot
}
