package store

import (
	"errors"
	"fmt"
)

// The error vocabulary. A driver wraps its engine's errors in exactly one of these.
var (
	// ErrConflict: a condition did not hold; nothing was applied. See [ConflictError].
	ErrConflict = errors.New("store: conflict")
	// ErrUnavailable: the store did not take the call; nothing was applied. Retry later. A full
	// disk, or memory, is one of the reasons: room comes back.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrTooLarge: a value, transaction or batch is over a limit; nothing was applied, and the
	// same call never will be.
	ErrTooLarge = errors.New("store: too large")
	// ErrUnknown: it was applied, was not applied, or still will be. A read that does not
	// show the write proves nothing until a later conditional write to the key has landed.
	ErrUnknown = errors.New("store: outcome unknown")
	// ErrUnsupported: the engine cannot do this; nothing was applied. See [Abilities].
	ErrUnsupported = errors.New("store: unsupported")
	// ErrInvalid: the call is malformed; nothing was applied. See [InvalidError].
	ErrInvalid = errors.New("store: invalid")
	// ErrClosed: the store is closed; nothing was applied.
	ErrClosed = errors.New("store: closed")
	// ErrSealed: the board takes no more writes, for ever; nothing was applied.
	ErrSealed = errors.New("store: board sealed")
	// ErrNoBoard: there is no such board (or it lost its memory); nothing was applied.
	ErrNoBoard = errors.New("store: no such board")
	// ErrCursor: the board no longer remembers how it was when the walk began. Begin again.
	ErrCursor = errors.New("store: cursor too old")
)

// ConflictError names the key whose condition did not hold. It is an [ErrConflict].
type ConflictError struct {
	Key string
}

// Error names the key.
func (e *ConflictError) Error() string { return "store: conflict at " + e.Key }

// Is makes errors.Is(err, ErrConflict) hold.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// InvalidError tells which argument is malformed and what was expected. It is an
// [ErrInvalid], or an [ErrTooLarge] when the argument is only too big.
type InvalidError struct {
	Field   string // "key", "txs[2].writes[0].value", …
	Problem string // what was expected, what was found
	Large   bool
}

// Error names the field and what was expected.
func (e *InvalidError) Error() string { return fmt.Sprintf("store: %s: %s", e.Field, e.Problem) }

// Is makes errors.Is(err, ErrInvalid) or errors.Is(err, ErrTooLarge) hold.
func (e *InvalidError) Is(target error) bool {
	if e.Large {
		return target == ErrTooLarge
	}
	return target == ErrInvalid
}

// Outcome is how a write ended.
type Outcome uint8

// The three outcomes of a write.
const (
	Done    Outcome = iota + 1 // applied
	NotDone                    // not applied, and never will be
	Unknown                    // applied, not applied, or still to be applied
)

// String is "done", "not done" or "unknown".
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case NotDone:
		return "not done"
	case Unknown:
		return "unknown"
	}
	return "no outcome"
}

// OutcomeOf sorts the error of a write into the three outcomes. An error that is none of
// the vocabulary, a bare context error included, is Unknown: never assume.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Done
	}
	if errors.Is(err, ErrUnknown) {
		return Unknown
	}
	for _, sentinel := range [...]error{
		ErrConflict, ErrUnavailable, ErrTooLarge, ErrUnsupported,
		ErrInvalid, ErrClosed, ErrSealed, ErrNoBoard, ErrCursor,
	} {
		if errors.Is(err, sentinel) {
			return NotDone
		}
	}
	return Unknown
}
