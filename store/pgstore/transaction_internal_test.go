package pgstore

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// throughProxy opens a fresh schema through a proxy.
func throughProxy(t *testing.T) (*engines.Proxy, *database) {
	t.Helper()
	pg := enginetest.Postgres(t)
	proxy := enginetest.Proxy(t, pg.Addr())
	return proxy, databaseAt(t, pg.URLAt(proxy.Addr(), enginetest.Schema(t))+"&pool_max_conns=1&connect_timeout=1")
}

// insert queues a record.
func insert(d *database, b *pgx.Batch, key string) {
	b.Queue(d.sql(`INSERT INTO {s}.records (key, version, written, value) VALUES ($1::text, 1, now(), '')`), key)
}

func (d *database) count(t *testing.T) (n int) {
	t.Helper()
	err := d.read(t.Context(), func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, d.sql(`SELECT count(*) FROM {s}.records`)).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A connection that breaks after COMMIT was sent leaves the outcome unknown; here it is done.
func TestConnectionLostDuringCommit(t *testing.T) {
	proxy, d := throughProxy(t)
	write := func(key string, cut func()) error {
		return d.transact(t.Context(), func(ctx context.Context, in *transaction) error {
			b := &pgx.Batch{}
			insert(d, b, key)
			err := in.send(ctx, b)
			cut()
			return err
		})
	}
	if err := write("first", func() {}); err != nil { // COMMIT is prepared now
		t.Fatal(err)
	}
	var err error
	for try := 1; try <= 20; try++ { // the answer that is lost may be that of a ping, or of a new session
		if err = write("second", lose(proxy)); !errors.Is(err, store.ErrUnavailable) {
			break
		}
	}
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v, want ErrUnknown", err)
	}
	if n := d.count(t); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

// lose loses the next answer, and then breaks the connection.
func lose(proxy *engines.Proxy) func() {
	return func() {
		lost := proxy.DropAnswers()
		go func() {
			<-lost
			proxy.Heal()
			proxy.Reset()
		}()
	}
}

// A connection that breaks before COMMIT is sent leaves nothing behind.
func TestConnectionLostBeforeCommit(t *testing.T) {
	proxy, d := throughProxy(t)
	calls := 0
	err := d.transact(t.Context(), func(ctx context.Context, in *transaction) error {
		b := &pgx.Batch{}
		insert(d, b, "key")
		if err := in.send(ctx, b); err != nil {
			return err
		}
		if calls++; calls > 1 {
			return store.ErrSealed // it was repeated, since nothing had been sent
		}
		proxy.Reset()
		return in.send(ctx, &pgx.Batch{QueuedQueries: []*pgx.QueuedQuery{{SQL: "SELECT 1"}}})
	})
	if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrSealed) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	if n := d.count(t); n != 0 {
		t.Errorf("%d rows, want none", n)
	}
}

// A failure of the engine's own undoes everything; a passing one runs the whole again.
func TestTransactionsAreRepeated(t *testing.T) {
	_, d := throughProxy(t)
	calls := 0
	err := d.transact(t.Context(), func(ctx context.Context, in *transaction) error {
		calls++
		b := &pgx.Batch{}
		insert(d, b, "key")
		if calls < 3 {
			b.Queue(`DO $$ BEGIN RAISE EXCEPTION 'as if' USING ERRCODE = 'serialization_failure'; END $$`)
		}
		return in.send(ctx, b)
	})
	if err != nil || calls != 3 || d.count(t) != 1 {
		t.Errorf("%v after %d calls, %d rows; want nil after 3, 1 row", err, calls, d.count(t))
	}
	err = d.transact(t.Context(), func(ctx context.Context, in *transaction) error {
		b := &pgx.Batch{}
		insert(d, b, "other")
		if err := in.send(ctx, b); err != nil {
			return err
		}
		return store.ErrSealed
	})
	if !errors.Is(err, store.ErrSealed) || d.count(t) != 1 {
		t.Errorf("a transaction that its owner refused: %v, %d rows", err, d.count(t))
	}
	err = d.transact(t.Context(), func(ctx context.Context, in *transaction) error {
		b := &pgx.Batch{}
		insert(d, b, "third")
		insert(d, b, "key") // is there
		return in.commit(ctx, b)
	})
	if !errors.Is(err, store.ErrUnavailable) || d.count(t) != 1 {
		t.Errorf("a transaction that fails on its way to COMMIT: %v, %d rows", err, d.count(t))
	}
}

// A group looks at a version when it has the row: what another process wrote while it waited
// counts.
func TestGroupLooksWhenItHasTheRow(t *testing.T) {
	_, d := throughProxy(t)
	records := &table{database: d, name: "records"}
	for _, key := range []string{"a", "b"} {
		if err := d.transact(t.Context(), func(ctx context.Context, in *transaction) error {
			b := &pgx.Batch{}
			insert(d, b, key)
			return in.commit(ctx, b)
		}); err != nil {
			t.Fatal(err)
		}
	}
	other, err := pgx.ConnectConfig(t.Context(), d.address.pool.ConnConfig.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.WithoutCancel(t.Context())) }()
	if _, err := other.Exec(t.Context(), "BEGIN; "+d.sql("UPDATE {s}.records SET version = 11")); err != nil {
		t.Fatal(err)
	}
	group := []*job{
		newJob(store.Write{Key: "a", Op: store.Put, Value: []byte("lost update"), Version: 21, If: store.Is(1)}),
		newJob(store.Write{Key: "b", Op: store.Put, Value: []byte("update"), Version: 22, If: store.Is(11)}),
	}
	type answer struct {
		met map[string]struct{}
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		a.err = d.statement(t.Context(), func(ctx context.Context, c *pgx.Conn) (err error) {
			a.met, err = records.apply(ctx, c, group)
			return err
		})
		answered <- a
	}()
	for waits := 0; waits == 0; {
		err := other.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()").Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	a := <-answered
	_, metA := a.met["a"]
	_, metB := a.met["b"]
	if a.err != nil || metA || !metB {
		t.Errorf("met a: %v, b: %v, %v; want only b", metA, metB, a.err)
	}
}
