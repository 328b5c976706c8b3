package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// contender is one way to write a batch of 10,000.
type contender struct {
	name  string
	write func(entries []store.Submission) error
	spent time.Duration
	used  time.Duration // of processors: on a busy machine the better measure
	rows  int
}

// BenchmarkFlush measures windows of 10,000 on boards of a million, the ways taking turns so
// that they share the machine's moods: Merge under its rules, Merge without the counts of
// buckets, and the raw engine through database/sql, by a prepared upsert without reading
// ("upsert") and with all that Merge does but the counts ("uncounted").
func BenchmarkFlush(b *testing.B) {
	ours, bare := open(b, b.TempDir(), nil), open(b, b.TempDir(), nil)
	for _, e := range []*sqlitestore.Engine{ours, bare} {
		fillBoard(b, e.Boards())
	}
	if err := bare.StopSweeper(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := bare.Uncount(b.Context(), "top"); err != nil {
		b.Fatal(err)
	}
	db, sequence := rawBoards(b), int64(*entriesFlag)
	mergeInto := func(e *sqlitestore.Engine, rule store.Rule) func([]store.Submission) error {
		return func(entries []store.Submission) error {
			if rule == store.Best { // better than the same batch under Last
				for i := range entries {
					entries[i].Score++
				}
			}
			_, err := e.Boards().Merge(b.Context(), "top", store.Batch{Rule: rule, Entries: entries})
			return err
		}
	}
	raw := func(write rawWrite) func([]store.Submission) error {
		return func(entries []store.Submission) error { return rawBatch(b, db, write, entries, &sequence) }
	}
	race(b, []*contender{
		{name: "last", write: mergeInto(ours, store.Last)},
		{name: "best", write: mergeInto(ours, store.Best)},
		{name: "last-without-counts", write: mergeInto(bare, store.Last)},
		{name: "raw-upsert", write: raw(rawUpsert)},
		{name: "raw-uncounted", write: raw(rawReadWrite)},
	})
}

// race has every contender write the same batches, one after the other, and reports rows/s.
// The scores grow, so that every row changes under every rule.
func race(b *testing.B, contenders []*contender) {
	b.Helper()
	batches := storetest.Improvements(*entriesFlag, store.MaxMerge)
	for round := 0; b.Loop(); round++ {
		entries := batches()
		for i := range entries {
			entries[i].Score = int64(round+1)<<40 + entries[i].Score
		}
		for i := range contenders {
			c := contenders[(i+round)%len(contenders)]
			start, used := time.Now(), cpuTime()
			if err := c.write(append([]store.Submission(nil), entries...)); err != nil {
				b.Fatal(err)
			}
			c.spent += time.Since(start)
			c.used += cpuTime() - used
			c.rows += len(entries)
		}
	}
	for _, c := range contenders {
		b.ReportMetric(float64(c.rows)/c.spent.Seconds(), c.name+"-rows/s")
		b.ReportMetric(float64(c.used.Nanoseconds())/float64(c.rows)/1000, c.name+"-cpu-µs/row")
	}
}

// BenchmarkRankUnderWrites measures exact ranks in every mode but the dense one while 2,000
// scores a second are written, and the first rank after the folder was opened.
func BenchmarkRankUnderWrites(b *testing.B) {
	folder := b.TempDir()
	e := open(b, folder, nil)
	fillBoard(b, e.Boards())
	writing, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- writeSteadily(writing, e.Boards()) }()
	n := int64(*entriesFlag)
	b.Run("scores-of-one", func(b *testing.B) { // what a snapshot and a look-up cost here
		var latencies []time.Duration
		for i := 0; b.Loop(); i++ {
			start := time.Now()
			if _, err := e.Boards().Scores(b.Context(), "top", storetest.EntryKey(i*7919%*entriesFlag)); err != nil {
				b.Fatal(err)
			}
			latencies = append(latencies, time.Since(start))
		}
		storetest.ReportQuantiles(b, latencies, 0.5, 0.99)
	})
	for _, mode := range []store.RankMode{store.Ordinal, store.Competition} {
		for _, depth := range []int64{1, n / 1000, n / 10, n / 2, n - 1000} {
			b.Run(fmt.Sprintf("%s/depth=%d", mode, depth), func(b *testing.B) {
				measureRanks(b, e.Boards(), depth, mode)
			})
		}
	}
	b.Run("first", func(b *testing.B) {
		var first, second []time.Duration
		for i := 0; b.Loop(); i++ {
			fresh, err := sqlitestore.Open(b.Context(), folder, nil)
			if err != nil {
				b.Fatal(err)
			}
			for _, latencies := range []*[]time.Duration{&first, &second} {
				start := time.Now()
				if _, _, err := fresh.Boards().Standing(b.Context(), "top", storetest.EntryKey(i*7919%*entriesFlag), store.Ordinal); err != nil {
					b.Fatal(err)
				}
				*latencies = append(*latencies, time.Since(start))
			}
			if err := fresh.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		storetest.ReportQuantiles(b, first, 0.5)
		slices.Sort(second)
		b.ReportMetric(float64(second[len(second)/2].Microseconds()), "second-p50-µs")
	})
	stop()
	if err := <-ended; err != nil && writing.Err() == nil {
		b.Fatal(err)
	}
}

// writeSteadily merges 200 random scores ten times a second.
func writeSteadily(ctx context.Context, boards store.Boards) error {
	batches := storetest.Improvements(*entriesFlag, 200)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := boards.Merge(ctx, "top", store.Batch{Rule: store.Last, Entries: batches()}); err != nil {
			return err
		}
	}
}

