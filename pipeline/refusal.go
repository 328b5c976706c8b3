package pipeline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// Bounds of what a refusal carries.
const (
	// MaxViolations is how many complaints a refusal or a result lists.
	MaxViolations = 64

	maxProblem = 512      // bytes of one complaint's text
	maxPath    = 160      // bytes of a path in a message
	maxText    = 4 << 10  // bytes of a refusal's message
	ellipsis   = "\u2026" // stands for what was cut off
)

// Why a transaction was refused. Complaints wrap them, or a sentinel of package doc.
var (
	// ErrRefused is every refusal of a pipeline: see [RefusedError].
	ErrRefused = errors.New("refused")
	// ErrDerived means an operation that writes a derived field.
	ErrDerived = errors.New("a derived field cannot be written")
	// ErrCompute means a derived field that could not be computed.
	ErrCompute = errors.New("derived field cannot be computed")
	// ErrReaction means a reaction that failed, or whose operations did not fit.
	ErrReaction = errors.New("reaction failed")
	// ErrUnsettled means reactions that still change the document after [MaxRounds] rounds.
	ErrUnsettled = errors.New("reactions do not come to rest")
	// ErrPolicy means a change of a place that its source may not change.
	ErrPolicy = errors.New("not open to this source")
	// ErrGuard means that a guard objects, when its complaint has no error of its own.
	ErrGuard = errors.New("a guard objects")
)

// Violation is one complaint about a transaction.
type Violation struct {
	// Path is the place that it is about; the whole document if there is none.
	Path doc.Path
	// Guard names the guard, the reaction, "policy" or "derived"; it is empty if the operation
	// itself does not fit.
	Guard string
	// Problem says what is wrong, in at most 512 bytes. Default: the text of Err.
	Problem string
	// Err is for errors.Is and errors.As; an operation that does not fit has a *doc.OpError
	// with its index. Default: ErrGuard.
	Err error
}

// String names the place, unless it is the whole document, the guard and the problem.
func (v Violation) String() string {
	text := v.Problem
	if v.Guard != "" {
		text = v.Guard + ": " + text
	}
	if v.Path.IsRoot() {
		return text
	}
	return fmt.Sprintf("%q: %s", cut(v.Path.String(), maxPath), text)
}

// completed fills in the defaults and keeps the text within its bound.
func (v Violation) completed() Violation {
	if v.Err == nil {
		v.Err = ErrGuard
	}
	if v.Problem == "" {
		v.Problem = v.Err.Error()
	}
	v.Problem = cut(v.Problem, maxProblem)
	return v
}

// RefusedError is a transaction that was refused as a whole. It is an [ErrRefused], and what
// its complaints are.
type RefusedError struct {
	// Violations are the complaints, at least one and at most [MaxViolations].
	Violations []Violation
	// More is how many further complaints there were.
	More int
}

// Error lists the complaints, as many as 4 KiB hold, and says how many there are beyond.
func (e *RefusedError) Error() string {
	var b strings.Builder
	b.WriteString("refused: ")
	if n := len(e.Violations) + e.More; n > 1 {
		fmt.Fprintf(&b, "%d complaints: ", n)
	}
	for i, v := range e.Violations {
		text := v.String()
		if i > 0 && b.Len()+len(text) > maxText {
			fmt.Fprintf(&b, "; and %d more", len(e.Violations)-i+e.More)
			return b.String()
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(text)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// Is makes errors.Is(err, ErrRefused) hold.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns what the complaints wrap, in their order.
func (e *RefusedError) Unwrap() []error {
	errs := make([]error, 0, len(e.Violations))
	for _, v := range e.Violations {
		if v.Err != nil {
			errs = append(errs, v.Err)
		}
	}
	return errs
}

// PanicError is a panic of the game's own code, caught where it could have done harm.
type PanicError struct {
	Where string // what was running
	Value any    // what it panicked with
}

// Error names what was running and what it panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Where, e.Value) }

// complaints collects violations up to their bound.
type complaints struct {
	list []Violation
	more int
}

func (c *complaints) any() bool { return len(c.list) > 0 }

func (c *complaints) add(v Violation) {
	if len(c.list) >= MaxViolations {
		c.more++
		return
	}
	c.list = append(c.list, v.completed())
}

func (c *complaints) refusal() error { return &RefusedError{Violations: c.list, More: c.more} }

// cut is text of at most so many bytes, without half a character at its end.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}
