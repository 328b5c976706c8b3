package pgstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// connections counts those of everybody else to the server.
func connections(t *testing.T, pg *engines.Postgres) func() int64 {
	t.Helper()
	c, err := pgx.Connect(t.Context(), "postgres://shoal@"+pg.Addr()+"/shoal?sslmode=disable&application_name=counter")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return func() int64 {
		return number(t, c, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	}
}

// An engine that is only the durable part of a store has the connections of its pool, and none
// for beats or messages, which other engines have: a fleet of hundreds of nodes on one server
// would run out of them. Each comes with its first use.
func TestConnectionsForWhatIsUsed(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	count := connections(t, pg)
	e := open(t, pg.URL("shoal"), &pgstore.Options{Connections: 1})
	use := func() {
		t.Helper()
		for v := range store.Version(20) {
			if err := one(t, e.Durable(), putOf("key", "value", v+1, store.Condition{})); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Durable().Get(t.Context(), "key", "node/a"); err != nil {
			t.Fatal(err)
		}
		if err := e.Bus().Publish(t.Context(), "topic", []byte("to others")); err != nil {
			t.Fatal(err)
		}
	}
	use()
	if n := count(); n != 1 {
		t.Errorf("an engine that is the durable part has %d connections, want that of its pool", n)
	}
	storetest.Arrives(t, e.Bus(), storetest.Hear(t, e.Bus(), "topic"), "topic", "message")
	if n := count(); n != 2 {
		t.Errorf("with a subscription it has %d connections, want one more", n)
	}
	if err := one(t, e.Fast(), putOf("node/a", "beat", 1, store.Condition{})); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 3 {
		t.Errorf("with beats it has %d connections, want one more", n)
	}
}
