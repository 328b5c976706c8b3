package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store/storetest"
)

// mishaps are what befalls a server while it is used.
func mishaps(ctx context.Context, pg *engines.Postgres) []func() error {
	again := func(f func() error) func() error {
		return func() error { return errors.Join(f(), pg.Start(ctx)) }
	}
	return []func() error{
		again(pg.Kill),
		again(pg.Stop),
		func() error { return errors.Join(pg.Pause(), pg.Continue()) },
		func() error {
			return pg.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
		},
	}
}

// While the server is killed, restarted, held, and its sessions are ended, the answers about
// each key are those of some order: nothing that was acknowledged is lost, nothing that was
// refused comes.
// case S14.
func TestHistoriesUnderMishaps(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	underMishaps(t, pg.URL("shoal"), mishaps(t.Context(), pg))
}

// The same through a pooler, which is killed, too.
func TestHistoriesUnderMishapsThroughPooler(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	pooler := enginetest.PgBouncer(t, pg)
	underMishaps(t, pooler.URL("shoal"), []func() error{
		func() error { return errors.Join(pg.Kill(), pg.Start(t.Context())) },
		func() error { return errors.Join(pooler.Kill(), pooler.Start(t.Context())) },
	})
}

// underMishaps lets callers work through three engines, and what befalls befall twice.
func underMishaps(t *testing.T, url string, mishaps []func() error) {
	t.Helper()
	s := storetest.Troubled{Troubles: mishaps, Rounds: 2, GiveUp: 400 * time.Millisecond}
	for range 3 {
		s.Handles = append(s.Handles, open(t, url, nil).Durable())
	}
	storetest.Troubles(t, s)
}
