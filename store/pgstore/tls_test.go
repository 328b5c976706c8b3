package pgstore_test

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// ssl are parameters of an address, in turns of name and value.
func ssl(pairs ...string) url.Values {
	v := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

// says opens an address that must be refused so, by an error that says all these texts.
func says(t *testing.T, address string, want error, texts ...string) {
	t.Helper()
	got := refused(t, strings.Replace(address, "shoal@", "shoal:hunter2@", 1), want)
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%s: %s\nwant it to say %q", address, got, text)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Errorf("the error shows the password: %s", got)
	}
}

// works writes and reads.
func works(t *testing.T, address string) {
	t.Helper()
	e := open(t, address, nil)
	if err := e.Durable().Commit(t.Context(), store.Tx{{Key: "a", Op: store.Put, Value: []byte("1"), Version: 5}})[0]; err != nil {
		t.Error(err)
	}
	if got, err := e.Durable().Get(t.Context(), "a"); err != nil || len(got) != 1 || got[0].Version != 5 {
		t.Errorf("%s has %+v, %v", address, got, err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	a, other := enginetest.Authority(t), enginetest.Authority(t)
	server := enginetest.OwnPostgres(t, &engines.PostgresOptions{TLS: &engines.TLS{Authority: a}})
	named := enginetest.OwnPostgres(t, &engines.PostgresOptions{TLS: &engines.TLS{Authority: a, Hosts: []string{"db.test"}}})
	works(t, server.TLSURL("a", ssl("sslmode", "verify-full", "sslrootcert", a.File)))
	works(t, server.TLSURL("b", ssl("sslmode", "verify-ca", "sslrootcert", a.File)))
	works(t, server.TLSURL("c", ssl("sslmode", "require")))
	works(t, named.TLSURL("a", ssl("sslmode", "verify-ca", "sslrootcert", a.File)))

	says(t, named.TLSURL("a", ssl("sslmode", "verify-full", "sslrootcert", a.File)), pgstore.ErrServer, named.Addr(), "not for 127.0.0.1", "sslmode=verify-ca")
	for _, mode := range []string{"verify-full", "verify-ca"} {
		says(t, server.TLSURL("a", ssl("sslmode", mode, "sslrootcert", other.File)), pgstore.ErrServer, server.Addr(), "sslrootcert=FILE")
	}
	says(t, server.TLSURL("a", ssl("sslmode", "disable")), pgstore.ErrServer, server.Addr(), "sslmode=verify-full")
	plain := enginetest.Postgres(t)
	says(t, plain.TLSURL("a", ssl("sslmode", "require")), pgstore.ErrServer, plain.Addr(), "sslmode=disable here")

	none := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(none, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{none, none + ".gone"} {
		says(t, server.TLSURL("a", ssl("sslmode", "verify-full", "sslrootcert", file)), pgstore.ErrAddress, server.Addr(), url.QueryEscape(file), "CA")
	}
}

func TestTLSOfAServerThatHasExpired(t *testing.T) {
	t.Parallel()
	a := enginetest.Authority(t)
	server := enginetest.OwnPostgres(t, &engines.PostgresOptions{TLS: &engines.TLS{Authority: a, Good: -time.Hour}})
	says(t, server.TLSURL("a", ssl("sslmode", "verify-full", "sslrootcert", a.File)), pgstore.ErrServer, server.Addr(), "renew it on the server")
}

// The server asks for certificates of its clients.
func TestTLSOfClients(t *testing.T) {
	t.Parallel()
	a := enginetest.Authority(t)
	server := enginetest.OwnPostgres(t, &engines.PostgresOptions{TLS: &engines.TLS{Authority: a, Clients: true}})
	own, foreign := enginetest.Certificate(t, a, "own"), enginetest.Certificate(t, enginetest.Authority(t), "foreign")
	with := func(pairs ...string) url.Values {
		v := ssl("sslmode", "verify-full", "sslrootcert", a.File)
		maps.Copy(v, ssl(pairs...))
		return v
	}
	works(t, server.TLSURL("a", with("sslcert", own.Cert, "sslkey", own.Key)))
	says(t, server.TLSURL("a", with()), pgstore.ErrServer, server.Addr(), "sslcert=FILE and sslkey=FILE name")
	says(t, server.TLSURL("a", with("sslcert", foreign.Cert, "sslkey", foreign.Key)), pgstore.ErrServer, server.Addr(), "does not take our certificate")
	says(t, server.TLSURL("a", with("sslcert", own.Cert, "sslkey", own.Key+".gone")), pgstore.ErrAddress, server.Addr(), ".gone")
}

// The pool and the connection that listens speak TLS as any other.
func TestBusByTLS(t *testing.T) {
	a := enginetest.Authority(t)
	own := enginetest.Certificate(t, a, "own")
	server := enginetest.OwnPostgres(t, &engines.PostgresOptions{TLS: &engines.TLS{Authority: a, Clients: true}})
	address := server.TLSURL("s", ssl("sslmode", "verify-full", "sslrootcert", a.File, "sslcert", own.Cert, "sslkey", own.Key))
	storetest.Bus(t, func(t *testing.T) storetest.Harness[store.Bus] {
		t.Helper()
		return storetest.Harness[store.Bus]{Shared: true, Reopens: true, Open: func(t *testing.T) store.Bus {
			e := open(t, address, nil)
			return storetest.WholeBus(e.Bus(), e)
		}}
	})
}
