package codec

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/shoalworks/shoal/doc"
)

// Codec turns values of the package doc into values of the Go type T and back. It never
// changes, and is safe for any number of goroutines.
type Codec[T any] struct {
	plan   *plan
	opaque bool
}

// For makes the codec of T. What it cannot support is refused with everything that is wrong,
// by the names of the fields: channels, functions, complex numbers, interfaces other than any,
// maps whose keys are not plain strings, types that write JSON but do not read it,
// time.Duration (JSON has no common form for it), and options of json tags other than
// omitzero and omitempty.
func For[T any]() (*Codec[T], error) {
	t := reflect.TypeFor[T]()
	b := builder{made: make(map[reflect.Type]*plan)}
	p := b.plan(t)
	if err := errors.Join(b.faults...); err != nil {
		return nil, fmt.Errorf("codec: %s: %w", t, err)
	}
	return &Codec[T]{p, b.opaque}, nil
}

// Decode makes a T of v. Members that T does not know are ignored, and a missing member leaves
// its field zero, as null does. A value of another kind than its field, and a number that does
// not fit, are errors with their paths: all of them, up to [MaxErrors], each an [*Error].
//
// A float without a fraction is taken for an integer field. A float field gets the nearest
// float of its type; as long as the field stays what it is, [Codec.Graft] keeps the number that
// is stored, with all its digits.
func (c *Codec[T]) Decode(v doc.Value) (T, error) {
	var t T
	d := decoder{}
	c.plan.decode(&d, v, reflect.ValueOf(&t).Elem())
	if len(d.errs) > 0 {
		var zero T
		return zero, errors.Join(d.errs...)
	}
	return t, nil
}

// Encode makes a value of t, the same that [doc.From] makes of it. What JSON cannot hold is
// refused with an [*Error] for each place.
func (c *Codec[T]) Encode(t T) (doc.Value, error) { return c.encode(doc.Value{}, false, &t) }

// Graft puts t into before, which is what a T has been decoded from, and maybe holds more:
//
//   - Members that T does not know stay, at every depth: in structs, in the values of maps that
//     are still there, and in the items of lists. An item that has not changed is recognized
//     wherever it now stands in its list; of several that changed in one place, each takes the
//     place of its predecessor if their number is the same, and is new otherwise.
//   - What still means the same in Go stays as it is stored: 1.0 in an integer field, null for
//     a zero, a time in another notation. Parts that did not change are shared with before, so
//     that [doc.Diff] finds the difference at once.
//   - A member that is not there is added only if its field is not zero (an empty slice or map
//     counts as zero), so a change of one field is one edit. A member that omitzero or
//     omitempty leaves out is taken away when its field has become zero or empty.
//
// Errors are as those of Encode; then before comes back.
func (c *Codec[T]) Graft(before doc.Value, t T) (doc.Value, error) { return c.encode(before, true, &t) }

func (c *Codec[T]) encode(before doc.Value, has bool, t *T) (doc.Value, error) {
	e := encoder{}
	v, _ := c.plan.graft(&e, before, has, reflect.ValueOf(t).Elem())
	if len(e.errs) == 0 && v.Depth() > doc.DefaultMaxDepth {
		e.fail(doc.ErrTooDeep)
	}
	if len(e.errs) > 0 {
		return before, errors.Join(e.errs...)
	}
	return v, nil
}

// Clone returns a copy of t that shares nothing with it that can be changed. What a field of
// type any holds is copied as far as it consists of what Decode puts there; a type with methods
// for JSON of its own goes through its JSON form, except time.Time, which is copied; fields
// that are not part of the JSON form are copied as by assignment.
func (c *Codec[T]) Clone(t T) T {
	if c.plan.clone != nil {
		c.plan.clone(reflect.ValueOf(&t).Elem())
	}
	return t
}

// Plain reports whether values of T hold no references, so that assignment copies them.
func (c *Codec[T]) Plain() bool { return c.plan.clone == nil }

// Opaque reports whether T holds types whose form only they know: times, bytes in base64, and
// types with methods for JSON of their own. Without them a value that is as a schema derived
// from T wants it can be decoded.
func (c *Codec[T]) Opaque() bool { return c.opaque }
