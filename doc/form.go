package doc

import (
	"fmt"
	"math"
	"slices"
)

// form reads the members of a strict JSON object one by one. It remembers the
// first fault, and at the end refuses whatever nobody asked for.
type form struct {
	what  string // what the object is, for messages
	v     Value
	asked []string // members that were asked for
	err   error
}

// wireDepth is what the JSON forms of operations, edits and effects may nest: a
// document, and the form around it.
const wireDepth = DefaultMaxDepth + 4

// parseForm reads one object; the caller bounds its length.
func parseForm(what string, data []byte) (*form, error) {
	v, err := Parse(data, &Limits{MaxDepth: wireDepth, MaxBytes: -1})
	if err != nil {
		return nil, err
	}
	f := formOf(what, v)
	return f, f.err
}

func formOf(what string, v Value) *form {
	f := &form{what: what, v: v}
	if v.kind != KindObject {
		f.fail("%s must be an object, not of kind %s", what, v.kind)
	}
	return f
}

func (f *form) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("doc: %w: %s", ErrBadOp, fmt.Sprintf(format, args...))
	}
}

// optional returns a member that may be missing.
func (f *form) optional(name string) (Value, bool) {
	f.asked = append(f.asked, name)
	return f.v.Member(name)
}

// value returns a member that must be there.
func (f *form) value(name string) Value {
	v, ok := f.optional(name)
	if !ok {
		f.fail("%s lacks %q", f.what, name)
	}
	return v
}

func (f *form) text(name string) string {
	s, ok := f.value(name).AsString()
	if !ok {
		f.fail("%q of %s must be a string", name, f.what)
	}
	return s
}

// path returns the member "path", which must be a JSON Pointer.
func (f *form) path() Path {
	p, err := parsePath(f.text("path"))
	if err != nil {
		f.fail("\"path\" of %s: %v", f.what, err)
	}
	return p
}

// count returns a position or a number of items.
func (f *form) count(name string) int {
	i, ok := f.value(name).AsInt()
	if !ok || i < 0 || i > math.MaxInt32 {
		f.fail("%q of %s must be an integer, 0 or more", name, f.what)
	}
	return int(i)
}

// list returns a member that must be a list.
func (f *form) list(name string) Value {
	v := f.value(name)
	if v.kind != KindList {
		f.fail("%q of %s must be a list", name, f.what)
	}
	return v
}

// clamp returns the member "clamp", which is false when left out.
func (f *form) clamp() bool {
	v, ok := f.optional("clamp")
	if !ok {
		return false
	}
	set, ok := v.AsBool()
	if !ok {
		f.fail("\"clamp\" of %s must be a boolean", f.what)
	}
	return set
}

// end refuses a member that nobody asked for, and returns the first fault.
func (f *form) end() error {
	for name := range f.v.Members() {
		if !slices.Contains(f.asked, name) {
			f.fail("%s has no field %q", f.what, name)
		}
	}
	return f.err
}
