package server

import "fmt"

// failure is an error of this package: it knows its reason.
type failure struct {
	reason  reason
	field   string // of the request
	path    string // in the document
	problem string
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
