package doc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Path is a place in a document: a JSON Pointer (RFC 6901) taken apart. The zero
// Path is the whole document. Paths are immutable; compare them with [Path.Equal].
//
// A segment is a member's name in an object and a position in a list, and only
// the document tells which. Positions are written without leading zeros; "-" in
// a list is the place behind the last item.
type Path struct {
	segs []segment
}

// segment is a name, and the position it means in a list.
type segment struct {
	name string
	pos  int // positions, or one of the two below
}

const (
	noPos  = -1 // the name is no position
	endPos = -2 // the name is "-"
)

func segmentOf(name string) segment {
	if name == "-" {
		return segment{name, endPos}
	}
	if name == "" || len(name) > 1 && name[0] == '0' || len(name) > 9 { // No list is that long.
		return segment{name, noPos}
	}
	pos := 0
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return segment{name, noPos}
		}
		pos = pos*10 + int(name[i]-'0')
	}
	return segment{name, pos}
}

// P returns the path with these segments, each the plain text of a name or a
// position, without escapes.
func P(segments ...string) Path { return Path{}.Append(segments...) }

// ParsePath parses a JSON Pointer such as "/inventory/0/name". The empty text is
// the whole document; any other begins with a slash. In a segment ~1 stands for
// a slash and ~0 for a tilde. Anything else is refused with [ErrBadPath].
func ParsePath(pointer string) (Path, error) {
	p, err := parsePath(pointer)
	if err != nil {
		return Path{}, fmt.Errorf("doc: %w", err)
	}
	return p, nil
}

func parsePath(pointer string) (Path, error) {
	if pointer == "" {
		return Path{}, nil
	}
	if err := checkName(pointer); err != nil {
		return Path{}, fmt.Errorf("%w %q: %w", ErrBadPath, pointer, err)
	}
	if pointer[0] != '/' {
		return Path{}, fmt.Errorf("%w %q: it must begin with a slash", ErrBadPath, pointer)
	}
	segs := make([]segment, 0, strings.Count(pointer, "/"))
	for name := range strings.SplitSeq(pointer[1:], "/") {
		plain, ok := unescape(name)
		if !ok {
			return Path{}, fmt.Errorf("%w %q: a tilde must be followed by 0 or 1", ErrBadPath, pointer)
		}
		segs = append(segs, segmentOf(plain))
	}
	return Path{segs}, nil
}

// MustPath is [ParsePath] for constants; it panics where ParsePath fails.
func MustPath(pointer string) Path {
	p, err := ParsePath(pointer)
	if err != nil {
		panic(err)
	}
	return p
}

func unescape(name string) (string, bool) {
	if !strings.Contains(name, "~") {
		return name, true
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] != '~':
			b.WriteByte(name[i])
		case i+1 < len(name) && name[i+1] == '0':
			b.WriteByte('~')
			i++
		case i+1 < len(name) && name[i+1] == '1':
			b.WriteByte('/')
			i++
		default:
			return "", false
		}
	}
	return b.String(), true
}

// String returns the path as a JSON Pointer, the empty text for the whole document.
func (p Path) String() string {
	size := 0
	for _, s := range p.segs {
		size += len(s.name) + 1
	}
	dst := make([]byte, 0, size)
	for _, s := range p.segs {
		dst = append(dst, '/')
		for i := range len(s.name) {
			switch c := s.name[i]; c {
			case '~':
				dst = append(dst, "~0"...)
			case '/':
				dst = append(dst, "~1"...)
			default:
				dst = append(dst, c)
			}
		}
	}
	return string(dst)
}

// Append returns the path that goes on with more segments, given as in [P].
func (p Path) Append(segments ...string) Path {
	segs := make([]segment, 0, len(p.segs)+len(segments))
	segs = append(segs, p.segs...)
	for _, name := range segments {
		segs = append(segs, segmentOf(name))
	}
	return Path{segs}
}

// AppendIndex returns the path that goes on with a position in a list; a negative
// one means the place behind the last item.
func (p Path) AppendIndex(i int) Path {
	if i < 0 {
		return p.Append("-")
	}
	return p.Append(strconv.Itoa(i))
}

// Join returns the path that goes on with another path.
func (p Path) Join(q Path) Path { return Path{slices.Concat(p.segs, q.segs)} }

// Parent returns the path without its last segment; the parent of the whole
// document is the whole document.
func (p Path) Parent() Path {
	if len(p.segs) == 0 {
		return p
	}
	return Path{p.segs[: len(p.segs)-1 : len(p.segs)-1]}
}

// Last returns the last segment without escapes, and the empty text for the whole document.
func (p Path) Last() string {
	if len(p.segs) == 0 {
		return ""
	}
	return p.segs[len(p.segs)-1].name
}

// Len returns the number of segments.
func (p Path) Len() int { return len(p.segs) }

// IsRoot reports whether the path is the whole document.
func (p Path) IsRoot() bool { return len(p.segs) == 0 }

// Segments returns the segments without escapes, in a slice of their own.
func (p Path) Segments() []string {
	names := make([]string, len(p.segs))
	for i, s := range p.segs {
		names[i] = s.name
	}
	return names
}

// Equal reports whether two paths have the same segments.
func (p Path) Equal(q Path) bool { return slices.Equal(p.segs, q.segs) }

// HasPrefix reports whether p is q or lies below q.
func (p Path) HasPrefix(q Path) bool {
	return len(p.segs) >= len(q.segs) && slices.Equal(p.segs[:len(q.segs)], q.segs)
}

// Compare orders paths segment by segment in byte order, a parent before what is below it.
func (p Path) Compare(q Path) int {
	return slices.CompareFunc(p.segs, q.segs, func(a, b segment) int { return compareNames(a.name, b.name) })
}

// MarshalText returns the path as a JSON Pointer.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText sets the path from a JSON Pointer.
func (p *Path) UnmarshalText(text []byte) error {
	q, err := ParsePath(string(text))
	if err != nil {
		return err
	}
	*p = q
	return nil
}

// Get returns what is at the path; ok is false if nothing is.
func (v Value) Get(p Path) (at Value, ok bool) {
	for _, s := range p.segs {
		if v, ok = v.child(s); !ok {
			return Value{}, false
		}
	}
	return v, true
}

// child is the member or item that a segment means in v.
func (v Value) child(s segment) (Value, bool) {
	switch v.kind {
	case KindObject:
		return v.root().find(s.name)
	case KindList:
		if s.pos < 0 || s.pos >= v.Len() {
			return Value{}, false
		}
		return v.root().index(s.pos), true
	case KindNull, KindBool, KindInt, KindFloat, KindString:
	}
	return Value{}, false
}

// Lookup returns what is at a JSON Pointer; ok is false if nothing is, and err
// says that the text is no JSON Pointer.
func (v Value) Lookup(pointer string) (at Value, ok bool, err error) {
	p, err := ParsePath(pointer)
	if err != nil {
		return Value{}, false, err
	}
	at, ok = v.Get(p)
	return at, ok, nil
}