// measureRanks measures the ranks of entries from a depth on.
func measureRanks(b *testing.B, boards store.Boards, depth int64, mode store.RankMode) {
	b.Helper()
	page, err := boards.Page(b.Context(), "top", depth-1, 200, mode)
	if err != nil {
		b.Fatal(err)
	}
	var latencies []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		_, ok, err := boards.Standing(b.Context(), "top", page.Entries[i%len(page.Entries)].Key, mode)
		latencies = append(latencies, time.Since(start))
		if err != nil || !ok {
			b.Fatalf("Standing = %v, %v", ok, err)
		}
	}
	storetest.ReportQuantiles(b, latencies, 0.5, 0.99)
}

// BenchmarkDense measures dense ranks among few scores and among many, as the store does it,
// and by a scan for distinct scores.
func BenchmarkDense(b *testing.B) {
	folder := b.TempDir()
	e := open(b, folder, nil)
	for _, scores := range []int64{100, 10_000, 1 << 40} {
		board := fmt.Sprintf("scores=%d", scores)
		fillScores(b, e.Boards(), board, scores)
		page, err := e.Boards().Page(b.Context(), board, int64(*entriesFlag)/2, 1, store.Ordinal)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("dense/"+board, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := e.Boards().Standing(b.Context(), board, page.Entries[0].Key, store.Dense); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("distinct/"+board, func(b *testing.B) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "boards.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for b.Loop() {
				var n int64
				err := db.QueryRowContext(b.Context(), `SELECT count(*) FROM (SELECT DISTINCT place FROM entries INDEXED BY standings
					WHERE board = (SELECT id FROM boards WHERE name = ?) AND place < ?)`, board, ^page.Entries[0].Score).Scan(&n)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fillScores makes a board whose scores are among so many.
func fillScores(b *testing.B, boards store.Boards, board string, scores int64) {
	b.Helper()
	createBoard(b, boards, board)
	storetest.EachBatch(*entriesFlag, storetest.RandomScores(scores), func(entries []store.Submission) {
		if _, err := boards.Merge(b.Context(), board, store.Batch{Rule: store.Best, Entries: entries}); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkCheck measures a Check, and a repair of a board without counts.
func BenchmarkCheck(b *testing.B) {
	e := open(b, b.TempDir(), nil)
	fillBoard(b, e.Boards())
	for _, c := range []struct {
		name   string
		damage string
	}{{"healthy", "SELECT 1"}, {"repair", "DELETE FROM shelves"}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := e.DoBoards(b.Context(), c.damage); err != nil {
					b.Fatal(err)
				}
				check, err := e.Boards().Check(b.Context(), "top", true)
				if err != nil || check.Entries != int64(*entriesFlag) {
					b.Fatalf("Check = %+v, %v", check, err)
				}
			}
		})
	}
}

// BenchmarkWalk measures what a walk costs its caller, a page of 1,000, and what it costs the
// writers: batches that are logged, and such that are not because their entries already are.
func BenchmarkWalk(b *testing.B) {
	e := open(b, b.TempDir(), nil)
	fillBoard(b, e.Boards())
	pages := func(b *testing.B) {
		cursor, n := store.Cursor{}, 0
		for b.Loop() {
			page, next, err := e.Boards().Walk(b.Context(), "top", cursor, store.MaxPage)
			if err != nil || len(page.Entries) == 0 {
				b.Fatalf("Walk = %d entries, %v", len(page.Entries), err)
			}
			if cursor, n = next, n+len(page.Entries); next.Done() {
				cursor = store.Cursor{}
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
	}
	b.Run("unchanged", pages)
	batches := storetest.Improvements(*entriesFlag, store.MaxMerge)
	merges := func(fresh bool) func(b *testing.B) {
		return func(b *testing.B) {
			entries := batches()
			for b.Loop() {
				if fresh {
					entries = batches()
				}
				for i := range entries {
					entries[i].Stamp.Epoch++
					entries[i].Score++
				}
				if _, err := e.Boards().Merge(b.Context(), "top", store.Batch{Rule: store.Last, Entries: entries}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(entries))/b.Elapsed().Seconds(), "rows/s")
		}
	}
	b.Run("merge/logged", merges(true))
	b.Run("merge/logged-before", merges(false))
	b.Run("changed", pages)
}
