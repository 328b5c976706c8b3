package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// The benchmarks of commits: durable conditional updates of 2 KB values, by so many callers.
// BenchmarkRawGrouped does the same with as little code as possible; compare within one run.

const (
	benchKeys  = 4096
	benchValue = 2048
)

func benchKey(i int) string { return fmt.Sprintf("profile/players/u_%06d", i) }

// BenchmarkCommit measures this package.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			e := open(b, b.TempDir(), nil)
			r := e.Durable()
			fillRecords(b, r)
			runCallers(b, callers, func(i int, old, next store.Version, value []byte) error {
				return r.Commit(b.Context(), store.Tx{{
					Key: benchKey(i), Op: store.Put, Value: value, If: store.Is(old), Version: next,
				}})[0]
			})
		})
	}
}

// fillRecords gives every key version 1.
func fillRecords(b *testing.B, r store.Records) {
	b.Helper()
	value := make([]byte, benchValue)
	for first := 0; first < benchKeys; first += 512 {
		var txs []store.Tx
		for i := range 512 {
			txs = append(txs, store.Tx{{Key: benchKey(first + i), Op: store.Put, Value: value, Version: 1}})
		}
		for _, err := range r.Commit(b.Context(), txs...) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// runCallers has each caller update keys of its own, one after the other, and reports the
// rate and the slowest calls.
func runCallers(b *testing.B, callers int, update func(i int, old, next store.Version, value []byte) error) {
	b.Helper()
	var next atomic.Int64
	latencies := make([][]time.Duration, callers)
	var group sync.WaitGroup
	b.ResetTimer()
	for caller := range callers {
		group.Go(func() {
			value := make([]byte, benchValue)
			versions := make([]store.Version, benchKeys/callers)
			for n := 0; next.Add(1) <= int64(b.N); n++ {
				slot := n % len(versions)
				old := versions[slot] + 1
				start := time.Now()
				if err := update(slot*callers+caller, old, old+1, value); err != nil {
					b.Error(err)
					return
				}
				versions[slot]++
				latencies[caller] = append(latencies[caller], time.Since(start))
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
	reportQuantiles(b, slices.Concat(latencies...), 0.5, 0.99, 0.999)
}

func reportQuantiles(b *testing.B, latencies []time.Duration, quantiles ...float64) {
	b.Helper()
	slices.Sort(latencies)
	for _, q := range quantiles {
		at := latencies[min(len(latencies)-1, int(q*float64(len(latencies))))]
		b.ReportMetric(float64(at.Microseconds()), fmt.Sprintf("p%v-µs", q*100))
	}
}

// BenchmarkRawGrouped is the reference: the same schema, statement and settings, a goroutine
// that groups what is in a channel, and nothing else.
func BenchmarkRawGrouped(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			folder := b.TempDir()
			e, err := sqlitestore.Open(b.Context(), folder, nil)
			if err != nil {
				b.Fatal(err)
			}
			fillRecords(b, e.Durable())
			if err := e.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
			raw := startRaw(b, filepath.Join(folder, "records.db"))
			runCallers(b, callers, func(i int, old, next store.Version, value []byte) error {
				done := make(chan error, 1)
				raw <- rawUpdate{key: benchKey(i), old: int64(old), next: int64(next), value: value, done: done}
				return <-done
			})
			close(raw)
		})
	}
}

type rawUpdate struct {
	key       string
	old, next int64
	value     []byte
	done      chan error
}

func startRaw(b *testing.B, path string) chan rawUpdate {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(16000)&_pragma=cache_size(-32768)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	queue, ended := make(chan rawUpdate, 512), make(chan struct{})
	b.Cleanup(func() {
		<-ended
		_ = db.Close()
	})
	go func() {
		defer close(ended)
		ctx := context.Background()
		c, err := db.Conn(ctx)
		if err != nil {
			b.Error(err)
			return
		}
		stmt, err := c.PrepareContext(ctx, `UPDATE records SET version = ?, boot = ?, up = ?, wall = ?, value = ? WHERE key = ? AND version = ?`)
		if err != nil {
			b.Error(err)
			return
		}
		for first := range queue {
			group := []rawUpdate{first}
			_, _ = c.ExecContext(ctx, "BEGIN IMMEDIATE")
			for more := true; more; {
				u := group[len(group)-1]
				r, err := stmt.ExecContext(ctx, u.next, int64(1), int64(1), int64(1), u.value, u.key, u.old)
				if err != nil {
					b.Error(err)
				} else if n, _ := r.RowsAffected(); n != 1 {
					b.Error("conflict")
				}
				select {
				case u, more = <-queue:
					if more = more && len(group) < 512; more {
						group = append(group, u)
					}
				default:
					more = false
				}
			}
			_, err := c.ExecContext(ctx, "COMMIT")
			for _, u := range group {
				u.done <- err
			}
		}
	}()
	return queue
}
