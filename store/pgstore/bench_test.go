package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

const (
	benchCallers = 64
	benchValue   = 2 << 10
)

// benchKey is the one key of a caller.
func benchKey(caller int) string { return fmt.Sprintf("profile/players/u_%03d", caller) }

// randomValue is a value that no compression makes smaller.
func randomValue(seed uint64) []byte {
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	value := make([]byte, benchValue)
	_, _ = rng.Read(value)
	return value
}

// share runs b.N updates of 64 callers, each of its own key, one after the other.
func share(b *testing.B, update func(caller int, before, after store.Version) error) {
	b.Helper()
	var all sync.WaitGroup
	b.ResetTimer()
	for caller := range benchCallers {
		all.Go(func() {
			version := store.Version(1)
			for i := caller; i < b.N; i += benchCallers {
				if err := update(caller, version, version+1); err != nil {
					b.Error(err)
					return
				}
				version++
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}

// filled opens a schema in which each caller's key is at version 1.
func filled(b *testing.B, url string, o *pgstore.Options) *pgstore.Engine {
	b.Helper()
	e := open(b, url, o)
	for caller := range benchCallers {
		w := store.Write{Key: benchKey(caller), Op: store.Put, Value: randomValue(uint64(caller)), Version: 1}
		if err := e.Durable().Commit(b.Context(), store.Tx{w})[0]; err != nil {
			b.Fatal(err)
		}
	}
	return e
}

// BenchmarkDurableUpdates compares conditional updates of 2 KB from 64 callers: by this
// driver, by it without groups, and by a plain loop of the same statement over pgx, with as
// many connections and with one for each caller. The server waits for the disk.
func BenchmarkDurableUpdates(b *testing.B) {
	pg := enginetest.OwnPostgres(b, &engines.PostgresOptions{Durable: true})
	for _, way := range []struct {
		name    string
		options *pgstore.Options
	}{{"grouped", nil}, {"by_one", &pgstore.Options{GroupSize: 1, Writers: 16}}} {
		b.Run(way.name, func(b *testing.B) {
			r := filled(b, pg.URL("s_"+way.name), way.options).Durable()
			values := make([][]byte, benchCallers)
			for caller := range values {
				values[caller] = randomValue(uint64(caller))
			}
			share(b, func(caller int, before, after store.Version) error {
				return r.Commit(b.Context(), store.Tx{{Key: benchKey(caller), Op: store.Put, Value: values[caller], If: store.Is(before), Version: after}})[0]
			})
		})
	}
	for _, connections := range []int{16, benchCallers} {
		b.Run(fmt.Sprintf("plain_pgx_%d", connections), func(b *testing.B) {
			schema := fmt.Sprintf("s_plain_%d", connections)
			filled(b, pg.URL(schema), nil)
			plain(b, pg.Addr(), schema, connections)
		})
	}
}

// plain is the same update in a loop over pgx.
func plain(b *testing.B, addr, schema string, connections int) {
	b.Helper()
	pool, err := pgxpool.New(b.Context(), fmt.Sprintf("postgres://shoal@%s/shoal?sslmode=disable&pool_max_conns=%d", addr, connections))
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	text := "UPDATE " + schema + ".records SET version = $2, written = clock_timestamp(), value = $3 WHERE key = $1 AND version = $4"
	values := make([][]byte, benchCallers)
	for caller := range values {
		values[caller] = randomValue(uint64(caller))
	}
	share(b, func(caller int, before, after store.Version) error {
		tag, err := pool.Exec(context.WithoutCancel(b.Context()), text, benchKey(caller), int64(after), values[caller], int64(before))
		if err == nil && tag.RowsAffected() != 1 {
			err = store.ErrConflict
		}
		return err
	})
}
