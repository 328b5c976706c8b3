package board

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is what callers get when the store, a backend or a resolver panicked in a call
// that they share. The call is over, and nothing waits for it; the next one is made anew.
type PanicError struct {
	Op    string // of a Backend's call, its name: "submit", "set", "sorted", "scores" or "budget"; else empty
	Value any    // what was thrown
	Stack []byte // where
}

// Error names the call and what was thrown.
func (e *PanicError) Error() string {
	if e.Op != "" {
		return fmt.Sprintf("board: backend: %s panicked: %v", e.Op, e.Value)
	}
	return fmt.Sprintf("board: panic in a call: %v", e.Value)
}

// guarded has a panic of a call answered as an error, because others wait for the answer.
func guarded[V any](s *Service, call func() (V, error)) (v V, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			err = &PanicError{Value: p, Stack: stack}
			s.host.logger.Error("a call panicked", "node", s.host.id, "err", err, "stack", string(stack))
		}
	}()
	return call()
}

func panicked(err error) bool {
	var p *PanicError
	return errors.As(err, &p)
}
