package codec

import (
	"fmt"
	"strconv"

	"github.com/shoalworks/shoal/doc"
)

// MaxErrors is how many errors one call reports at most.
const MaxErrors = 100

// Error is one place where a value and a Go type do not fit.
type Error struct {
	Path doc.Path // Path is the place in the value.
	Err  error    // Err says what is wrong; where there is one, it wraps a sentinel of the package doc.
	// Shape tells that a value is of a wrong kind, or a number out of range: what a schema that
	// is derived from the type says as well.
	Shape bool
}

// Error is the path and what is wrong there.
func (e *Error) Error() string { return fmt.Sprintf("codec: at %q: %v", e.Path, e.Err) }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// place is where a walk stands, and what it has met.
type place struct {
	steps []step
	errs  []error
}

// step is a name, or a position if pos is not negative.
type step struct {
	name string
	pos  int
}

func (p *place) enter(name string) { p.steps = append(p.steps, step{name, -1}) }
func (p *place) enterItem(i int)   { p.steps = append(p.steps, step{"", i}) }
func (p *place) leave()            { p.steps = p.steps[:len(p.steps)-1] }

// fail notes an error at the present place.
func (p *place) fail(err error) { p.note(err, false) }

func (p *place) note(err error, shape bool) {
	if len(p.errs) >= MaxErrors {
		return
	}
	names := make([]string, len(p.steps))
	for i, s := range p.steps {
		if names[i] = s.name; s.pos >= 0 {
			names[i] = strconv.Itoa(s.pos)
		}
	}
	p.errs = append(p.errs, &Error{Path: doc.P(names...), Err: err, Shape: shape})
}

// decoder is a walk from a value into a Go variable.
type decoder struct{ place }

// encoder is a walk from a Go variable into a value.
type encoder struct {
	place
	// probe only asks whether anything has changed: the first change ends the walk, and no
	// value is made.
	probe bool
}

// wants says that v is of the wrong kind.
func (d *decoder) wants(what string, v doc.Value) {
	d.note(fmt.Errorf("%w: %s expected, got %s", doc.ErrWrongType, what, v.Kind()), true)
}

// overflows says that v is right but for its size.
func (d *decoder) overflows(what string, v doc.Value) {
	d.note(fmt.Errorf("%w: %s does not fit %s", doc.ErrOverflow, v, what), true)
}

// tooDeep ends a walk into something that contains itself.
func (e *encoder) tooDeep() bool {
	if len(e.steps) <= doc.DefaultMaxDepth {
		return false
	}
	e.fail(doc.ErrTooDeep)
	return true
}
