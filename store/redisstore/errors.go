package redisstore

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// dialError is the failure to make a connection: nothing was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

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
