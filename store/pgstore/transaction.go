package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// transaction is a transaction of the engine, READ COMMITTED, on one connection. Nothing is
// sent before the first batch, which takes BEGIN along.
type transaction struct {
	conn      *pgx.Conn
	pooled    bool // settings of the session cannot be relied on
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
		t := &transaction{conn: c.Conn(), pooled: d.address.pooler}
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
		if t.pooled {
			all.Queue("SET LOCAL idle_in_transaction_session_timeout = '" + idleTimeout + "'")
		}
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
