package pgstore_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// One write that hears that its server takes no writes ends all connections to it: behind a
// pooler they would stand for an hour, and read what is old.
func TestDemotedServerLosesEveryConnection(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	e := open(t, pg.URL("shoal"), nil)
	var sessions [2]*pgx.Conn
	for i := range sessions {
		c, err := pgx.Connect(t.Context(), "postgres://shoal@"+pg.Addr()+"/shoal?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(t.Context()) }()
		sessions[i] = c
	}
	c := sessions[0]
	// Several connections that have read: as many as wait for this lock at once.
	lock, err := sessions[1].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), "LOCK TABLE shoal.records"); err != nil {
		t.Fatal(err)
	}
	const readers = 4
	answers := make(chan error, readers)
	for range readers {
		go func() {
			_, err := e.Durable().Get(t.Context(), "key")
			answers <- err
		}()
	}
	const those = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%FROM \"shoal\".records%' AND pid <> pg_backend_pid()"
	until(t, "the readers to wait", func() bool { return number(t, c, those+" AND wait_event_type = 'Lock'") == readers })
	if err := lock.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range readers {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"} {
		if err := pg.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "a write to be refused", func() bool {
		err := one(t, e.Durable(), putOf("key", "value", 1, store.Condition{}))
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		return err != nil
	})
	until(t, "the readers' connections to end", func() bool { return number(t, c, those) == 0 })
}
