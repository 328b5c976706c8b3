package pgstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// leftovers is how many rows belong to no board that has a name.
func (g *ground) leftovers(t *testing.T) int64 {
	t.Helper()
	sql := `SELECT (SELECT count(*) FROM boards WHERE name IS NULL)`
	for _, table := range []string{"entries", "hidden", "moved", "shelves", "sources"} {
		sql += fmt.Sprintf(` + (SELECT count(*) FROM %s WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL))`, table)
	}
	return g.number(t, sql)
}

// fillAll gives the board everything that a board can have.
func (g *ground) fillAll(t *testing.T) {
	t.Helper()
	g.merge(t, "player", 7000, 1000)
	if _, err := g.boards.Merge(t.Context(), "top", sumOf("source", 1, 5)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.boards.Walk(t.Context(), "top", store.Cursor{}, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := g.boards.Hide(t.Context(), "top", true, "player-1", "nobody"); err != nil {
		t.Fatal(err)
	}
}

// A dropped board is gone at once, its rows a little later, and one of the same name is empty.
//
// case B6.
func TestDropSweeps(t *testing.T) {
	g := newGround(t, 50, 8)
	for range 2 {
		g.fillAll(t)
		if err := g.boards.Drop(t.Context(), "top"); err != nil {
			t.Fatal(err)
		}
		if _, err := g.boards.Page(t.Context(), "top", 0, 10, store.Ordinal); !errors.Is(err, store.ErrNoBoard) {
			t.Fatalf("Page = %v, want no board", err)
		}
		if _, err := g.boards.Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "again"}); err != nil {
			t.Fatal(err)
		}
		if page, err := g.boards.Page(t.Context(), "top", 0, 10, store.Ordinal); err != nil || page.Total != 0 || len(page.Entries) != 0 {
			t.Fatalf("a new board holds %+v, %v", page, err)
		}
	}
	g.merge(t, "kept", 100, 10)
	until(t, "the rows to go", func() bool { return g.leftovers(t) == 0 })
	g.wantFullSort(t)
}

// What a crash has left of a dropped board goes when somebody opens the schema.
func TestSweepGoesOnAfterACrash(t *testing.T) {
	g := newGround(t, 50, 8)
	g.fillAll(t)
	g.do(t, `UPDATE boards SET name = NULL`)
	if g.leftovers(t) == 0 {
		t.Fatal("nothing is left to sweep")
	}
	g.open(t)
	until(t, "the rows to go", func() bool { return g.leftovers(t) == 0 })
}

// A log that nobody walks ends, and its rows go, though nobody writes.
func TestEndedLogsAreSwept(t *testing.T) {
	g := newGround(t, 50, 8)
	g.merge(t, "player", 300, 1000)
	page, cursor, err := g.boards.Walk(t.Context(), "top", store.Cursor{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.boards.Remove(t.Context(), "top", page.Entries[0].Key, page.Entries[1].Key); err != nil {
		t.Fatal(err)
	}
	if n := g.number(t, `SELECT count(*) FROM moved`); n != 2 {
		t.Fatalf("%d rows in the log, want 2", n)
	}
	g.do(t, fmt.Sprintf(`UPDATE boards SET log_called = log_called - %d`, standings.LogFor.Microseconds()+1))
	g.open(t)
	until(t, "the log to go", func() bool { return g.number(t, `SELECT count(*) FROM moved`) == 0 })
	if _, _, err := g.boards.Walk(t.Context(), "top", cursor, 10); !errors.Is(err, store.ErrCursor) {
		t.Fatalf("Walk = %v, want ErrCursor", err)
	}
}

// A board knows so many sources of sums, and forgets the one that was counted longest ago.
func TestSourcesAreBounded(t *testing.T) {
	g := newGround(t, 50, 8)
	if _, err := g.boards.Merge(t.Context(), "top", sumOf("first", 7, 5)); err != nil {
		t.Fatal(err)
	}
	g.do(t, fmt.Sprintf(`INSERT INTO sources (board, source, n, used)
		SELECT b.id, 'other-' || i, 1, i + 1 FROM boards b, generate_series(1, %d) i`, standings.SourcesMost-1))
	for n, source := range []string{"other-1", "new", "other-1"} {
		if _, err := g.boards.Merge(t.Context(), "top", sumOf(source, uint64(n)+2, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := g.number(t, `SELECT count(*) FROM sources`); n != standings.SourcesMost {
		t.Errorf("%d sources, want %d", n, standings.SourcesMost)
	}
	if n := g.number(t, `SELECT count(*) FROM sources WHERE source = 'first'`); n != 0 {
		t.Error("the source that was counted longest ago is kept")
	}
}
