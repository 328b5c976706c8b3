package pgstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// damages are ways in which the counts of the board may be wrong.
func damages() map[string]string {
	return map[string]string{
		"all shelves missing":         `DELETE FROM shelves`,
		"the first shelf missing":     `DELETE FROM shelves WHERE place = -9223372036854775808`,
		"every other shelf missing":   `DELETE FROM shelves WHERE (SELECT count(*) FROM shelves s WHERE (s.place, s.sequence) <= (shelves.place, shelves.sequence)) % 2 = 0`,
		"a shelf counts more":         `UPDATE shelves SET entries = entries + 5 WHERE place > -9223372036854775808`,
		"shelves count negative":      `UPDATE shelves SET entries = -7`,
		"empty buckets":               `UPDATE shelves SET buckets = ''`,
		"garbage of the right length": `UPDATE shelves SET buckets = decode(repeat('9f', length(buckets)), 'hex')`,
		"counts of buckets huge":      `UPDATE shelves SET buckets = substring(buckets FROM 1 FOR 16) || '\xffffffff'::bytea || substring(buckets FROM 21)`,
		"a shelf twice":               `INSERT INTO shelves SELECT board, place, sequence + 1, entries, buckets FROM shelves`,
		"the board counts more":       `UPDATE boards SET count = count + 100`,
		"hidden keys miscounted":      `UPDATE boards SET hidden = 9000`,
		"the sequence went back":      `UPDATE boards SET sequence = 10`,
		"a hidden key is ranked":      `INSERT INTO hidden (board, key, scored) SELECT board, key, false FROM entries LIMIT 3`,
		"entries without counts":      `INSERT INTO entries SELECT board, 'copy-' || key, place, sequence + 100000 FROM entries LIMIT 500; UPDATE boards SET sequence = sequence + 200000`,
		"entries gone":                `DELETE FROM entries WHERE sequence % 3 = 0`,
		"counts that were being made": `UPDATE boards SET counted_place = (SELECT place FROM shelves ORDER BY place DESC LIMIT 1), counted_sequence = 0`,
	}
}

// damaged makes a board with small buckets whose counts are wrong.
func damaged(t *testing.T, sql string) *ground {
	t.Helper()
	g := newGround(t, 8, 8)
	g.merge(t, "player", 1000, 300)
	if _, err := g.boards.Hide(t.Context(), "top", true, "player-1", "player-2", "nobody"); err != nil {
		t.Fatal(err)
	}
	g.do(t, sql)
	return g
}

// Check finds every kind of damage and changes nothing by itself; repaired, all ranks equal a
// full sort again, and what was hidden still is.
func TestDamageIsFoundAndRepaired(t *testing.T) {
	for name, sql := range damages() {
		t.Run(name, func(t *testing.T) {
			g := damaged(t, sql)
			found, err := g.boards.Check(t.Context(), "top", false)
			if err != nil || len(found.Problems) == 0 || len(found.Problems) > 100 || found.Repaired {
				t.Fatalf("Check = %+v, %v", found, err)
			}
			again, err := g.boards.Check(t.Context(), "top", true)
			if d := cmp.Diff(found.Problems, again.Problems); d != "" || err != nil || !again.Repaired {
				t.Fatalf("the second Check answers %v, %v (-first +second):\n%s", again.Repaired, err, d)
			}
			g.wantFullSort(t)
			if _, ok, err := g.boards.Standing(t.Context(), "top", "player-1", store.Ordinal); ok || err != nil {
				t.Fatalf("a hidden key has a rank, %v", err)
			}
			g.merge(t, "late", 200, 300)
			g.wantFullSort(t)
		})
	}
}

