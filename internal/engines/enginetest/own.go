package enginetest

import (
	"context"
	"testing"

	"github.com/shoalworks/shoal/internal/engines"
)

// own starts a server that ends with the test.
func own[E interface{ Close() error }](t testing.TB, start func(context.Context) (E, error)) E {
	t.Helper()
	e, err := start(context.WithoutCancel(t.Context()))
	demand(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// OwnPostgres is a PostgreSQL that this test may stop, kill and pause.
func OwnPostgres(t testing.TB, o *engines.PostgresOptions) *engines.Postgres {
	t.Helper()
	return own(t, func(ctx context.Context) (*engines.Postgres, error) { return engines.StartPostgres(ctx, o) })
}

// PgBouncer is a pooler in transaction mode before p.
func PgBouncer(t testing.TB, p *engines.Postgres) *engines.PgBouncer {
	t.Helper()
	return own(t, func(ctx context.Context) (*engines.PgBouncer, error) { return engines.StartPgBouncer(ctx, p) })
}

// OwnRedis is a Redis that this test may stop, kill, pause and configure.
func OwnRedis(t testing.TB, o *engines.RedisOptions) *engines.Redis {
	t.Helper()
	return own(t, func(ctx context.Context) (*engines.Redis, error) { return engines.StartRedis(ctx, o) })
}

// Sentinel is a Redis master with a replica and a sentinel, of this test's own.
func Sentinel(t testing.TB, o *engines.RedisOptions) *engines.Sentinel {
	t.Helper()
	return own(t, func(ctx context.Context) (*engines.Sentinel, error) { return engines.StartSentinel(ctx, o) })
}

// OwnCluster is a Redis Cluster of three masters that this test may stop, kill and pause.
func OwnCluster(t testing.TB, o *engines.RedisOptions) *engines.Cluster {
	t.Helper()
	return own(t, func(ctx context.Context) (*engines.Cluster, error) { return engines.StartCluster(ctx, o) })
}

// Proxy is a TCP proxy before an address (host:port).
func Proxy(t testing.TB, target string) *engines.Proxy {
	t.Helper()
	return own(t, func(ctx context.Context) (*engines.Proxy, error) { return engines.StartProxy(ctx, target) })
}
