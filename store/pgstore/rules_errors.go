package pgstore

import (
	"strings"

	"github.com/shoalworks/shoal/store"
)

// phase is how far a write had come when it failed.
type phase uint8

const (
	// beforeCommit: nothing that could commit was sent. Reads stay in it for ever.
	beforeCommit phase = iota + 1
	// duringCommit: COMMIT was sent, or a statement that commits by itself.
	duringCommit
)

// failure is what matters of an error of the engine.
type failure struct {
	code   string // SQLSTATE; empty when the engine did not answer
	fatal  bool   // the engine ended the session with it
	unsent bool   // nothing of the call left this process
}

// SQLSTATE codes that decide, https://www.postgresql.org/docs/current/errcodes-appendix.html.
// 40003 and XXUUU are CockroachDB's "ambiguous result" and "uncategorized".
const (
	codeSerialization   = "40001"
	codeUnknownOutcome  = "40003"
	codeDeadlock        = "40P01"
	codeUnsupported     = "0A000"
	codeReadOnly        = "25006"
	codeUndefined       = "42883" // no such function
	codeAdminShutdown   = "57P01"
	codeCrashShutdown   = "57P02"
	codeUniqueViolation = "23505"
	codeDuplicateTable  = "42P07"
	codeDuplicateSchema = "42P06"
	codeDuplicateObject = "42710"
	codeLocked          = "55P03"
	codeInternal        = "XX000" // "tuple concurrently updated", among others
	codeUncategorized   = "XXUUU"
	codeCommittedAnyway = "XXA00"

	classConnection = "08"
	classData       = "22"
	classResources  = "53"
	classLimit      = "54"
)

// sentinel is the word of package store for a failure.
//
// PostgreSQL reports an ERROR, of COMMIT too, only for what it has rolled back. What ends the
// session (FATAL, an immediate shutdown among them) may be said after the commit record was
// written, and a connection that breaks says nothing at all: then the outcome is unknown, if
// anything that commits was sent.
//
// A full disk (53100) is no store.ErrTooLarge: room comes back, and the same call can be done
// then, while callers give up for good what the store does not take for its size.
func sentinel(f failure, p phase) error {
	switch {
	case f.unsent:
		return store.ErrUnavailable
	case uncertain(f):
		if p == duringCommit {
			return store.ErrUnknown
		}
		return store.ErrUnavailable
	case strings.HasPrefix(f.code, classLimit):
		return store.ErrTooLarge
	case f.code == codeUnsupported:
		return store.ErrUnsupported
	case strings.HasPrefix(f.code, classData):
		return store.ErrInvalid
	}
	return store.ErrUnavailable
}

// uncertain tells that the failure does not say whether a commit that was sent has happened.
func uncertain(f failure) bool {
	if f.code == "" || f.fatal || strings.HasPrefix(f.code, classConnection) {
		return true
	}
	switch f.code {
	case codeUnknownOutcome, codeAdminShutdown, codeCrashShutdown, codeUncategorized, codeCommittedAnyway:
		return true
	}
	return false
}

// passing tells that the engine has rolled back for somebody else's sake, and would take the
// same call when it comes again.
func passing(f failure) bool {
	return !f.fatal && (f.code == codeSerialization || f.code == codeDeadlock)
}

// poisoned tells that one write of a group may be what the engine refused all of them for.
func poisoned(f failure) bool {
	return !uncertain(f) && (strings.HasPrefix(f.code, classData) || strings.HasPrefix(f.code, classLimit))
}

// racing tells that a migration may have failed only because another process made the same, or
// because a table is in use.
func racing(f failure) bool {
	switch f.code {
	case codeUniqueViolation, codeDuplicateSchema, codeDuplicateTable, codeDuplicateObject, codeInternal:
		return true
	case codeLocked:
		return true
	}
	return passing(f)
}
