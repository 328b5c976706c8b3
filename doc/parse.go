package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	tok, err := p.dec.ReadToken()
	if err != nil {
		return Value{}, err
	}
	return p.begun(tok, depth)
}

// begun reads the value that tok begins.
func (p *parser) begun(tok jsontext.Token, depth int) (Value, error) {
	switch tok.Kind() {
	case 'n':
		return Value{}, nil
	case 't', 'f':
		return Bool(tok.Kind() == 't'), nil
	case '"':
		return String(tok.String()) // A string of its own: it keeps no input alive.
	case '0':
		return number(tok.String())
	case '[', '{':
		if p.maxDepth > 0 && depth > p.maxDepth {
			return Value{}, ErrTooDeep
		}
		if tok.Kind() == '[' {
			return p.list(depth)
		}
		return p.object(depth)
	default:
		return Value{}, errors.New("unexpected " + tok.Kind().String())
	}
}

func (p *parser) list(depth int) (Value, error) {
	base := len(p.items)
	for {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return Value{}, err
		}
		if tok.Kind() == ']' {
			break
		}
		v, err := p.begun(tok, depth+1)
		if err != nil {
			return Value{}, err
		}
		p.items = append(p.items, v)
	}
	v := List(p.items[base:]...)
	p.items = p.items[:base]
	return v, nil
}

func (p *parser) object(depth int) (Value, error) {
	base := len(p.members)
	for {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return Value{}, err
		}
		if tok.Kind() == '}' {
			break
		}
		name, at := p.names.name(tok), p.dec.InputOffset()
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		p.members = append(p.members, member{name, v, at})
	}
	v, twice := assemble(p.members[base:])
	if twice != nil {
		return Value{}, &duplicateError{*twice}
	}
	p.members = p.members[:base]
	return v, nil
}

// number makes an integer or a float of a JSON number.
func number(text string) (Value, error) {
	for i := range len(text) {
		if c := text[i]; c == '.' || c == 'e' || c == 'E' {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return Value{}, ErrOverflow
			}
			return Float(f)
		}
	}
	i, err := strconv.ParseInt(text, 10, 64)
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
type interner [128]string

// name is the token's text, from the cache if it is there.
func (in *interner) name(tok jsontext.Token) string {
	s := tok.String()
	if len(s) == 0 || len(s) > 32 {
		return s
	}
	slot := &in[(uint(len(s))*31+uint(s[0])*7+uint(s[len(s)-1]))%uint(len(in))]
	if *slot != s {
		*slot = s
	}
	return *slot
}
