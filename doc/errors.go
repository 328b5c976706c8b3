package doc

import (
	"errors"
	"fmt"
)

// What can be wrong with a value, a text or an operation. All of them come
// wrapped in a typed error that names the place.
var (
	// ErrNoPath means that a path leads through or to something that is not there.
	ErrNoPath = errors.New("nothing at this path")
	// ErrWrongType means that what is at the path is of a kind the operation cannot work on.
	ErrWrongType = errors.New("wrong kind of value")
	// ErrOverflow means that an increment leaves the range of int64 or of finite floats.
	ErrOverflow = errors.New("number out of range")
	// ErrBounds means that an increment leaves the bounds given with it.
	ErrBounds = errors.New("outside the bounds")
	// ErrMismatch means that a compare-and-set found another value than expected.
	ErrMismatch = errors.New("not the expected value")
	// ErrIndex means that an index lies outside its list.
	ErrIndex = errors.New("index outside the list")
	// ErrTooDeep means nesting beyond the limit.
	ErrTooDeep = errors.New("nested too deep")
	// ErrTooLarge means a text or a string beyond the limit.
	ErrTooLarge = errors.New("too large")
	// ErrBadPath means that a text is no JSON Pointer, or that a path cannot be used in this way.
	ErrBadPath = errors.New("bad path")
	// ErrBadOp means an operation, an edit or effects that are not well formed.
	ErrBadOp = errors.New("malformed operation")
	// ErrNotFinite means NaN or an infinity, which JSON cannot hold.
	ErrNotFinite = errors.New("not a finite number")
	// ErrUTF8 means a string that is not valid UTF-8.
	ErrUTF8 = errors.New("invalid UTF-8")
	// ErrDuplicate means an object with two members of one name.
	ErrDuplicate = errors.New("duplicate member name")
	// ErrUnsupported means a Go value for which JSON has no faithful form.
	ErrUnsupported = errors.New("no JSON form for this Go value")
)

// SyntaxError is the refusal of a text by [Parse].
type SyntaxError struct {
	Offset int64 // Offset is the byte at or after which the fault lies.
	Path   Path  // Path is the value inside which the fault lies.
	Err    error // Err says what is wrong; where there is one, it wraps a sentinel of this package.
}

// Error names the byte offset, the path and the fault.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("doc: parse at byte %d in %q: %v", e.Offset, e.Path, e.Err)
}

// Unwrap returns the fault.
func (e *SyntaxError) Unwrap() error { return e.Err }

// ValueError is the refusal of a Go value, with the path of the part that JSON cannot hold.
type ValueError struct {
	Path Path  // Path leads from the value given to the part refused.
	Err  error // Err says what is wrong; where there is one, it wraps a sentinel of this package.
}

// Error names the path and the fault.
func (e *ValueError) Error() string { return fmt.Sprintf("doc: value at %q: %v", e.Path, e.Err) }

// Unwrap returns the fault.
func (e *ValueError) Unwrap() error { return e.Err }

// OpError is the refusal of an operation by [Apply] or by a [Draft].
type OpError struct {
	Index int    // Index is the place of the operation in the call, from 0.
	Op    OpKind // Op is what the operation wanted to do.
	Path  Path   // Path is the operation's path, as far as it could be parsed.
	Err   error  // Err wraps the sentinel that says why.
}

// Error names the operation, its index, its path and the reason.
func (e *OpError) Error() string {
	return fmt.Sprintf("doc: op %d, %s %q: %v", e.Index, e.Op, e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *OpError) Unwrap() error { return e.Err }

// EditError is the refusal of an edit by [ApplyEdits].
type EditError struct {
	Index int   // Index is the place of the edit in the call, from 0.
	Path  Path  // Path is the edit's path.
	Err   error // Err wraps the sentinel that says why.
}

// Error names the edit's index, its path and the reason.
func (e *EditError) Error() string {
	return fmt.Sprintf("doc: edit %d at %q: %v", e.Index, e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *EditError) Unwrap() error { return e.Err }
