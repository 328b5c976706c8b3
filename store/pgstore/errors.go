package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/shoalworks/shoal/store"
)

// What can be wrong with an address or a server when it is opened. The error's text says what
// to do.
var (
	// ErrAddress: the address is malformed, or names a parameter that nobody knows.
	ErrAddress = errors.New("pgstore: malformed address")
	// ErrNewerSchema: a newer release has migrated the schema.
	ErrNewerSchema = errors.New("pgstore: schema of a newer release")
	// ErrSchema: the schema cannot be made or migrated, for want of a privilege for example.
	ErrSchema = errors.New("pgstore: schema cannot be migrated")
	// ErrServer: no server was reached that takes writes.
	ErrServer = errors.New("pgstore: no server that takes writes")
)

// failureOf is what matters of an error of pgx.
func failureOf(err error) failure {
	f := failure{unsent: pgconn.SafeToRetry(err)}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		f.code = e.Code
		f.fatal = severity(e) != "ERROR"
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		f.unsent = true
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		f.code = codeSerialization // COMMIT answered ROLLBACK: as certain as a refusal
	}
	return f
}

// severity is the one that no server translates, where it says it.
func severity(e *pgconn.PgError) string {
	if e.SeverityUnlocalized != "" {
		return e.SeverityUnlocalized
	}
	return e.Severity
}

// classify puts an error of the engine into the vocabulary of package store. What is in it
// already stays as it is.
func classify(err error, p phase) error {
	if err == nil || inVocabulary(err) {
		return err
	}
	if errors.Is(err, puddle.ErrClosedPool) {
		return fmt.Errorf("%w: %w", store.ErrClosed, err)
	}
	return fmt.Errorf("%w: %w", sentinel(failureOf(err), p), err)
}

// inVocabulary tells that err is one of package store's.
func inVocabulary(err error) bool {
	return errors.Is(err, store.ErrUnknown) || store.OutcomeOf(err) == store.NotDone
}

// ended is the answer to a call whose context ended before the engine had it.
func ended(ctx context.Context) error {
	return fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
}
