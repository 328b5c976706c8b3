package board

import (
	"errors"
	"fmt"
)

// Why a call was refused; a [RefusedError] wraps one of them.
var (
	// ErrUnknownBoard is a name that was not defined.
	ErrUnknownBoard = errors.New("board: unknown board")
	// ErrClosed is any call after Close began; Top still serves a cached page.
	ErrClosed = errors.New("board: closed")
	// ErrName is a key or board name that is empty, too long or has characters that none may
	// have.
	ErrName = errors.New("board: not a name")
	// ErrBanned is a score for a key that is banned.
	ErrBanned = errors.New("board: banned")
	// ErrFull is a new key while the board's queue is full, or a ban or a hide beyond their limits.
	ErrFull = errors.New("board: queue full")
	// ErrLimit is a score outside the board's Min and Max.
	ErrLimit = errors.New("board: outside the board's limits")
	// ErrOverflow is a score, or a sum of scores, outside the range of int64.
	ErrOverflow = errors.New("board: overflow")
	// ErrNotNumber is a score that is no finite decimal number, an absent one included.
	ErrNotNumber = errors.New("board: not a number")
	// ErrInexact is a number with more decimals than the board has. It is never rounded.
	ErrInexact = errors.New("board: too many decimals")
	// ErrRule is a submission that the board's rule has no meaning for.
	ErrRule = errors.New("board: other rule")
	// ErrDefined is a board that was defined with another configuration.
	ErrDefined = errors.New("board: defined otherwise")
	// ErrBusy is a board that cannot be forgotten while scores wait in its queue.
	ErrBusy = errors.New("board: scores are waiting")
	// ErrCount is a count, offset or number of keys outside its limits.
	ErrCount = errors.New("board: count out of range")
)

// What else can go wrong.
var (
	// ErrNoPage is a Top that could not read the board and has no earlier page to serve. The
	// board need not be empty. The next call tries again.
	ErrNoPage = errors.New("board: no page")
	// ErrOrder is a write to a board that exists in the store with the other order.
	ErrOrder = errors.New("board: stored with the other order")
	// ErrAttempts is the reason of a [Refusal] after MaxWriteAttempts failed windows.
	ErrAttempts = errors.New("board: given up after too many failed writes")
	// ErrRemoved is the answer of SubmitDurable for a score that Remove or Drop took out of the
	// queue.
	ErrRemoved = errors.New("board: removed before it was written")
	// ErrDeadline is the error of a [Report] when the drain's deadline came first.
	ErrDeadline = errors.New("board: close: deadline exceeded")
	// ErrNoProgress is the error of a [Report] when a window could not try a single write.
	ErrNoProgress = errors.New("board: close: no progress")
	// ErrPending is the answer of Close to a caller who does not wait for the drain's end:
	// its context ended, or it called from inside a write.
	ErrPending = errors.New("board: close: still draining")
)

// RefusedError tells what was refused and why. Nothing was queued, read or written.
type RefusedError struct {
	Board   string
	Field   string // "board", "key", "score", "meta", "stamp", "rule", "count", "offset", "keys", "mode", "cursor", "service", "actor", "reason", or a field of Config
	Problem string // what was expected, what was found
	Reason  error  // a sentinel of this package, store.ErrSealed, store.ErrTooLarge or store.ErrUnsupported
}

// Error names the board, if the call was about one, the field and the problem.
func (e *RefusedError) Error() string {
	if e.Board == "" {
		return fmt.Sprintf("board: %s: %s", e.Field, e.Problem)
	}
	return fmt.Sprintf("board: %s: %s: %s", clip(e.Board), e.Field, e.Problem)
}

// Unwrap is the reason.
func (e *RefusedError) Unwrap() error { return e.Reason }

// clip keeps what a caller sent from filling the log.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
