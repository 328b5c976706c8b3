package doc

import "fmt"

// OpKind says what an [Op] does.
type OpKind uint8

// The kinds of operations; the zero OpKind is none of them.
const (
	OpSet             OpKind = iota + 1 // OpSet puts a value.
	OpUnset                             // OpUnset takes a member away.
	OpIncrement                         // OpIncrement adds to a number.
	OpAppend                            // OpAppend adds items behind a list.
	OpInsert                            // OpInsert puts an item into a list.
	OpRemove                            // OpRemove takes an item out of a list.
	OpMerge                             // OpMerge lays an object over an object.
	OpCompareAndSet                     // OpCompareAndSet puts a value if the expected one is there.
	OpCompareAndUnset                   // OpCompareAndUnset takes a member away if the expected value is there.
)

// String returns the name that the JSON form uses, such as "compareAndSet".
func (k OpKind) String() string {
	switch k {
	case OpSet:
		return "set"
	case OpUnset:
		return "unset"
	case OpIncrement:
		return "increment"
	case OpAppend:
		return "append"
	case OpInsert:
		return "insert"
	case OpRemove:
		return "remove"
	case OpMerge:
		return "merge"
	case OpCompareAndSet:
		return "compareAndSet"
	case OpCompareAndUnset:
		return "compareAndUnset"
	default:
		return "unknown"
	}
}

// Op is one operation on a document. Make one with [Set], [Unset], [Increment],
// [AppendTo], [InsertAt], [RemoveAt], [Merge], [CompareAndSet], [SetIfAbsent] or
// [CompareAndUnset]; the fields are there to be read by guards and listeners.
type Op struct {
	Kind  OpKind
	Path  Path
	Value Value // Value is what to set, insert or merge, the list of items to append, or the amount to add.
	Old   Value // Old is what a compare-and-set or compare-and-unset expects to find.
	// Absent makes a compare-and-set expect that nothing is there.
	Absent bool
	// Index is the position for an insert or a remove.
	Index int
	// Min and Max bound the result of an increment, both inclusive; null is no bound.
	Min, Max Value
	// Clamp makes an increment stop at its bounds instead of being refused.
	Clamp bool

	err error // what was wrong with an argument of the constructor; Apply reports it
}

// Place is how constructors take a path: a parsed [Path], or a JSON Pointer in a
// string. A text that is no JSON Pointer makes [Apply] refuse the operation with
// [ErrBadPath].
type Place interface{ string | Path }

// Amount is how [Increment] takes what to add.
type Amount interface {
	int | int64 | float64 | Value
}

// newOp is an operation at a place, with the fault if the place is no path.
func newOp[P Place](kind OpKind, at P) Op {
	op := Op{Kind: kind}
	switch at := any(at).(type) {
	case Path:
		op.Path = at
	case string:
		op.Path, op.err = parsePath(at)
	}
	return op
}

// Set puts v at the place, whatever is there now. Members that are missing on the
// way are created as objects; a list on the way must have the item. At the end, a
// member is created or replaced, an item of a list must exist, and "-" appends to
// a list.
func Set[P Place](at P, v Value) Op {
	op := newOp(OpSet, at)
	op.Value = v
	return op
}

// Unset takes a member away. If it, or anything on the way, is not there, nothing
// changes. Items of a list are not unset but removed ([RemoveAt]): [ErrWrongType].
// The whole document cannot be unset: [ErrBadPath].
func Unset[P Place](at P) Op { return newOp(OpUnset, at) }

// Increment adds to the number at the place. A missing member counts as zero, but
// its parent must be there ([ErrNoPath]).
//
// An integer stays an integer: adding a float to it is [ErrWrongType]. To a float
// an integer may be added. Leaving the range of int64, or of finite floats, is
// [ErrOverflow]. Bounds are given with [Op.AtLeast] and [Op.AtMost]; a result
// outside them is refused with [ErrBounds], or stops at the bound with [Op.Clamped].
func Increment[P Place, A Amount](at P, by A) Op {
	op := newOp(OpIncrement, at)
	switch by := any(by).(type) {
	case int:
		op.Value = Int(int64(by))
	case int64:
		op.Value = Int(by)
	case Value:
		op.Value = by
	case float64:
		v, err := Float(by)
		if op.err == nil {
			op.err = err
		}
		op.Value = v
	}
	return op
}

