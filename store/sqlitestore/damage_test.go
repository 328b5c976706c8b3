package sqlitestore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// damages are ways in which the counts of the board 1 may be wrong.
func damages() map[string]string {
	return map[string]string{
		"all shelves missing":         `DELETE FROM shelves`,
		"the first shelf missing":     `DELETE FROM shelves WHERE place = -9223372036854775808`,
		"every other shelf missing":   `DELETE FROM shelves WHERE (SELECT count(*) FROM shelves s WHERE (s.place, s.sequence) <= (shelves.place, shelves.sequence)) % 2 = 0`,
		"a shelf counts more":         `UPDATE shelves SET entries = entries + 5 WHERE place > -9223372036854775808`,
		"shelves count negative":      `UPDATE shelves SET entries = -7`,
		"empty buckets":               `UPDATE shelves SET buckets = x''`,
		"garbage buckets":             `UPDATE shelves SET buckets = randomblob(33)`,
		"garbage of the right length": `UPDATE shelves SET buckets = randomblob(length(buckets))`,
		"counts of buckets wrong":     `UPDATE shelves SET buckets = CAST(substr(buckets, 1, 16) || x'000003e8' || substr(buckets, 21) AS BLOB)`,
		"counts of buckets huge":      `UPDATE shelves SET buckets = CAST(substr(buckets, 1, 16) || x'ffffffff' || substr(buckets, 21) AS BLOB)`,
		"buckets of shelves mixed up": `UPDATE shelves SET buckets = (SELECT buckets FROM shelves ORDER BY place DESC LIMIT 1)`,
		"a shelf twice":               `INSERT INTO shelves SELECT board, place, sequence + 1, entries, buckets FROM shelves`,
		"shelves moved":               `UPDATE shelves SET place = place + 3 WHERE place > -9223372036854775808`,
		"the board counts more":       `UPDATE boards SET count = count + 100`,
		"the board counts negative":   `UPDATE boards SET count = -100`,
		"hidden keys miscounted":      `UPDATE boards SET hidden = 9000`,
		"the sequence went back":      `UPDATE boards SET sequence = 10`,
		"a hidden key is ranked":      `INSERT INTO hidden SELECT board, key, 0, 0, 0, 0, 0, NULL FROM entries LIMIT 3`,
		"entries without counts":      `INSERT INTO entries SELECT board, 'copy-' || key, place, sequence + 100000, 0, 0, NULL FROM entries LIMIT 500; UPDATE boards SET sequence = sequence + 200000`,
		"entries gone":                `DELETE FROM entries WHERE sequence % 3 = 0`,
		"counts that were being made": `UPDATE boards SET counted_place = (SELECT place FROM shelves ORDER BY place DESC LIMIT 1), counted_sequence = 0`,
	}
}

// damaged makes a board with small buckets whose counts are wrong.
func damaged(t *testing.T, sql string) (e *sqlitestore.Engine, folder string) {
	t.Helper()
	folder = t.TempDir()
	e = open(t, folder, nil)
	e.SizeBoards(8, 8)
	createBoard(t, e.Boards(), "top")
	merge(t, e, "player", 1000, 300)
	if _, err := e.Boards().Hide(t.Context(), "top", true, "player-1", "player-2", "nobody"); err != nil {
		t.Fatal(err)
	}
	if err := e.DoBoards(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return e, folder
}

// merge gives n keys random scores.
func merge(t testing.TB, e *sqlitestore.Engine, prefix string, n int, scores int64) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, uint64(n)))
	batch := store.Batch{Rule: store.Best}
	for i := range n {
		batch.Entries = append(batch.Entries, store.Submission{Key: fmt.Sprintf("%s-%d", prefix, i), Score: random.Int64N(scores)})
	}
	if _, err := e.Boards().Merge(t.Context(), "top", batch); err != nil {
		t.Fatal(err)
	}
}

// wantFullSort compares every rank with a full sort, and every count with the entries.
func wantFullSort(t *testing.T, e *sqlitestore.Engine, board string) {
	t.Helper()
	sorted, err := e.SortedKeys(t.Context(), board)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.CheckCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for offset := 0; ; offset += store.MaxPage {
		page, err := e.Boards().Page(t.Context(), board, int64(offset), store.MaxPage, store.Ordinal)
		if err != nil || page.Total != int64(len(sorted)) {
			t.Fatalf("Page at %d: %v, total %d, there are %d", offset, err, page.Total, len(sorted))
		}
		for _, s := range page.Entries {
			keys = append(keys, s.Key)
		}
		if len(page.Entries) == 0 {
			break
		}
	}
	if !slices.Equal(sorted, keys) {
		t.Fatalf("pages against a full sort (-want +got):\n%s", cmp.Diff(sorted, keys))
	}
	for i := 0; i < len(sorted); i += max(1, len(sorted)/100) {
		s, ok, err := e.Boards().Standing(t.Context(), board, sorted[i], store.Ordinal)
		if err != nil || !ok || s.Rank != int64(i)+1 {
			t.Fatalf("Standing(%s) = %+v, %v, %v, want rank %d", sorted[i], s, ok, err, i+1)
		}
	}
}

