package pgstore_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// boardEntries is the size of the boards that are measured:
// go test -bench Board -run '^$' ./store/pgstore -args -entries=10000000.
var boardEntries = flag.Int("entries", 1_000_000, "entries of the boards that benchmarks measure")

// BenchmarkBoard measures, on a board of a million: exact ranks and pages at several depths, the
// round trip of a statement that does nothing, batches of improving scores, and the same upserts
// into a table with the same indexes without anything around them.
func BenchmarkBoard(b *testing.B) {
	url := enginetest.Postgres(b).URL(enginetest.Schema(b))
	boards := open(b, url, nil).Boards()
	storetest.FillBoard(b, boards, *boardEntries, storetest.RandomScores(1<<40))
	raw := connectRaw(b, url)
	b.Run("rank", func(b *testing.B) { benchmarkRanks(b, boards, raw) })
	for _, size := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("merge/batch=%d", size), func(b *testing.B) {
			batches := storetest.Improvements(*boardEntries, size)
			storetest.Measure(b, func(int) error {
				_, err := boards.Merge(b.Context(), storetest.MeasuredBoard, store.Batch{Rule: store.Last, Entries: batches()})
				return err
			})
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
		b.Run(fmt.Sprintf("raw/batch=%d", size), func(b *testing.B) {
			batches := storetest.Improvements(*boardEntries, size)
			sequence := int64(0)
			storetest.Measure(b, func(int) error { return rawUpsert(b.Context(), raw, batches(), &sequence) })
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	b.Run("rank after merges", func(b *testing.B) { benchmarkRanks(b, boards, raw) })
}

func benchmarkRanks(b *testing.B, boards store.Boards, raw *pgx.Conn) {
	b.Helper()
	b.Run("round trip", func(b *testing.B) {
		storetest.Measure(b, func(int) error {
			var one int
			return raw.QueryRow(b.Context(), "SELECT 1").Scan(&one)
		})
	})
	storetest.MeasureRanks(b, boards, int64(*boardEntries))
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
	sequence := int64(0)
	storetest.EachBatch(*boardEntries, storetest.RandomScores(1<<40), func(entries []store.Submission) {
		if err := rawUpsert(b.Context(), c, entries, &sequence); err != nil {
			b.Fatal(err)
		}
	})
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
