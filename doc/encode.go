package doc

import (
	"math"
	"slices"
	"strconv"
)

// Encode returns the canonical JSON text of v in fresh bytes: members in byte
// order of their names, no spaces, integers exact, floats as the shortest text
// that reads back as the same float and always with a fraction or an exponent,
// in strings only what must be escaped.
func (v Value) Encode() []byte { return v.AppendJSON(make([]byte, 0, v.Size())) }

// AppendJSON appends the canonical JSON text of v to dst.
func (v Value) AppendJSON(dst []byte) []byte { return v.appendTo(slices.Grow(dst, v.Size())) }

func (v Value) appendTo(dst []byte) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...)
	case KindBool:
		return strconv.AppendBool(dst, v.bits == 1)
	case KindInt:
		return strconv.AppendInt(dst, int64(v.bits), 10)
	case KindFloat:
		return appendFloat(dst, math.Float64frombits(v.bits))
	case KindString:
		if v.plain() {
			return append(append(append(dst, '"'), v.str()...), '"')
		}
		return appendEscaped(dst, v.str())
	case KindList:
		return append(v.root().appendTo(append(dst, '[')), ']')
	case KindObject:
		return append(v.root().appendTo(append(dst, '{')), '}')
	default:
		return dst
	}
}

// appendTo appends items and names with commas between them.
func (n *node) appendTo(dst []byte) []byte {
	if n == nil {
		return dst
	}
	for i, kid := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = kid.appendTo(dst)
	}
	for i := range n.vals {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.keys != nil {
			dst = append(appendEscaped(dst, n.keys[i]), ':')
		}
		dst = n.vals[i].appendTo(dst)
	}
	return dst
}

// Size returns the length of v's canonical encoding in bytes. It costs nothing,
// however large v is.
func (v Value) Size() int {
	switch v.kind {
	case KindNull:
		return len("null")
	case KindBool:
		return len("false") - int(v.bits)
	case KindInt:
		return digits(int64(v.bits))
	case KindFloat:
		return int(v.width)
	case KindString:
		return int(uint32(v.bits)) + int(v.bits>>32) + 2
	case KindList, KindObject:
		if n := v.root(); n != nil {
			return n.size + n.count + 1 // n.count − 1 commas and two brackets
		}
		return 2
	default:
		return 0
	}
}

// digits is the length of i in decimal, sign included.
func digits(i int64) int {
	n, u := 1, uint64(i)
	if i < 0 {
		n, u = 2, -u
	}
	for ; u >= 10; u /= 10 {
		n++
	}
	return n
}

// nameSize is what a member's name takes in the encoding, quotes and colon included.
func nameSize(name string) int { return len(name) + escapeGrowth(name) + 3 }

// appendFloat appends the shortest text of f, with .0 if it would read as an integer.
// The choice between the two notations is that of ECMAScript.
func appendFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if format == 'f' {
		if !slices.Contains(dst[start:], '.') {
			dst = append(dst, '.', '0')
		}
		return dst
	}
	if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' { // e-09 is e-9.
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// escapeGrowth is by how many bytes escaping makes s longer.
func escapeGrowth(s string) int {
	n := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		if shortEscape(c) != 0 {
			n++
		} else {
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// shortEscape is the letter after the backslash, or 0 if c needs \u00xx.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	default:
		return 0
	}
}

// appendEscaped appends s in quotes.
func appendEscaped(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // bytes of s appended
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[done:i]...)
		done = i + 1
		dst = appendEscape(dst, c)
	}
	return append(append(dst, s[done:]...), '"')
}

// appendEscape appends a byte that cannot stand in a string as it is.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	if e := shortEscape(c); e != 0 {
		return append(dst, '\\', e)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
