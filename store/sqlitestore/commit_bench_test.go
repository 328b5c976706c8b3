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
	"github.com/shoalworks/shoal/store/storetest"
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
			l := newLoad(callers)
			update := startOurs(b)
			b.ResetTimer()
			l.run(b, b.N, update)
			b.StopTimer()
			l.report(b)
		})
	}
}

// BenchmarkRawGrouped is the reference: the same schema, statement and settings, a goroutine
// that groups what is in a channel, and nothing else.
func BenchmarkRawGrouped(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			l := newLoad(callers)
			update := startRaw(b)
			b.ResetTimer()
			l.run(b, b.N, update)
			b.StopTimer()
			l.report(b)
		})
	}
}

// BenchmarkCommitOfRaw runs both in turns, some ten milliseconds each, and reports the median
// of how fast this package is compared with the reference: a number that a busy machine
// changes little.
func BenchmarkCommitOfRaw(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ours, raw := newLoad(callers), newLoad(callers)
			updateOurs, updateRaw := startOurs(b), startRaw(b)
			slice := 16 * callers
			var ratios []float64
			b.ResetTimer()
			for done := 0; done < b.N || len(ratios) < 3; done += slice {
				start := time.Now()
				ours.run(b, slice, updateOurs)
				middle := time.Now()
				raw.run(b, slice, updateRaw)
				ratios = append(ratios, float64(time.Since(middle))/float64(middle.Sub(start)))
			}
			slices.Sort(ratios)
			b.ReportMetric(100*ratios[len(ratios)/2], "%-of-raw")
		})
	}
}

// update is one conditional update.
type update func(key string, old, next store.Version, value []byte) error

// load is callers that update keys of their own, one after the other.
type load struct {
	callers   int
	versions  [][]store.Version // of each caller's keys
	next      []int             // each caller's next key
	latencies [][]time.Duration
}

func newLoad(callers int) *load {
	l := &load{callers: callers, next: make([]int, callers), latencies: make([][]time.Duration, callers)}
	for range callers {
		versions := make([]store.Version, benchKeys/callers)
		for i := range versions {
			versions[i] = 1
		}
		l.versions = append(l.versions, versions)
	}
	return l
}

// run makes n updates.
func (l *load) run(b *testing.B, n int, update update) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	for caller := range l.callers {
		group.Go(func() {
			value := make([]byte, benchValue)
			for left.Add(-1) >= 0 {
				slot := l.next[caller] % len(l.versions[caller])
				l.next[caller]++
				old := l.versions[caller][slot]
				start := time.Now()
				if err := update(benchKey(slot*l.callers+caller), old, old+1, value); err != nil {
					b.Error(err)
					return
				}
				l.latencies[caller] = append(l.latencies[caller], time.Since(start))
				l.versions[caller][slot]++
			}
		})
	}
	group.Wait()
}

func (l *load) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
	storetest.ReportQuantiles(b, slices.Concat(l.latencies...), 0.5, 0.99, 0.999)
}

func startOurs(b *testing.B) update {
	b.Helper()
	r := open(b, b.TempDir(), nil).Durable()
	fillRecords(b, r)
	return func(key string, old, next store.Version, value []byte) error {
		return r.Commit(b.Context(), store.Tx{{
			Key: key, Op: store.Put, Value: value, If: store.Is(old), Version: next,
		}})[0]
	}
}

func startRaw(b *testing.B) update {
	b.Helper()
	folder := b.TempDir()
	e, err := sqlitestore.Open(b.Context(), folder, nil)
	if err != nil {
		b.Fatal(err)
	}
	fillRecords(b, e.Durable())
	if err := e.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	raw := rawWriter(b, filepath.Join(folder, "records.db"))
	return func(key string, old, next store.Version, value []byte) error {
		done := make(chan error, 1)
		raw <- rawUpdate{key: key, old: int64(old), next: int64(next), value: value, done: done}
		return <-done
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

type rawUpdate struct {
	key       string
	old, next int64
	value     []byte
	done      chan error
}

// rawWriter starts the reference's goroutine, which ends with the benchmark.
func rawWriter(b *testing.B, path string) chan<- rawUpdate {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(16000)&_pragma=cache_size(-32768)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	queue, ended := make(chan rawUpdate, 512), make(chan struct{})
	b.Cleanup(func() {
		close(queue)
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
		defer func() { _ = stmt.Close() }()
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