// Check finds every kind of damage and changes nothing by itself; repaired, all ranks equal a
// full sort again, and what was hidden still is.
func TestDamageIsFoundAndRepaired(t *testing.T) {
	for name, sql := range damages() {
		t.Run(name, func(t *testing.T) {
			e, _ := damaged(t, sql)
			found, err := e.Boards().Check(t.Context(), "top", false)
			if err != nil || len(found.Problems) == 0 || len(found.Problems) > 100 || found.Repaired {
				t.Fatalf("Check = %+v, %v", found, err)
			}
			again, err := e.Boards().Check(t.Context(), "top", true)
			if d := cmp.Diff(found.Problems, again.Problems); d != "" || err != nil || !again.Repaired {
				t.Fatalf("the second Check answers %v, %v (-first +second):\n%s", again.Repaired, err, d)
			}
			healthy, err := e.Boards().Check(t.Context(), "top", true)
			if err != nil || len(healthy.Problems) != 0 || healthy.Repaired {
				t.Fatalf("after the repair Check = %+v, %v", healthy, err)
			}
			wantFullSort(t, e, "top")
			if _, ok, err := e.Boards().Standing(t.Context(), "top", "player-1", store.Ordinal); ok || err != nil {
				t.Fatalf("a hidden key has a rank, %v", err)
			}
			merge(t, e, "late", 200, 300)
			wantFullSort(t, e, "top")
		})
	}
}

// Counts are repaired while others write and read: nothing fails from the moment at which the
// repair begins, and afterwards all ranks equal a full sort.
func TestRepairAmongWriters(t *testing.T) {
	for _, name := range []string{"all shelves missing", "garbage buckets", "counts of buckets wrong", "a shelf twice"} {
		t.Run(name, func(t *testing.T) {
			e, folder := damaged(t, damages()[name])
			e.SizeBoards(16, 8)
			stop := make(chan struct{})
			var group sync.WaitGroup
			for w := range 2 {
				other := open(t, folder, nil)
				other.SizeBoards(8, 8)
				group.Go(func() { writeUntil(t, other, fmt.Sprintf("writer%d", w), stop) })
			}
			var other *child
			for round := range 3 { // repairs while others write
				check, err := e.Boards().Check(t.Context(), "top", true)
				if err != nil || len(check.Problems) > 0 && !check.Repaired {
					t.Fatalf("Check = %+v, %v", check, err)
				}
				if round == 0 {
					other = startChild(t, "merge", folder, "child")
					hear(t, other, make(map[string]store.Version))
				}
				if err := e.Uncount(t.Context(), "top"); err != nil {
					t.Fatal(err)
				}
			}
			close(stop)
			group.Wait()
			other.kill()
			// Whoever opened the folder may have ended it.
			if check, err := e.Boards().Check(t.Context(), "top", true); err != nil || len(check.Problems) > 0 && !check.Repaired {
				t.Fatalf("Check = %+v, %v", check, err)
			}
			wantFullSort(t, e, "top")
		})
	}
}

// writeUntil writes and reads until stop is closed. Errors that tell of the damage are fine.
func writeUntil(t *testing.T, e *sqlitestore.Engine, name string, stop <-chan struct{}) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, uint64(len(name))))
	told := func(err error) bool {
		return err == nil || errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "board top") &&
			strings.Contains(err.Error(), "shoal store check --repair")
	}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		batch := store.Batch{Rule: store.Best}
		for i := range 20 {
			batch.Entries = append(batch.Entries, store.Submission{Key: fmt.Sprintf("%s-%d", name, (n*7+i)%200), Score: random.Int64N(1000)})
		}
		_, err := e.Boards().Merge(t.Context(), "top", batch)
		_, other := e.Boards().Remove(t.Context(), "top", batch.Entries[0].Key)
		_, _, standing := e.Boards().Standing(t.Context(), "top", batch.Entries[1].Key, store.Competition)
		for _, err := range []error{err, other, standing} {
			if !told(err) {
				t.Errorf("%v", err)
				return
			}
		}
	}
}

