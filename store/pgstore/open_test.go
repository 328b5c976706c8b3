package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// refused opens an address that must be refused with the error, and answers its text.
func refused(t *testing.T, address string, want error) string {
	t.Helper()
	e, err := pgstore.Open(t.Context(), address, nil)
	if err == nil {
		_ = e.Close(context.WithoutCancel(t.Context()))
	}
	if !errors.Is(err, want) {
		t.Fatalf("Open(%s) = %v, want %v", address, err, want)
	}
	return err.Error()
}

func TestOpenRefusesAddresses(t *testing.T) {
	for address, why := range map[string]string{
		"postgres://h/d?schema=Shoal":            "schema",
		"postgres://h/d?schema=":                 "schema",
		"postgres://h/d?schema=pg_shoal":         "schema",
		"postgres://h/d?schema=" + long(41):      "schema",
		"postgres://h/d?pooler=session":          "pooler",
		"postgres://h/d?live=memory":             "live",
		"postgres://h/d?shema=x":                 `"shema"`,
		"postgres://h/d?search_path=x":           `"search_path"`,
		"postgres://h/d?pool_max_conns=many":     "pool_max_conns",
		"host=h dbname=d colour=blue":            `"colour"`,
		"postgres://user:secret@h:port/d":        "port",
		"postgres://user:secret@h/d?sslmode=odd": "sslmode",
	} {
		text := refused(t, address, pgstore.ErrAddress)
		if !strings.Contains(text, why) || strings.Contains(text, "secret") {
			t.Errorf("Open(%s) = %s, want it to name %s and no secret", address, text, why)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestOpenRefusesServers(t *testing.T) {
	pg := enginetest.Postgres(t)
	refused(t, "postgres://shoal@127.0.0.1:1/shoal?connect_timeout=2", pgstore.ErrServer)
	refused(t, strings.Replace(pg.URL("x"), "shoal@", "nobody@", 1), pgstore.ErrServer)
	pooler := enginetest.PgBouncer(t, pg)
	text := refused(t, strings.Replace(pooler.URL("x"), "pooler=transaction", "pooler=none", 1), pgstore.ErrServer)
	if !strings.Contains(text, "say pooler=transaction") {
		t.Errorf("an undeclared pooler is refused with %s", text)
	}
}

// A role that may not create anything opens a schema that is there, and says what it lacks
// where none is.
func TestOpenWithoutPrivileges(t *testing.T) {
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	role := "role_" + schema
	exec := func(sql string) {
		t.Helper()
		if err := pg.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Fatal(err)
		}
	}
	open(t, pg.URL(schema), nil)
	exec("CREATE ROLE " + role + " LOGIN")
	t.Cleanup(func() { exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	exec("GRANT USAGE ON SCHEMA " + schema + " TO " + role +
		"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema + " TO " + role)
	as := func(schema string) string { return strings.Replace(pg.URL(schema), "shoal@", role+"@", 1) }
	r := open(t, as(schema), nil).Durable()
	if err := r.Commit(t.Context(), store.Tx{{Key: "a", Op: store.Put, Value: []byte("1"), Version: 5}})[0]; err != nil {
		t.Fatal(err)
	}
	refused(t, as(enginetest.Schema(t)), pgstore.ErrSchema)
}

func TestOpenRefusesNewerSchema(t *testing.T) {
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	open(t, pg.URL(schema), nil)
	if err := pg.Exec(t.Context(), "INSERT INTO "+schema+".migrations VALUES (4242, now())"); err != nil {
		t.Fatal(err)
	}
	if text := refused(t, pg.URL(schema), pgstore.ErrNewerSchema); !strings.Contains(text, "4242") {
		t.Errorf("a newer schema is refused with %s, want its version", text)
	}
}

// A standby, and a server that was made read-only, are no place for a store.
func TestOpenRefusesReadOnlyServer(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	e := open(t, pg.URL("shoal"), nil)
	if err := pg.Exec(t.Context(), "ALTER SYSTEM SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec(t.Context(), "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	for { // the sessions that are there hear of it a little later
		err := e.Durable().Commit(t.Context(), store.Tx{{Key: "a", Op: store.Put, Value: []byte("1"), Version: 5}})[0]
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Commit on a server that takes no writes = %v, want ErrUnavailable", err)
		}
		break
	}
	refused(t, pg.URL("shoal"), pgstore.ErrServer)
	nextHost(t, pg.Addr())
	if err := pg.Exec(t.Context(), "ALTER SYSTEM SET default_transaction_read_only = off"); err != nil {
		t.Fatal(err)
	}
	if err := pg.Exec(t.Context(), "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	until(t, "writes again", func() bool {
		return e.Durable().Commit(t.Context(), store.Tx{{Key: "a", Op: store.Put, Value: []byte("1"), Version: 5}})[0] == nil
	})
}

// nextHost opens an address of which only the last host takes writes.
func nextHost(t *testing.T, standby string) {
	t.Helper()
	primary := enginetest.Postgres(t)
	hosts := "127.0.0.1:1," + standby + "," + primary.Addr()
	e := open(t, strings.Replace(primary.URL(enginetest.Schema(t)), primary.Addr(), hosts, 1), nil)
	if err := one(t, e.Durable(), putOf("key", "value", 1, store.Absent())); err != nil {
		t.Error(err)
	}
	found, err := e.Durable().(store.Inspector).Inspect(t.Context())
	if err != nil || !strings.HasPrefix(found.Place, hosts) {
		t.Errorf("the place is %q, %v", found.Place, err)
	}
}
