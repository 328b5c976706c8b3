package board_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// benchService is a service of a node on memstore whose windows run only when asked for.
func benchService(b *testing.B, cfg board.Config) *board.Service {
	b.Helper()
	st, err := memstore.New(nil).Store()
	if err != nil {
		b.Fatal(err)
	}
	n, err := node.Start(b.Context(), st, &node.Options{Logger: discard()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = n.Close(context.WithoutCancel(b.Context())) })
	s, err := board.New(n, &board.Options{FlushEvery: time.Hour, Boards: map[string]board.Config{"Kills": cfg}})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func benchKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("player_%08d", i)
	}
	return keys
}

func BenchmarkSubmit(b *testing.B) {
	keys := benchKeys(10_000)
	for _, rule := range []store.Rule{store.Best, store.Last, store.Sum} {
		for _, goroutines := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("%v/goroutines=%d", rule, goroutines), func(b *testing.B) {
				s := benchService(b, board.Config{Rule: rule})
				for _, key := range keys {
					if err := s.Submit("Kills", key, 0); err != nil {
						b.Fatal(err)
					}
				}
				var turn atomic.Int64
				b.ReportAllocs()
				if goroutines == 1 {
					for i := 0; b.Loop(); i++ {
						_ = s.Submit("Kills", keys[i%len(keys)], int64(i)&1023)
					}
					return
				}
				b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for i := int(turn.Add(977)); pb.Next(); i++ {
						_ = s.Submit("Kills", keys[i%len(keys)], int64(i)&1023)
					}
				})
			})
		}
	}
}

func BenchmarkTopCached(b *testing.B) {
	s := benchService(b, board.Config{CacheFor: time.Hour})
	for i, key := range benchKeys(1000) {
		if err := s.Submit("Kills", key, int64(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.FlushNow(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if p, err := s.Top(ctx, "Kills", 50); err != nil || len(p.Entries) != 50 {
			b.Fatal(len(p.Entries), err)
		}
	}
}

func BenchmarkFlush10000(b *testing.B) {
	s := benchService(b, board.Config{})
	keys := benchKeys(10_000)
	b.ReportAllocs()
	for round := 0; b.Loop(); round++ {
		b.StopTimer()
		for _, key := range keys {
			if err := s.Submit("Kills", key, int64(round)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := s.FlushNow(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/value")
}

func BenchmarkStanding(b *testing.B) {
	s := benchService(b, board.Config{})
	keys := benchKeys(10_000)
	for i, key := range keys {
		if err := s.Submit("Kills", key, int64(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.FlushNow(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok, err := s.Standing(b.Context(), "Kills", keys[i%len(keys)]); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