// What meets damaged counts says so and is not done; nothing panics.
func TestDamageIsTold(t *testing.T) {
	for _, name := range []string{"empty buckets", "all shelves missing", "garbage of the right length", "the first shelf missing"} {
		t.Run(name, func(t *testing.T) {
			g := damaged(t, damages()[name])
			_, page := g.boards.Page(t.Context(), "top", 500, 10, store.Competition)
			_, _, standing := g.boards.Standing(t.Context(), "top", "player-5", store.Dense)
			_, around := g.boards.Around(t.Context(), "top", "player-5", 3, store.Ordinal)
			_, merge := g.boards.Merge(t.Context(), "top", store.Batch{
				Rule: store.Best, Entries: []store.Submission{{Key: "player-5", Score: 1_000_000}},
			})
			_, remove := g.boards.Remove(t.Context(), "top", "player-6")
			for call, err := range map[string]error{"Page": page, "Standing": standing, "Around": around, "Merge": merge, "Remove": remove} {
				if !tellsOfDamage(err) {
					t.Errorf("%s = %v", call, err)
				}
			}
			if _, err := g.boards.Scores(t.Context(), "top", "player-5"); err != nil {
				t.Errorf("Scores = %v: they need no counts", err)
			}
		})
	}
}

// Counts are made anew while others write and read: nothing fails from the moment at which the
// repair begins, and afterwards all ranks equal a full sort.
func TestRepairAmongWriters(t *testing.T) {
	g := damaged(t, damages()["counts of buckets huge"])
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 3 {
		boards := g.open(t).Boards()
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("writer%d-%d", w, n%300)
				_, merge := boards.Merge(t.Context(), "top", store.Batch{
					Rule: store.Last, Entries: []store.Submission{{Key: key, Score: int64(n * 7919 % 300), Stamp: store.Stamp{Epoch: 1, Revision: uint64(n)}}},
				})
				_, _, standing := boards.Standing(t.Context(), "top", key, store.Competition)
				_, page := boards.Page(t.Context(), "top", 400, 20, store.Ordinal)
				for _, err := range []error{merge, standing, page} {
					if !tellsOfDamage(err) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for range 3 {
		check, err := g.boards.Check(t.Context(), "top", true)
		if err != nil || len(check.Problems) > 0 && !check.Repaired {
			t.Errorf("Check = %+v, %v", check, err)
		}
		g.do(t, `UPDATE boards SET counted_place = -9223372036854775808, counted_sequence = 0; DELETE FROM shelves`)
	}
	close(stop)
	writers.Wait()
	if check, err := g.boards.Check(t.Context(), "top", true); err != nil || len(check.Problems) > 0 && !check.Repaired {
		t.Fatalf("Check = %+v, %v", check, err)
	}
	g.wantFullSort(t)
}

// A repair needs nothing that a pooler does not pass on.
func TestRepairThroughPooler(t *testing.T) {
	g := damaged(t, damages()["every other shelf missing"])
	g.boards = open(t, enginetest.PgBouncer(t, enginetest.Postgres(t)).URL(g.schema), g.options).Boards()
	if check, err := g.boards.Check(t.Context(), "top", true); err != nil || !check.Repaired {
		t.Fatalf("Check = %+v, %v", check, err)
	}
	g.wantFullSort(t)
}

// Counts that somebody began to make anew and did not finish are finished by whoever opens the
// schema next; until then ranks are right.
func TestRecountGoesOnAfterACrash(t *testing.T) {
	g := damaged(t, `UPDATE boards SET counted_place = -9223372036854775808, counted_sequence = 0; DELETE FROM shelves`)
	page, err := g.boards.Page(t.Context(), "top", 700, 5, store.Ordinal)
	if err != nil || len(page.Entries) != 5 {
		t.Fatalf("Page = %+v, %v", page, err)
	}
	s, ok, err := g.boards.Standing(t.Context(), "top", page.Entries[3].Key, store.Ordinal)
	if err != nil || !ok || s.Rank != 704 {
		t.Fatalf("Standing = %+v, %v, %v, want rank 704", s, ok, err)
	}
	g.merge(t, "meanwhile", 100, 300)
	g.merge(t, "player", 999, 300) // many move
	g.open(t)
	until(t, "the counts to be whole", func() bool {
		return g.number(t, `SELECT count(*) FROM boards WHERE counted_place IS NOT NULL`) == 0
	})
	g.wantFullSort(t)
}
