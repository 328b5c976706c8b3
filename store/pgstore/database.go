package pgstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/shoalworks/shoal/clock"
)

// database is the server as the parts of an engine use it: connections, the schema's name in
// statements, and what becomes of errors.
type database struct {
	pool    *pgxpool.Pool
	instead *pgxpool.Pool // is used when the server has no connection left for pool; nil for none
	address address
	options Options
	texts   sync.Map // statements as they are written here → as they are sent
}

// openPool makes a pool of so many connections; it opens none.
func openPool(ctx context.Context, a address, connections int) (*pgxpool.Pool, error) {
	config := a.pool.Copy()
	config.MaxConns = int32(min(connections, 10_000)) //nolint:gosec // bounded
	config.PingTimeout = 5 * time.Second
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("pgstore: open %s: %w", a.place(), err)
	}
	return pool, nil
}

// close frees the connections, once those that are in use have come back.
func (d *database) close(ctx context.Context) error {
	freed := make(chan struct{})
	go func() {
		d.pool.Close()
		close(freed)
	}()
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("connections are in use: %w", context.Cause(ctx))
	}
}

// sql is a statement with the schema's name in the place of {s}. Statements name the schema
// themselves: behind a pooler no session setting (search_path) can be relied on.
func (d *database) sql(text string) string {
	if sent, ok := d.texts.Load(text); ok {
		return sent.(string)
	}
	sent := strings.ReplaceAll(text, "{s}", `"`+d.address.schema+`"`)
	d.texts.Store(text, sent)
	return sent
}

// Attempts at a call that the engine certainly did not apply, and the pause before the next,
// which doubles.
const (
	attempts   = 8
	firstPause = time.Millisecond
)

// read runs f, which only reads, on a connection. f may run several times (a connection that
// broke, a serialization failure) and must begin anew each time. The error is of the vocabulary.
func (d *database) read(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	return d.repeat(ctx, beforeCommit, func(fail failure) bool {
		return passing(fail) || fail.code == "" || fail.fatal
	}, f)
}

// statement runs f, which sends one statement (or one pipelined batch) that commits by itself.
// It is repeated only when it certainly was not applied. The error is of the vocabulary.
func (d *database) statement(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	return d.repeat(ctx, duringCommit, func(fail failure) bool { return passing(fail) || fail.unsent }, f)
}

// repeat runs f on a connection until it succeeds, fails for good, or was tried often enough.
func (d *database) repeat(ctx context.Context, p phase, again func(failure) bool, f func(ctx context.Context, c *pgx.Conn) error) error {
	return d.retry(ctx, again, func(ctx context.Context, c *pgxpool.Conn) (phase, error) { return p, f(ctx, c.Conn()) })
}

// retry runs try on connections, as often as again allows, and classifies the last error by
// the phase that try answers. All of it is within the deadline of a call.
func (d *database) retry(ctx context.Context, again func(failure) bool, try func(context.Context, *pgxpool.Conn) (phase, error)) error {
	ctx, cancel := clock.WithTimeout(ctx, d.options.Clock, d.options.CallDeadline)
	defer cancel()
	pause := firstPause
	for attempt := 1; ; attempt++ {
		p, err := d.once(ctx, try)
		if err == nil || inVocabulary(err) {
			return err
		}
		if attempt == attempts || ctx.Err() != nil || !again(failureOf(err)) {
			return classify(err, p)
		}
		if clock.Sleep(ctx, d.options.Clock, pause) != nil {
			return classify(err, p)
		}
		pause *= 2
	}
}

// once runs try on one connection.
func (d *database) once(ctx context.Context, try func(context.Context, *pgxpool.Conn) (phase, error)) (phase, error) {
	if ctx.Err() != nil {
		return beforeCommit, ended(ctx)
	}
	c, err := d.acquire(ctx)
	if err != nil {
		return beforeCommit, fmt.Errorf("no connection: %w", classify(err, beforeCommit))
	}
	defer c.Release()
	p, err := try(ctx, c)
	if failureOf(err).code == codeReadOnly { // it was demoted: new connections find another
		_ = c.Conn().Close(ctx)
		d.pool.Reset() // behind a pooler the others still stand, and would read what is old
	}
	return p, err
}

// acquire takes a connection, waiting for one that is in use when there may be no more.
func (d *database) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := d.pool.Acquire(ctx)
	if err != nil && d.instead != nil && strings.HasPrefix(failureOf(err).code, classResources) {
		return d.instead.Acquire(ctx)
	}
	return c, err
}
