package sqlitestore_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// entriesFlag is the size of the boards that are measured: go test -bench Rank -args -entries=10000000.
var entriesFlag = flag.Int("entries", 1_000_000, "entries of the boards that benchmarks measure")

// fillBoard makes a board with random scores. Beyond two million the scores of later entries are
// worse, which is much faster to build, and cut in the same way.
func fillBoard(b *testing.B, boards store.Boards) {
	b.Helper()
	n, score := *entriesFlag, storetest.RandomScores(1<<40)
	if n > 2_000_000 {
		score = func(i int) int64 { return int64(n - i) }
	}
	storetest.FillBoard(b, boards, n, score)
}

// BenchmarkRank measures exact ranks of anybody on a board of a million, and pages.
func BenchmarkRank(b *testing.B) {
	boards := open(b, b.TempDir(), nil).Boards()
	fillBoard(b, boards)
	storetest.MeasureRanks(b, boards, int64(*entriesFlag))
}

// BenchmarkMerge measures batches of improving scores on a board of a million; BenchmarkRawUpsert
// is the reference.
func BenchmarkMerge(b *testing.B) {
	boards := open(b, b.TempDir(), nil).Boards()
	fillBoard(b, boards)
	for _, size := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			batches := storetest.Improvements(*entriesFlag, size)
			for b.Loop() {
				if _, err := boards.Merge(b.Context(), "top", store.Batch{Rule: store.Last, Entries: batches()}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkRawUpsert is the reference: the same rows into the same table in one transaction a
// batch, by a prepared upsert without reading ("upsert"), and with everything that Merge does
// but the counts: the old rows read, both passes in the order of the keys ("uncounted").
func BenchmarkRawUpsert(b *testing.B) {
	db := rawBoards(b)
	for name, write := range map[string]rawWrite{"upsert": rawUpsert, "uncounted": rawReadWrite} {
		for _, size := range []int{1, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/batch=%d", name, size), func(b *testing.B) {
				batches, sequence := storetest.Improvements(*entriesFlag, size), int64(*entriesFlag)
				for b.Loop() {
					if err := rawBatch(b, db, write, batches(), &sequence); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// rawBoards opens a folder's filled boards.db without this package.
func rawBoards(b *testing.B) *sql.DB {
	b.Helper()
	folder := b.TempDir()
	e, err := sqlitestore.Open(b.Context(), folder, nil)
	if err != nil {
		b.Fatal(err)
	}
	fillBoard(b, e.Boards())
	if err := e.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "boards.db")+
		"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(16000)&_pragma=cache_size(-65536)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

type rawWrite func(b *testing.B, tx *sql.Tx, entries []store.Submission, sequence *int64) error

func rawBatch(b *testing.B, db *sql.DB, write rawWrite, entries []store.Submission, sequence *int64) error {
	b.Helper()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		return err
	}
	if err := write(b, tx, entries, sequence); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func rawUpsert(b *testing.B, tx *sql.Tx, entries []store.Submission, sequence *int64) error {
	b.Helper()
	stmt, err := tx.PrepareContext(b.Context(), `INSERT INTO entries (board, key, place, sequence, epoch, revision)
		VALUES (1, ?, ?, ?, ?, 0) ON CONFLICT (board, key) DO UPDATE SET place = excluded.place,
		sequence = excluded.sequence, epoch = excluded.epoch WHERE excluded.epoch > entries.epoch`)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for _, e := range entries {
		*sequence++
		if _, err := stmt.ExecContext(b.Context(), e.Key, ^e.Score, *sequence, int64(e.Stamp.Epoch)); err != nil {
			return err
		}
	}
	return nil
}

func rawReadWrite(b *testing.B, tx *sql.Tx, entries []store.Submission, sequence *int64) error {
	b.Helper()
	slices.SortFunc(entries, func(x, y store.Submission) int { return strings.Compare(x.Key, y.Key) })
	read, err := tx.PrepareContext(b.Context(), `SELECT place, sequence, epoch, revision FROM entries WHERE board = 1 AND key = ?`)
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	for _, e := range entries {
		var place, seq, epoch, revision int64
		if err := read.QueryRowContext(b.Context(), e.Key).Scan(&place, &seq, &epoch, &revision); err != nil {
			return err
		}
	}
	update, err := tx.PrepareContext(b.Context(), `UPDATE entries SET place = ?, sequence = ?, epoch = ? WHERE board = 1 AND key = ?`)
	if err != nil {
		return err
	}
	defer func() { _ = update.Close() }()
	for _, e := range entries {
		*sequence++
		if _, err := update.ExecContext(b.Context(), ^e.Score, *sequence, int64(e.Stamp.Epoch), e.Key); err != nil {
			return err
		}
	}
	return nil
}
