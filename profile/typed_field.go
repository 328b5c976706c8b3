package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
)

// Writable is what a field is read from and written to: a [*Session] or a [*TypedSession].
type Writable interface {
	Data() doc.Value
	Transact(src Source, ops ...doc.Op) (Commit, error)
}

// Field is one place in the data, of type V. Reading and writing it costs the depth of the
// place, not the size of the data. A Field is immutable; make one with [FieldOf], [Int],
// [Float], [Text], [Flag], [ListOf] or [MapOf], and use it for every session. What was wrong
// with the pointer, or with V, each of its methods reports.
type Field[V any] struct {
	path  doc.Path
	codec *codec.Codec[V]
	err   error
}

// FieldOf is the field at a JSON Pointer, such as "/stats/level". V is as T of [Open].
func FieldOf[V any](pointer string) Field[V] {
	p, err := doc.ParsePath(pointer)
	if err != nil {
		return Field[V]{err: fmt.Errorf("profile: field: %w", err)}
	}
	c, err := codec.For[V]()
	if err != nil {
		return Field[V]{err: fmt.Errorf("profile: field %q: %w", p, err)}
	}
	return Field[V]{path: p, codec: c}
}

// Text is a field that holds a string.
func Text(pointer string) Field[string] { return FieldOf[string](pointer) }

// Flag is a field that holds a boolean.
func Flag(pointer string) Field[bool] { return FieldOf[bool](pointer) }

// Path is where the field is: for operations of package doc, several of which make one
// transaction.
func (f Field[V]) Path() doc.Path { return f.path }

// In reads the field from data, such as that of a [View] or a [Commit]. Where nothing is, it is
// the zero V. What is no V is an ErrSchema with the path.
func (f Field[V]) In(data doc.Value) (V, error) {
	var zero V
	if f.err != nil {
		return zero, f.err
	}
	at, there := data.Get(f.path)
	if !there {
		return zero, nil
	}
	v, err := f.codec.Decode(at)
	if err != nil {
		return zero, f.wrong(err)
	}
	return v, nil
}

// Get reads the field as [Field.In] does.
func (f Field[V]) Get(h Writable) (V, error) { return f.In(h.Data()) }

// Set puts v, whatever is there now; missing objects on the way are created. It refuses as
// [Session.Transact] does, and v itself if JSON cannot hold it.
func (f Field[V]) Set(h Writable, src Source, v V) (Commit, error) {
	x, err := f.encode(v)
	if err != nil {
		return Commit{}, err
	}
	return h.Transact(src, doc.Set(f.path, x))
}

// SetFrom puts v if what is there now is old; otherwise it is refused with doc.ErrMismatch. Two
// values are the same if they are stored in the same way.
func (f Field[V]) SetFrom(h Writable, src Source, old, v V) (Commit, error) {
	x, err := f.encode(v)
	y, errOld := f.encode(old)
	if err := errors.Join(err, errOld); err != nil {
		return Commit{}, err
	}
	return h.Transact(src, doc.CompareAndSet(f.path, y, x))
}

// Unset takes the field away; if it is not there nothing happens.
func (f Field[V]) Unset(h Writable, src Source) (Commit, error) {
	if f.err != nil {
		return Commit{}, f.err
	}
	return h.Transact(src, doc.Unset(f.path))
}

func (f Field[V]) encode(v V) (doc.Value, error) {
	if f.err != nil {
		return doc.Value{}, f.err
	}
	x, err := f.codec.Encode(v)
	if err != nil {
		return doc.Value{}, f.wrong(err)
	}
	return x, nil
}

// wrong are the places that do not fit, with their paths in the whole data.
func (f Field[V]) wrong(err error) error {
	var errs []error
	for _, e := range separate(err) {
		if at := (*codec.Error)(nil); errors.As(e, &at) {
			e = &codec.Error{Path: f.path.Join(at.Path), Err: at.Err}
		}
		errs = append(errs, e)
	}
	return fmt.Errorf("profile: field: %w: %w", ErrSchema, errors.Join(errs...))
}

// IntField is a field that holds an integer.
type IntField struct{ Field[int64] }

// Int is a field that holds an integer.
func Int(pointer string) IntField { return IntField{FieldOf[int64](pointer)} }

// Add adds to the number, of which a missing one counts as zero if its parent is there. Leaving
// the range of int64 is refused with doc.ErrOverflow.
func (f IntField) Add(h Writable, src Source, by int64) (Commit, error) {
	if f.err != nil {
		return Commit{}, f.err
	}
	return h.Transact(src, doc.Increment(f.path, by))
}

// AddWithin is Add that is refused with doc.ErrBounds if the sum is below low or above high.
func (f IntField) AddWithin(h Writable, src Source, by, low, high int64) (Commit, error) {
	if f.err != nil {
		return Commit{}, f.err
	}
	return h.Transact(src, doc.Increment(f.path, by).AtLeast(doc.Int(low)).AtMost(doc.Int(high)))
}

// FloatField is a field that holds a number.
type FloatField struct{ Field[float64] }

// Float is a field that holds a number. What is stored as an integer is read as a float, but to
// an integer only integers can be added: see doc.Increment.
func Float(pointer string) FloatField { return FloatField{FieldOf[float64](pointer)} }

// Add adds to the number. NaN and infinities are refused with doc.ErrNotFinite, and a sum beyond
// finite floats with doc.ErrOverflow.
func (f FloatField) Add(h Writable, src Source, by float64) (Commit, error) {
	if f.err != nil {
		return Commit{}, f.err
	}
	return h.Transact(src, doc.Increment(f.path, by))
}