// A repair that a crash interrupts leaves every rank right, only slower; whoever opens the
// folder next ends it.
func TestRepairInterrupted(t *testing.T) {
	e, folder := damaged(t, "SELECT 1")
	if err := e.StopSweeper(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Uncount(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	for step := range 12 { // some 120 buckets of 8, on shelves of 8
		wantRanks(t, e)
		merge(t, e, fmt.Sprintf("step%d", step), 60, 300)
		wantRanks(t, e)
		if err := e.CountOn(t.Context(), "top"); err != nil {
			t.Fatal(err)
		}
	}
	found, err := e.Boards().Check(t.Context(), "top", false)
	if err != nil || len(found.Problems) != 1 {
		t.Fatalf("Check = %+v, %v", found, err)
	}
	next := open(t, folder, nil)
	waitFor(t, "the counts to be whole", func() bool {
		check, err := next.Boards().Check(t.Context(), "top", false)
		return err == nil && len(check.Problems) == 0
	})
	wantFullSort(t, next, "top")
}

// wantRanks compares some ranks and a page with a full sort; the counts may not be whole.
func wantRanks(t *testing.T, e *sqlitestore.Engine) {
	t.Helper()
	sorted, err := e.SortedKeys(t.Context(), "top")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(sorted); i += 97 {
		s, ok, err := e.Boards().Standing(t.Context(), "top", sorted[i], store.Ordinal)
		if err != nil || !ok || s.Rank != int64(i)+1 {
			t.Fatalf("Standing(%s) = %+v, %v, %v, want rank %d", sorted[i], s, ok, err, i+1)
		}
		page, err := e.Boards().Page(t.Context(), "top", int64(i), 3, store.Ordinal)
		if err != nil || page.Entries[0].Key != sorted[i] {
			t.Fatalf("Page at %d = %+v, %v, want %s", i, page, err, sorted[i])
		}
	}
}

// Counts that cannot be read are an error of every call that needs them, which names the
// board and says what to do; calls that need none go on.
func TestDamageIsNamed(t *testing.T) {
	e, _ := damaged(t, damages()["empty buckets"])
	boards := e.Boards()
	_, page := boards.Page(t.Context(), "top", 5, 10, store.Ordinal)
	_, _, standing := boards.Standing(t.Context(), "top", "player-5", store.Ordinal)
	_, _, dense := boards.Standing(t.Context(), "top", "player-5", store.Dense)
	_, around := boards.Around(t.Context(), "top", "player-5", 3, store.Competition)
	_, removed := boards.Remove(t.Context(), "top", "player-5")
	_, hidden := boards.Hide(t.Context(), "top", true, "player-5")
	_, merged := boards.Merge(t.Context(), "top", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "new", Score: 1}}})
	for what, err := range map[string]error{
		"Page": page, "Standing": standing, "dense Standing": dense, "Around": around,
		"Remove": removed, "Hide": hidden, "Merge": merged,
	} {
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "board top") ||
			!strings.Contains(err.Error(), "`shoal store check --repair`") {
			t.Errorf("%s = %v", what, err)
		}
	}
	_, scores := boards.Scores(t.Context(), "top", "player-5")
	_, _, walked := boards.Walk(t.Context(), "top", store.Cursor{}, 100)
	if err := errors.Join(scores, walked); err != nil {
		t.Error(err)
	}
}

// What is bound to a sequence stays right: a repair that corrects the numbers of the board
// raises it, when it begins and when it ends, and ends the walks that began with wrong ones.
func TestRepairRaisesTheSequence(t *testing.T) {
	for _, name := range []string{"the board counts more", "the board counts negative", "hidden keys miscounted"} {
		t.Run(name, func(t *testing.T) {
			e, _ := damaged(t, damages()[name])
			if err := e.StopSweeper(t.Context()); err != nil {
				t.Fatal(err)
			}
			seen := make(map[uint64]store.BoardInfo)
			look := func() store.BoardInfo {
				t.Helper()
				info, err := e.Boards().Info(t.Context(), "top")
				if err != nil {
					t.Fatal(err)
				}
				if before, ok := seen[info.Sequence]; ok && before != info {
					t.Fatalf("at sequence %d the board was %+v, and is %+v", info.Sequence, before, info)
				}
				seen[info.Sequence] = info
				return info
			}
			wrong := look()
			if err := e.Uncount(t.Context(), "top"); err != nil {
				t.Fatal(err)
			}
			look()
			_, walk, err := e.Boards().Walk(t.Context(), "top", store.Cursor{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				if err := e.CountOn(t.Context(), "top"); err != nil {
					t.Fatal(err)
				}
				look()
			}
			if right := look(); right.Count == wrong.Count && right.Hidden == wrong.Hidden {
				t.Fatalf("nothing was repaired: %+v", right)
			}
			if walk.Total != look().Count {
				if _, _, err := e.Boards().Walk(t.Context(), "top", walk, 10); !errors.Is(err, store.ErrCursor) && !walk.Done() {
					t.Fatalf("a walk of %d entries goes on: %v", walk.Total, err)
				}
			}
		})
	}
}

// A board that gives sequences again, which entries have, gives none of them twice from the
// moment at which its repair begins: everybody has a rank of their own.
func TestRepairGivesNoSequenceTwice(t *testing.T) {
	e, _ := damaged(t, damages()["the sequence went back"])
	if err := e.StopSweeper(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Uncount(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	merge(t, e, "late", 500, 300)
	for range 40 {
		if err := e.CountOn(t.Context(), "top"); err != nil {
			t.Fatal(err)
		}
	}
	found, err := e.Boards().Scores(t.Context(), "top", keysFrom(t, e)...)
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[uint64]string)
	for key, entry := range found {
		if other, ok := of[entry.Sequence]; ok {
			t.Fatalf("%s and %s have sequence %d", key, other, entry.Sequence)
		}
		of[entry.Sequence] = key
	}
	wantFullSort(t, e, "top")
}

func keysFrom(t *testing.T, e *sqlitestore.Engine) []string {
	t.Helper()
	keys, err := e.SortedKeys(t.Context(), "top")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
