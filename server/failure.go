package server

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
)

// failure is an error of this package: it knows its reason.
type failure struct {
	reason  reason
	field   string // of the request
	path    string // in the document
	problem string
	outcome string // of the write; empty: what the reason says
	cause   error
}

// refuse is a failure for a reason, at a field of the request if there is one.
func refuse(r reason, field, format string, args ...any) error {
	return &failure{reason: r, field: field, problem: fmt.Sprintf(format, args...)}
}

// Error names the field and the problem.
func (f *failure) Error() string {
	if f.field == "" {
		return f.problem
	}
	return f.field + ": " + f.problem
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// fieldOf is the request field that err is about, the problem without it, and whether there
// is one.
func fieldOf(err error) (field, problem string, ok bool) {
	var (
		own   *failure
		word  *name.Error
		score *board.RefusedError
	)
	switch {
	case errors.As(err, &own):
		return own.field, own.problem, own.field != ""
	case errors.As(err, &word):
		return word.Field, word.Problem, true
	case errors.As(err, &score):
		return score.Field, score.Problem, true
	}
	return "", "", false
}

// within puts the field that err is about into an item of a list: key → entries[3].key. What
// is about no field of the item stays as it is.
func within(item string, err error) error {
	field, problem, ok := fieldOf(err)
	if !ok || field == "board" || field == "service" {
		return err
	}
	return refield(err, item+"."+field, problem)
}

// rename puts another field into err.
func rename(err error, field string) error {
	_, problem, ok := fieldOf(err)
	if !ok {
		return err
	}
	return refield(err, field, problem)
}

// refield is err about another field. Its reason is still that of err.
func refield(err error, field, problem string) error {
	var own *failure
	if errors.As(err, &own) {
		moved := *own
		moved.field = field
		return &moved
	}
	return &failure{field: field, problem: problem, cause: err}
}

// partly is err of a call that had done the first n items of its list.
func partly(n int, err error) error {
	if n == 0 {
		return err
	}
	field, problem, ok := fieldOf(err)
	if !ok {
		problem = err.Error()
	}
	return &failure{field: field, problem: fmt.Sprintf("%s; the %d entries before it were accepted", problem, n), outcome: partlyDone, cause: err}
}
