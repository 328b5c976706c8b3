package pgstore_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// boardEntries is the size of the boards that are measured:
// go test -bench Board -run '^$' ./store/pgstore -args -entries=10000000.
var boardEntries = flag.Int("entries", 1_000_000, "entries of the boards that benchmarks measure")

func entryKey(i int) string { return fmt.Sprintf("player_%07d", i) }

// fillBoard makes a board of n entries with random scores.
func fillBoard(b *testing.B, boards store.Boards, n int) {
	b.Helper()
	if _, err := boards.Create(b.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for first := 0; first < n; first += store.MaxMerge {
		entries := make([]store.Submission, min(store.MaxMerge, n-first))
		for i := range entries {
			entries[i] = store.Submission{Key: entryKey(first + i), Score: random.Int64N(1 << 40)}
		}
		if _, err := boards.Merge(b.Context(), "top", store.Batch{Rule: store.Best, Entries: entries}); err != nil {
			b.Fatal(err)
		}
	}
}

func reportQuantiles(b *testing.B, latencies []time.Duration) {
	b.Helper()
	slices.Sort(latencies)
	for name, q := range map[string]float64{"p50-µs": 0.5, "p99-µs": 0.99} {
		b.ReportMetric(float64(latencies[int(q*float64(len(latencies)-1))].Nanoseconds())/1000, name)
	}
}

// measured calls f for as long as the benchmark runs.
func measured(b *testing.B, f func(i int) error) {
	b.Helper()
	var latencies []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if err := f(i); err != nil {
			b.Fatal(err)
		}
		latencies = append(latencies, time.Since(start))
	}
	reportQuantiles(b, latencies)
}

// BenchmarkBoard measures, on a board of a million: exact ranks and pages at several depths, the
// round trip of a statement that does nothing, batches of improving scores, and the same upserts
// into a table with the same indexes without anything around them.
func BenchmarkBoard(b *testing.B) {
	url := enginetest.Postgres(b).URL(enginetest.Schema(b))
	boards := open(b, url, nil).Boards()
	fillBoard(b, boards, *boardEntries)
	raw := connectRaw(b, url)
	b.Run("rank", func(b *testing.B) { benchmarkRanks(b, boards, raw) })
	for _, size := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("merge/batch=%d", size), func(b *testing.B) {
			batches := improvements(size)
			measured(b, func(int) error {
				_, err := boards.Merge(b.Context(), "top", store.Batch{Rule: store.Last, Entries: batches()})
				return err
			})
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
		b.Run(fmt.Sprintf("raw/batch=%d", size), func(b *testing.B) {
			batches := improvements(size)
			sequence := int64(0)
			measured(b, func(int) error { return rawUpsert(b.Context(), raw, batches(), &sequence) })
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	b.Run("rank after merges", func(b *testing.B) { benchmarkRanks(b, boards, raw) })
}

func benchmarkRanks(b *testing.B, boards store.Boards, raw *pgx.Conn) {
	b.Helper()
	n := int64(*boardEntries)
	b.Run("round trip", func(b *testing.B) {
		measured(b, func(int) error {
			var one int
			return raw.QueryRow(b.Context(), "SELECT 1").Scan(&one)
		})
	})
	for _, depth := range []int64{1, n / 1000, n / 10, n / 2, n - 1000} {
		page, err := boards.Page(b.Context(), "top", depth-1, 200, store.Ordinal)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			measured(b, func(i int) error {
				want := page.Entries[i%len(page.Entries)]
				s, ok, err := boards.Standing(b.Context(), "top", want.Key, store.Ordinal)
				if err == nil && (!ok || s.Rank != want.Rank) {
					return fmt.Errorf("Standing = %v, %v, want rank %d", s, ok, want.Rank)
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("page50/depth=%d", depth), func(b *testing.B) {
			measured(b, func(int) error {
				_, err := boards.Page(b.Context(), "top", depth-1, 50, store.Ordinal)
				return err
			})
		})
	}
}

// improvements makes batches of random keys and scores, with ever newer stamps.
func improvements(size int) func() []store.Submission {
	random := rand.New(rand.NewPCG(2, 2))
	stamp := uint64(time.Now().UnixNano())
	return func() []store.Submission {
		stamp++
		first := random.IntN(*boardEntries)
		entries := make([]store.Submission, size)
		for i := range entries {
			// 7919 is prime to the number of entries: no key comes twice in a batch.
			entries[i] = store.Submission{
				Key: entryKey((first + i*7919) % *boardEntries), Score: random.Int64N(1 << 40),
				Stamp: store.Stamp{Epoch: stamp},
			}
		}
		return entries
	}
}

// connectRaw makes a table like that of entries, with as many rows.
func connectRaw(b *testing.B, url string) *pgx.Conn {
	b.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	delete(config.RuntimeParams, "schema")
	c, err := pgx.ConnectConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(context.WithoutCancel(b.Context())) })
	for _, sql := range []string{
		`DROP TABLE IF EXISTS public.raw_entries`,
		`CREATE TABLE public.raw_entries (board bigint NOT NULL, key text COLLATE "C" NOT NULL, place bigint NOT NULL,
			sequence bigint NOT NULL, epoch bigint, revision bigint, meta bytea, PRIMARY KEY (board, key))`,
		`CREATE INDEX raw_standings ON public.raw_entries (board, place, sequence)`,
	} {
		if _, err := c.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	all := rand.New(rand.NewPCG(1, 1))
	sequence := int64(0)
	for first := 0; first < *boardEntries; first += store.MaxMerge {
		entries := make([]store.Submission, min(store.MaxMerge, *boardEntries-first))
		for i := range entries {
			entries[i] = store.Submission{Key: entryKey(first + i), Score: all.Int64N(1 << 40)}
		}
		if err := rawUpsert(b.Context(), c, entries, &sequence); err != nil {
			b.Fatal(err)
		}
	}
	return c
}

// rawUpsert writes the rows of a batch in a transaction of one statement.
func rawUpsert(ctx context.Context, c *pgx.Conn, entries []store.Submission, sequence *int64) error {
	slices.SortFunc(entries, func(a, b store.Submission) int { return compareKeys(a.Key, b.Key) })
	n := len(entries)
	keys, places, sequences := make([]string, n), make([]int64, n), make([]int64, n)
	epochs, revisions := make([]int64, n), make([]int64, n)
	for i, e := range entries {
		*sequence++
		keys[i], places[i], sequences[i], epochs[i], revisions[i] = e.Key, ^e.Score, *sequence, int64(e.Stamp.Epoch), int64(e.Stamp.Revision)
	}
	_, err := c.Exec(ctx, `INSERT INTO public.raw_entries (board, key, place, sequence, epoch, revision)
		SELECT 1, u.* FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u
		ON CONFLICT (board, key) DO UPDATE SET place = excluded.place, sequence = excluded.sequence,
			epoch = excluded.epoch, revision = excluded.revision`, keys, places, sequences, epochs, revisions)
	return err
}

func compareKeys(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}
