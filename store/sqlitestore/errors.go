package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"github.com/shoalworks/shoal/store"
)

// What can be wrong with a folder when it is opened. The error's text says which file and
// what to do.
var (
	// ErrForeign: the folder holds a file of one of our names that is not ours.
	ErrForeign = errors.New("sqlitestore: not a file of a Shoal store")
	// ErrNewerSchema: a newer release has written the folder.
	ErrNewerSchema = errors.New("sqlitestore: written by a newer release")
	// ErrLocked: another program holds an exclusive lock on a file.
	ErrLocked = errors.New("sqlitestore: locked by another program")
	// ErrCorrupt: a file is damaged.
	ErrCorrupt = errors.New("sqlitestore: damaged file")
	// ErrNetworkFolder: the folder lies on a network file system, where SQLite's
	// write-ahead log loses data.
	ErrNetworkFolder = errors.New("sqlitestore: folder on a network file system")
	// ErrFolder: the path is not a folder that can be written.
	ErrFolder = errors.New("sqlitestore: unusable folder")
)

// Primary result codes of SQLite, https://www.sqlite.org/rescode.html.
const (
	codeError    = 1
	codeBusy     = 5
	codeLocked   = 6
	codeReadOnly = 8
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeTooBig   = 18
	codeNotADB   = 26
)

// code is the primary result code of an error of the engine, 0 when it is none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// busy tells that somebody else holds the lock just now.
func busy(err error) bool {
	c := code(err)
	return c == codeBusy || c == codeLocked
}

// phase is how far a transaction had come when it failed.
type phase uint8

const (
	beforeCommit phase = iota + 1 // COMMIT was not sent
	duringCommit                  // COMMIT was sent
)

// classify puts an error of the engine into the vocabulary of package store.
func classify(err error, p phase) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", sentinel(code(err), p), err)
}

// sentinel is what a primary result code means for a write.
//
// Before COMMIT nothing is applied, whatever happens: the log has no commit record. During
// COMMIT the commit record may have reached the file although the call failed (a failed
// fsync), and a recovery after a crash may find it: the outcome is unknown. Two failures
// of COMMIT are certain: a full disk (the commit record is the last thing written, and a
// part of it is none, since its checksum covers all of it) and a lock that was not free.
//
// A full disk is no store.ErrTooLarge: room comes back, and the same call can be done then.
// SQLite has its own code for it where a write of a file finds no room. Elsewhere it is an
// I/O error like others: the index of the log cannot grow, which may be after the commit
// record was written; a quota is spent; room that was promised is missing at an fsync.
func sentinel(code int, p phase) error {
	switch {
	case code == codeTooBig:
		return store.ErrTooLarge
	case p == beforeCommit || code == codeBusy || code == codeLocked || code == codeFull:
		return store.ErrUnavailable
	}
	return store.ErrUnknown
}

// ended is the answer to a call whose context ended before the engine had it.
func ended(ctx context.Context) error {
	return fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
}

// openError says what an error of the engine means for somebody who opens a folder.
func openError(err error) error {
	switch code(err) {
	case codeBusy, codeLocked:
		return fmt.Errorf("%w, stop it and try again: %w", ErrLocked, err)
	case codeNotADB:
		return fmt.Errorf("%w, move it away or choose another folder: %w", ErrForeign, err)
	case codeCorrupt:
		return fmt.Errorf("%w, restore it from a backup: %w", ErrCorrupt, err)
	case codeReadOnly, codeCantOpen:
		return fmt.Errorf("%w, it cannot be written: %w", ErrFolder, err)
	}
	return err
}
