package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// MeasuredBoard is the name of the board that [FillBoard] makes.
const MeasuredBoard = "top"

// EntryKey is the key of the i-th entry of a board that is measured: 14 bytes up to ten million.
func EntryKey(i int) string { return fmt.Sprintf("player_%07d", i) }

// RandomScores are scores from 0 to below most, the same ones every time.
func RandomScores(most int64) func(i int) int64 {
	random := rand.New(rand.NewPCG(1, 1))
	return func(int) int64 { return random.Int64N(most) }
}

// FillBoard makes [MeasuredBoard], descending, with n entries: the i-th is [EntryKey] of i with
// the score of i. score is called in the order of i.
func FillBoard(tb testing.TB, boards store.Boards, n int, score func(i int) int64) {
	tb.Helper()
	if _, err := boards.Create(tb.Context(), MeasuredBoard, store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		tb.Fatal(err)
	}
	EachBatch(n, score, func(entries []store.Submission) {
		if _, err := boards.Merge(tb.Context(), MeasuredBoard, store.Batch{Rule: store.Best, Entries: entries}); err != nil {
			tb.Fatal(err)
		}
	})
}

// EachBatch hands on the entries that FillBoard writes, for what is filled beside a board.
func EachBatch(n int, score func(i int) int64, batch func(entries []store.Submission)) {
	for first := 0; first < n; first += store.MaxMerge {
		entries := make([]store.Submission, min(store.MaxMerge, n-first))
		for i := range entries {
			entries[i] = store.Submission{Key: EntryKey(first + i), Score: score(first + i)}
		}
		batch(entries)
	}
}

// Improvements makes batches of random entries of a board of n, each entry once, with random
// scores and ever newer stamps, also than those of an earlier process.
func Improvements(n, size int) func() []store.Submission {
	random := rand.New(rand.NewPCG(2, 2))
	stamp := uint64(time.Now().UnixNano()) //nolint:gosec // it is long after 1970
	return func() []store.Submission {
		stamp++
		first := random.IntN(n)
		entries := make([]store.Submission, size)
		for i := range entries {
			// 7919 is prime to the number of entries: no key comes twice in a batch.
			entries[i] = store.Submission{
				Key: EntryKey((first + i*7919) % n), Score: random.Int64N(1 << 40),
				Stamp: store.Stamp{Epoch: stamp},
			}
		}
		return entries
	}
}

// Measure calls f for as long as the benchmark runs, i counting from 0, and reports how long one
// call took in the middle and at the 99th percentile.
func Measure(b *testing.B, f func(i int) error) {
	b.Helper()
	var latencies []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if err := f(i); err != nil {
			b.Fatal(err)
		}
		latencies = append(latencies, time.Since(start))
	}
	ReportQuantiles(b, latencies, 0.5, 0.99)
}

// ReportQuantiles reports quantiles (0 to 1) of the latencies, which it sorts, as "p<percent>-µs".
func ReportQuantiles(b *testing.B, latencies []time.Duration, quantiles ...float64) {
	b.Helper()
	slices.Sort(latencies)
	for _, q := range quantiles {
		at := latencies[min(len(latencies)-1, int(q*float64(len(latencies))))]
		b.ReportMetric(float64(at.Nanoseconds())/1000, fmt.Sprintf("p%v-µs", q*100))
	}
}

// MeasureRanks measures, on a board that FillBoard made, exact ranks and pages at several depths,
// and fails when a rank is not that of the page.
func MeasureRanks(b *testing.B, boards store.Boards, n int64) {
	b.Helper()
	for _, depth := range []int64{1, n / 1000, n / 10, n / 2, n - 1000} {
		page, err := boards.Page(b.Context(), MeasuredBoard, depth-1, 200, store.Ordinal)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			Measure(b, func(i int) error {
				want := page.Entries[i%len(page.Entries)]
				s, ok, err := boards.Standing(b.Context(), MeasuredBoard, want.Key, store.Ordinal)
				if err == nil && (!ok || s.Rank != want.Rank) {
					return fmt.Errorf("Standing = %v, %v, want rank %d", s, ok, want.Rank)
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("page50/depth=%d", depth), func(b *testing.B) {
			Measure(b, func(int) error {
				_, err := boards.Page(b.Context(), MeasuredBoard, depth-1, 50, store.Ordinal)
				return err
			})
		})
	}
}
