package profile_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/memstore"
)

// benchSet is a set on a memory of its own.
func benchSet(b *testing.B, opts *profile.Options) *profile.Set {
	b.Helper()
	st, err := memstore.New(nil).Store()
	if err != nil {
		b.Fatal(err)
	}
	n, err := node.Start(b.Context(), st, &node.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	set, err := profile.New(n, "players", opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := n.Close(context.Background()); err != nil {
			b.Error(err)
		}
		_ = st.Close(context.Background())
	})
	return set
}

// document is a plausible profile of about so many bytes.
func document(bytes int) doc.Value {
	items := map[string]any{}
	for i := 0; len(items)*64 < bytes; i++ {
		items[fmt.Sprintf("item-%06d", i)] = map[string]any{"count": i, "name": "Bronze Sword", "rare": i%7 == 0}
	}
	return doc.Must(map[string]any{"coins": 0, "name": "Ann", "items": items})
}

// sized are the documents that the goals name.
func sized(b *testing.B, run func(b *testing.B, v doc.Value)) {
	b.Helper()
	for _, c := range []struct {
		name  string
		bytes int
	}{{"2KB", 2 << 10}, {"1MB", 1 << 20}} {
		v := document(c.bytes)
		b.Run(c.name, func(b *testing.B) { run(b, v) })
	}
}

// reportP99 reports the 99th percentile of single operations.
func reportP99(b *testing.B, each []time.Duration) {
	b.Helper()
	slices.Sort(each)
	b.ReportMetric(float64(each[len(each)*99/100].Nanoseconds()), "p99-ns/op")
}

// BenchmarkTransact increments a number while the session is saved all the time.
func BenchmarkTransact(b *testing.B) {
	sized(b, func(b *testing.B, v doc.Value) {
		set := benchSet(b, &profile.Options{Template: v})
		s, err := set.Load(b.Context(), "u", nil)
		if err != nil {
			b.Fatal(err)
		}
		var (
			stop atomic.Bool
			wg   sync.WaitGroup
		)
		wg.Go(func() {
			for !stop.Load() {
				_ = s.Save(context.Background())
				time.Sleep(10 * time.Millisecond)
			}
		})
		op := doc.Increment("/coins", 1)
		each := make([]time.Duration, 0, b.N)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			start := time.Now()
			if _, err := s.Transact(game, op); err != nil {
				b.Fatal(err)
			}
			each = append(each, time.Since(start))
		}
		b.StopTimer()
		stop.Store(true)
		wg.Wait()
		reportP99(b, each)
	})
}

// BenchmarkSave stores one changed profile after the other, on memstore: what it costs
// beside the engine.
func BenchmarkSave(b *testing.B) {
	sized(b, func(b *testing.B, v doc.Value) {
		set := benchSet(b, &profile.Options{Template: v})
		s, err := set.Load(b.Context(), "u", nil)
		if err != nil {
			b.Fatal(err)
		}
		op := doc.Increment("/coins", 1)
		b.SetBytes(int64(v.Size()))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Transact(game, op); err != nil {
				b.Fatal(err)
			}
			if err := s.Save(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSaveParallel is 256 sessions that save all the time.
func BenchmarkSaveParallel(b *testing.B) {
	set := benchSet(b, &profile.Options{Template: document(2 << 10)})
	sessions := make(chan *profile.Session, 256)
	for i := range 256 {
		s, err := set.Load(b.Context(), fmt.Sprint("u", i), nil)
		if err != nil {
			b.Fatal(err)
		}
		sessions <- s
	}
	op := doc.Increment("/coins", 1)
	b.SetParallelism(128)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		s := <-sessions
		defer func() { sessions <- s }()
		for pb.Next() {
			if _, err := s.Transact(game, op); err != nil {
				b.Error(err)
			}
			if err := s.Save(context.Background()); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkLoadRelease opens a stored profile and releases it: two writes and a read.
func BenchmarkLoadRelease(b *testing.B) {
	sized(b, func(b *testing.B, v doc.Value) {
		set := benchSet(b, &profile.Options{Template: v})
		b.ReportAllocs()
		for b.Loop() {
			s, err := set.Load(b.Context(), "u", nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Release(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkData reads the present data.
func BenchmarkData(b *testing.B) {
	set := benchSet(b, nil)
	s, err := set.Load(b.Context(), "u", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if s.Data().IsNull() {
			b.Fatal("null")
		}
	}
}

// BenchmarkIdleSessions tells what 10,000 sessions that do nothing hold in memory.
func BenchmarkIdleSessions(b *testing.B) {
	set := benchSet(b, nil)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := set.Load(b.Context(), fmt.Sprint("u", n), nil); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