// AtLeast gives an increment a lower bound, inclusive: an integer for an integer,
// an integer or a float for a float.
func (op Op) AtLeast(bound Value) Op {
	op.Min = bound
	return op
}

// AtMost gives an increment an upper bound, inclusive: an integer for an integer,
// an integer or a float for a float.
func (op Op) AtMost(bound Value) Op {
	op.Max = bound
	return op
}

// Clamped makes an increment stop at its bounds instead of being refused.
func (op Op) Clamped() Op {
	op.Clamp = true
	return op
}

// AppendTo adds items behind the list at the place. A missing member counts as an
// empty list, but its parent must be there.
func AppendTo[P Place](at P, items ...Value) Op {
	op := newOp(OpAppend, at)
	op.Value = List(items...)
	return op
}

// InsertAt puts an item into the list at the place so that it gets this index,
// 0 to the list's length; anything else is [ErrIndex]. A missing member counts as
// an empty list, but its parent must be there.
func InsertAt[P Place](at P, index int, item Value) Op {
	op := newOp(OpInsert, at)
	op.Index, op.Value = index, item
	return op
}

// RemoveAt takes the item with this index out of the list at the place. The list
// must be there ([ErrNoPath]) and have the item ([ErrIndex]).
func RemoveAt[P Place](at P, index int) Op {
	op := newOp(OpRemove, at)
	op.Index = index
	return op
}

// Merge lays an object over the object at the place. Members that are objects on
// both sides are merged in turn; every other member of the given object replaces
// what is there. Lists are replaced whole, and null is a value like any other: it
// deletes nothing, unlike in RFC 7386. Where nothing is, Merge does what [Set] does.
// Laying a document over a template is how missing members are filled in.
func Merge[P Place](at P, object Value) Op {
	op := newOp(OpMerge, at)
	op.Value = object
	return op
}

// CompareAndSet does what [Set] does if what is at the place now equals old;
// otherwise, also when nothing is there, it is refused with [ErrMismatch].
func CompareAndSet[P Place](at P, old, v Value) Op {
	op := newOp(OpCompareAndSet, at)
	op.Old, op.Value = old, v
	return op
}

// SetIfAbsent does what [Set] does if nothing is at the place; otherwise it is
// refused with [ErrMismatch]. It is the compare-and-set that expects nothing.
func SetIfAbsent[P Place](at P, v Value) Op {
	op := newOp(OpCompareAndSet, at)
	op.Absent, op.Value = true, v
	return op
}

// CompareAndUnset does what [Unset] does if what is at the place now equals old;
// otherwise, also when nothing is there, it is refused with [ErrMismatch].
func CompareAndUnset[P Place](at P, old Value) Op {
	op := newOp(OpCompareAndUnset, at)
	op.Old = old
	return op
}

// check reports what is wrong with an operation in itself, wherever it is applied.
func (op Op) check() error {
	if op.err != nil {
		return op.err
	}
	switch op.Kind {
	case OpSet, OpUnset, OpCompareAndSet, OpCompareAndUnset:
		return nil
	case OpIncrement:
		return op.checkIncrement()
	case OpAppend:
		return wants("the items", op.Value, KindList)
	case OpInsert, OpRemove:
		if op.Index < 0 {
			return fmt.Errorf("%w: %d", ErrIndex, op.Index)
		}
		return nil
	case OpMerge:
		return wants("what is merged", op.Value, KindObject)
	default:
		return fmt.Errorf("%w: kind %d", ErrBadOp, op.Kind)
	}
}

func wants(what string, v Value, kind Kind) error {
	if v.kind != kind {
		return fmt.Errorf("%w: %s must be of kind %s, not %s", ErrBadOp, what, kind, v.kind)
	}
	return nil
}
