package doc

import (
	"math"
	"unicode/utf8"
	"unsafe"
)

// Value is an immutable JSON value. The zero Value is null. It is three words
// long and meant to be passed by value; compare values with [Value.Equal].
type Value struct {
	_ [0]func() // == would compare identity, so it does not compile.

	// ref is the first byte of a string, or the *node at the root of a list or
	// an object (nil when it is empty). Nothing else ever writes or reads it.
	ref unsafe.Pointer
	// bits is a boolean (0 or 1), an int64, the bits of a float64, or for a
	// string its length (low half) and what escaping adds to it (high half).
	bits uint64
	kind Kind
	// width is the encoded length of a float, because formatting one costs too
	// much to be repeated each time a size is asked for.
	width uint8
}

// maxString keeps a string's length and the growth by escaping (at most
// fivefold) inside 32 bits each.
const maxString = 1 << 29

// Null returns null, which is also the zero Value.
func Null() Value { return Value{} }

// Bool returns a boolean.
func Bool(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.bits = 1
	}
	return v
}

// Int returns an integer.
func Int(i int64) Value { return Value{kind: KindInt, bits: uint64(i)} }

// Float returns a float. NaN and the infinities are refused with [ErrNotFinite].
// A float stays a float, also when it has no fraction: 1.0 is encoded as 1.0 and
// is not equal to the integer 1. Negative zero is kept.
func Float(f float64) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}, ErrNotFinite
	}
	var buf [32]byte
	width := len(appendFloat(buf[:0], f))
	return Value{kind: KindFloat, bits: math.Float64bits(f), width: uint8(width)}, nil
}

// MustFloat is [Float] for constants; it panics where Float fails.
func MustFloat(f float64) Value { return must(Float(f)) }

// String returns a string. Text that is not valid UTF-8 is refused with
// [ErrUTF8], and more than 512 MiB with [ErrTooLarge].
func String(s string) (Value, error) {
	if !utf8.ValidString(s) {
		return Value{}, ErrUTF8
	}
	if len(s) > maxString {
		return Value{}, ErrTooLarge
	}
	return text(s), nil
}

// MustString is [String] for constants; it panics where String fails.
func MustString(s string) Value { return must(String(s)) }

// text makes a string value of s, which is known to be valid.
func text(s string) Value {
	if s == "" { // Its address means nothing.
		return Value{kind: KindString}
	}
	return Value{
		kind: KindString,
		ref:  unsafe.Pointer(unsafe.StringData(s)),
		bits: uint64(len(s)) | uint64(escapeGrowth(s))<<32,
	}
}

func must(v Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return v
}

// Kind says what v is.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// AsBool returns the boolean; ok is false for any other kind.
func (v Value) AsBool() (b, ok bool) { return v.kind == KindBool && v.bits == 1, v.kind == KindBool }

// AsInt returns the integer; ok is false for any other kind, floats without a
// fraction included.
func (v Value) AsInt() (i int64, ok bool) {
	if v.kind != KindInt {
		return 0, false
	}
	return int64(v.bits), true
}

// AsFloat returns the float. An integer answers too where the conversion is
// exact, since a client may have written 3 for 3.0; ok is false otherwise.
func (v Value) AsFloat() (f float64, ok bool) {
	switch v.kind {
	case KindFloat:
		return math.Float64frombits(v.bits), true
	case KindInt:
		return exactFloat(int64(v.bits))
	case KindNull, KindBool, KindString, KindList, KindObject:
	}
	return 0, false
}

// exactFloat converts i if no digit is lost.
func exactFloat(i int64) (float64, bool) {
	f := float64(i)
	if f >= math.MaxInt64 || int64(f) != i { // 2^63 itself would not convert back.
		return 0, false
	}
	return f, true
}

// AsString returns the string; ok is false for any other kind.
func (v Value) AsString() (s string, ok bool) {
	if v.kind != KindString {
		return "", false
	}
	return v.str(), true
}

func (v Value) str() string { return unsafe.String((*byte)(v.ref), int(uint32(v.bits))) }

// plain reports whether a string encodes without any escape.
func (v Value) plain() bool { return v.bits>>32 == 0 }

// root is the tree of a list or an object, nil when it is empty or v is a scalar.
func (v Value) root() *node {
	if v.kind < KindList {
		return nil
	}
	return (*node)(v.ref)
}

// holding is v with another tree; v is a list or an object.
func (v Value) holding(root *node) Value { return Value{kind: v.kind, ref: unsafe.Pointer(root)} }

// Len returns the number of items of a list, members of an object, or bytes of
// a string, and 0 for everything else.
func (v Value) Len() int {
	switch v.kind {
	case KindString:
		return int(uint32(v.bits))
	case KindList, KindObject:
		if n := v.root(); n != nil {
			return n.count
		}
	case KindNull, KindBool, KindInt, KindFloat:
	}
	return 0
}

// Depth returns how deep v is nested: 0 for a scalar, 1 for an empty or flat
// list or object, and so on. It costs nothing.
func (v Value) Depth() int {
	if v.kind < KindList {
		return 0
	}
	if n := v.root(); n != nil {
		return int(n.depth) + 1
	}
	return 1
}

// String returns the canonical encoding, so that values print legibly.
func (v Value) String() string { return string(v.Encode()) }
