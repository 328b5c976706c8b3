package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// unsentError is a failure before anything was sent.
type unsentError struct{ err error }

// Error is the text of the failure.
func (e *unsentError) Error() string { return e.err.Error() }

// Unwrap is the failure.
func (e *unsentError) Unwrap() error { return e.err }

// replyError is an error that a server answered.
type replyError struct{ text string }

// Error is what the server said.
func (e *replyError) Error() string { return e.text }

// translate makes an error of the client's one that our rules know.
func translate(err error) error {
	if answer, ok := errors.AsType[*rueidis.RedisError](err); ok {
		return &replyError{answer.Error()}
	}
	if errors.Is(err, rueidis.ErrNoSlot) || errors.Is(err, rueidis.ErrNoAddr) {
		return &unsentError{err}
	}
	return err
}

// classify puts an error of the engine into the vocabulary of package store.
func classify(err error, i intent) error {
	if err == nil {
		return nil
	}
	err = translate(err)
	return fmt.Errorf("%w: %w", sentinelOf(err, i), err)
}

// ended is the answer to a call whose context ended before the engine had it.
func ended(ctx context.Context) error {
	return fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
}
