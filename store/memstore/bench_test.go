package memstore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// Hundreds of thousands of entries: the ranks of all pages and standings agree.
func TestManyEntries(t *testing.T) {
	const n = 200_000
	b := process(t, memstore.New(nil)).Boards()
	storetest.FillBoard(t, b, n, storetest.RandomScores(1<<40))
	for _, offset := range []int64{0, 1, n/2 - 1, n - 3} {
		page, err := b.Page(t.Context(), storetest.MeasuredBoard, offset, 3, store.Ordinal)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range page.Entries {
			one, ok, err := b.Standing(t.Context(), storetest.MeasuredBoard, s.Key, store.Ordinal)
			if err != nil || !ok || one.Rank != offset+int64(i)+1 || s.Rank != one.Rank || page.Total != n {
				t.Errorf("entry %d of the page at %d: %+v and %+v, %v, of %d", i, offset, s, one, err, page.Total)
			}
		}
		if len(page.Entries) != 3 {
			t.Errorf("%d entries at %d", len(page.Entries), offset)
		}
	}
}

func BenchmarkStanding(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			boards := memstore.New(nil).Boards()
			storetest.FillBoard(b, boards, n, storetest.RandomScores(1<<40))
			i := 0
			for b.Loop() {
				i = (i + 7919) % n
				if _, ok, err := boards.Standing(b.Context(), storetest.MeasuredBoard, storetest.EntryKey(i), store.Ordinal); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	boards := memstore.New(nil).Boards()
	const n, size = 1_000_000, 100
	storetest.FillBoard(b, boards, n, storetest.RandomScores(1<<40))
	rng := rand.New(rand.NewPCG(3, 4))
	batches := uint64(0)
	for b.Loop() {
		batches++
		batch := store.Batch{Rule: store.Sum, Source: "s", N: batches, Entries: make([]store.Submission, size)}
		first := rng.IntN(n - size)
		for i := range batch.Entries {
			batch.Entries[i] = store.Submission{Key: storetest.EntryKey(first + i), Score: rng.Int64N(1000)}
		}
		if _, err := boards.Merge(b.Context(), storetest.MeasuredBoard, batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(batches*size), "ns/entry")
}

func BenchmarkCommit(b *testing.B) {
	r := memstore.New(nil).Records()
	value := make([]byte, 2048)
	n := uint64(0)
	for b.Loop() {
		n++
		tx := store.Tx{{Key: fmt.Sprintf("profile/%d", n%10_000), Op: store.Put, Value: value, Version: store.VersionFrom(n)}}
		if err := r.Commit(b.Context(), tx)[0]; err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	r := memstore.New(nil).Records()
	tx := store.Tx{{Key: "key", Op: store.Put, Value: make([]byte, 2048), Version: 1}}
	if err := r.Commit(b.Context(), tx)[0]; err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Get(b.Context(), "key"); err != nil {
			b.Fatal(err)
		}
	}
}
