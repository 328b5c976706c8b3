package redisstore

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// unsentError is a failure before anything was sent.
type unsentError struct{ err error }

// Error is the text of the failure.
func (e *unsentError) Error() string { return e.err.Error() }

// Unwrap is the failure.
func (e *unsentError) Unwrap() error { return e.err }

// classify puts an error of the engine into the vocabulary of package store.
func classify(err error, i intent) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", sentinelOf(err, i), err)
}

// ended is the answer to a call whose context ended before the engine had it.
func ended(ctx context.Context) error {
	return fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
}
