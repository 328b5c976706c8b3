//go:build unix

package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// BenchmarkSharedWrite measures a single write while another process commits large groups
// back to back.
func BenchmarkSharedWrite(b *testing.B) {
	folder := b.TempDir()
	c := startChild(b, "hog", folder, "a")
	for range 4 {
		c.expect(b, "hogging")
	}
	r := open(b, folder, nil).Durable()
	var latencies []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		put(b, r, "mine", "1", store.Version(i+1))
		latencies = append(latencies, time.Since(start))
	}
	storetest.ReportQuantiles(b, latencies, 0.5, 0.99, 1)
}

// BenchmarkBus measures a message to another process and back.
func BenchmarkBus(b *testing.B) {
	folder := b.TempDir()
	e := open(b, folder, nil)
	back := make(chan struct{}, 1)
	if _, err := e.Bus().Subscribe(b.Context(), "back", func([]byte) { back <- struct{}{} }); err != nil {
		b.Fatal(err)
	}
	startChild(b, "echo", folder, "").expect(b, "listening")
	payload := make([]byte, 200)
	var latencies []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := e.Bus().Publish(b.Context(), "to", payload); err != nil {
			b.Fatal(err)
		}
		<-back
		latencies = append(latencies, time.Since(start))
	}
	storetest.ReportQuantiles(b, latencies, 0.5, 0.99)
}

// benchFsync is what the disk itself takes to overwrite and sync two pages.
func benchFsync(b *testing.B) {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var latencies []time.Duration
	for i := int64(0); b.Loop(); i++ {
		start := time.Now()
		if _, err := f.WriteAt(make([]byte, 8192), i%1000*8192); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		latencies = append(latencies, time.Since(start))
	}
	storetest.ReportQuantiles(b, latencies, 0.5, 0.99, 0.999)
}

// BenchmarkUpdateDuringFlush measures updates of documents, one after the other, while 10,000
// entries are merged into a board of a million each second, and without.
func BenchmarkUpdateDuringFlush(b *testing.B) {
	e := open(b, b.TempDir(), nil)
	fillBoard(b, e.Boards())
	for range 10 { // until the log has its length, and is overwritten
		fillRecords(b, e.Durable())
	}
	syscall.Sync() // what the filling left to the kernel is not measured
	version := store.Version(1)
	b.Run("fsync alone", func(b *testing.B) { benchFsync(b) })
	for _, flushing := range []bool{false, true} {
		b.Run(fmt.Sprintf("flushing=%v", flushing), func(b *testing.B) {
			var stop atomic.Bool
			rows, ended := 0, make(chan struct{})
			go func() {
				defer close(ended)
				for batches := storetest.Improvements(*entriesFlag, store.MaxMerge); flushing && !stop.Load(); rows += store.MaxMerge {
					time.Sleep(time.Second)
					if _, err := e.Boards().Merge(b.Context(), "top", store.Batch{Rule: store.Last, Entries: batches()}); err != nil {
						b.Error(err)
						return
					}
				}
			}()
			random := rand.New(rand.NewPCG(3, 3))
			value := make([]byte, benchValue)
			var latencies []time.Duration
			for b.Loop() {
				version++
				start := time.Now()
				key := benchKey(random.IntN(benchKeys))
				if err := e.Durable().Commit(b.Context(), store.Tx{{Key: key, Op: store.Put, Value: value, Version: version}})[0]; err != nil {
					b.Fatal(err)
				}
				latencies = append(latencies, time.Since(start))
			}
			stop.Store(true)
			<-ended
			storetest.ReportQuantiles(b, latencies, 0.5, 0.99, 0.999)
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
