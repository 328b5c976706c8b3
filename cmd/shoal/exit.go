package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// Exit codes by kind of error.
const (
	exitOK       = 0
	exitFailed   = 1 // the command ran and did not succeed
	exitUsage    = 2 // flags, environment or configuration are wrong
	exitBroken   = 3 // a promise was broken (demo)
	exitUnserved = 4 // the store or the listener is not to be had
	exitMissing  = 5 // there is no such profile, version, document, board, entry or result
	exitRefused  = 6 // what was asked for is not allowed now: nothing was changed
	exitUnknown  = 7 // it may have happened, or may still: ask again
	exitAgain    = 8 // done as far as it goes now: the same command has to be run again
)

// exitCodes is what --help says of them.
const exitCodes = `Exit codes: 0 done; 1 failed; 2 wrong flags or input; 4 no store; 5 no such profile, board, entry or result; 6 refused,
nothing was changed; 7 unknown: it may have happened, or may still.`

// exitError carries an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// byKind gives an error of the library its exit code.
func byKind(err error) error {
	if err == nil || errors.As(err, new(*exitError)) {
		return err
	}
	code := exitFailed
	switch {
	case errors.Is(err, store.ErrUnknown): // whatever else it is
		code = exitUnknown
	case is(err, profile.ErrNoProfile, profile.ErrNoVersion, store.ErrNoBoard,
		season.ErrNoResult, season.ErrNoBoard, season.ErrNoPlace):
		code = exitMissing
	case is(err, profile.ErrRefused, profile.ErrInUse, profile.ErrHeld, profile.ErrOpen, profile.ErrBusy, profile.ErrTooLarge, profile.ErrSchema,
		profile.ErrRepeated, profile.ErrBoxFull, profile.ErrNewerSchema, profile.ErrForeign,
		store.ErrSealed, store.ErrTooLarge, board.ErrLimit, board.ErrFull, board.ErrRemoved, board.ErrOverflow, board.ErrRule, board.ErrOrder, board.ErrBanned,
		season.ErrCorrections, season.ErrNotDue, season.ErrBoardFine, season.ErrNewerFormat), errors.As(err, new(*profile.EditRefusedError)):
		code = exitRefused
	case is(err, store.ErrInvalid, season.ErrNoSeason, season.ErrCalendar, season.ErrRuling), errors.As(err, new(*name.Error)), errors.As(err, new(*board.RefusedError)):
		code = exitUsage
	case is(err, store.ErrUnavailable, board.ErrAttempts, season.ErrClock, context.DeadlineExceeded):
		code = exitUnserved
	}
	return &exitError{code, err}
}

func is(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func codeOf(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "shoal:", err)
	if e := (*exitError)(nil); errors.As(err, &e) {
		return e.code
	}
	return exitFailed
}
