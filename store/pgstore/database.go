package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// database is the server as the parts of an engine use it: connections, the schema's name in
// statements, and what becomes of errors.
type database struct {
	pool    *pgxpool.Pool
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
// the phase that try answers.
func (d *database) retry(ctx context.Context, again func(failure) bool, try func(context.Context, *pgxpool.Conn) (phase, error)) error {
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

// once runs try on one connection, within the deadline of a call.
func (d *database) once(ctx context.Context, try func(context.Context, *pgxpool.Conn) (phase, error)) (phase, error) {
	if ctx.Err() != nil {
		return beforeCommit, ended(ctx)
	}
	ctx, cancel := clock.WithTimeout(ctx, d.options.Clock, d.options.CallDeadline)
	defer cancel()
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return beforeCommit, fmt.Errorf("no connection: %w", classify(err, beforeCommit))
	}
	defer c.Release()
	p, err := try(ctx, c)
	if failureOf(err).code == codeReadOnly { // it was demoted: the next connection finds another
		_ = c.Conn().Close(ctx)
	}
	return p, err
}

// transaction is a transaction of the engine, READ COMMITTED, on one connection. Nothing is
// sent before the first batch, which takes BEGIN along.
type transaction struct {
	conn      *pgx.Conn
	begun     bool
	committed bool // COMMIT was sent, or may have been
}

// begin is how a transaction begins: the rules of this package need no more than READ
// COMMITTED, whatever the server's default is.
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

// transact runs f in a transaction, and commits when f answers nil unless f has done so with
// [transaction.commit]. When f fails everything is rolled back; an error of the vocabulary
// (store.ErrSealed, say) is then the answer as it is. Serialization failures and deadlocks run
// f again, from its beginning. A connection that breaks after COMMIT was sent is
// store.ErrUnknown.
func (d *database) transact(ctx context.Context, f func(ctx context.Context, t *transaction) error) error {
	again := func(fail failure) bool { return passing(fail) || fail.unsent }
	return d.retry(ctx, again, func(ctx context.Context, c *pgxpool.Conn) (phase, error) {
		t := &transaction{conn: c.Conn()}
		err := f(ctx, t)
		if err == nil && !t.committed {
			err = t.commit(ctx, &pgx.Batch{})
		}
		if err != nil {
			t.rollback(ctx)
		}
		return t.phase(), err
	})
}

// send sends the statements of b in one round trip and runs their callbacks
// (QueuedQuery.Query, QueryRow, Exec) in order.
func (t *transaction) send(ctx context.Context, b *pgx.Batch) error {
	if !t.begun {
		t.begun = true
		all := &pgx.Batch{}
		all.Queue(begin)
		all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
		b = all
	}
	return t.conn.SendBatch(ctx, b).Close()
}

// commit sends the statements of b and COMMIT in one round trip. f of transact ends with it.
// Callbacks run before COMMIT's answer is known: what they find must not be believed unless
// commit answers nil.
func (t *transaction) commit(ctx context.Context, b *pgx.Batch) error {
	if !t.begun && b.Len() == 0 {
		t.committed = true
		return nil
	}
	all := &pgx.Batch{}
	all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
	all.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	t.committed = true
	return t.send(ctx, all)
}

func (t *transaction) phase() phase {
	if t.committed {
		return duringCommit
	}
	return beforeCommit
}

// rollback ends the transaction when the connection still stands. One that does not answer at
// once is given up by the pool, since it is not idle.
func (t *transaction) rollback(ctx context.Context) {
	if !t.begun || t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Close(ctx)
	}
}

// closing is a handle's gate: it counts calls, and refuses them after Close.
type closing struct {
	mu struct {
		sync.RWMutex
		closed bool
	}
}

// enter begins a call, which ends with leave, or refuses it.
func (g *closing) enter(ctx context.Context, operation string) error {
	g.mu.RLock()
	switch {
	case g.mu.closed:
		g.mu.RUnlock()
		return fmt.Errorf("pgstore: %s: %w", operation, store.ErrClosed)
	case ctx.Err() != nil:
		g.mu.RUnlock()
		return fmt.Errorf("pgstore: %s: %w", operation, ended(ctx))
	}
	return nil
}

func (g *closing) leave() { g.mu.RUnlock() }

// close waits for the calls in flight and refuses later ones.
func (g *closing) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.closed = true
}

var errNoAnswer = errors.New("pgstore: the engine answered less than was asked")
