package pgstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// An asynchronous standby takes over that lacks the last writes, and other writes take the board
// to the same sequence again, where somebody else walks it, too.
func TestWalkOfALostHistory(t *testing.T) {
	// case B15
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	b := open(t, pg.URL(schema), nil).Boards()
	tables := func(statement string) {
		t.Helper()
		var sql strings.Builder
		for _, table := range []string{"boards", "entries", "shelves", "moved"} {
			fmt.Fprintf(&sql, strings.ReplaceAll(statement, "{t}", "%[1]s.%[2]s")+";", schema, table)
		}
		if err := pg.Exec(t.Context(), sql.String()); err != nil {
			t.Fatal(err)
		}
	}
	merge := func(score int64, keys ...string) {
		t.Helper()
		batch := store.Batch{Rule: store.Best}
		for _, key := range keys {
			batch.Entries = append(batch.Entries, store.Submission{Key: key, Score: score})
		}
		if _, err := b.Merge(t.Context(), "top", batch); err != nil {
			t.Fatal(err)
		}
	}
	walk := func(from store.Cursor) (store.Cursor, error) {
		_, next, err := b.Walk(t.Context(), "top", from, 1)
		return next, err
	}
	if _, err := b.Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	merge(9, "a")
	tables("CREATE TABLE {t}_past AS TABLE {t}")
	merge(5, "b", "c")
	lost, err := walk(store.Cursor{})
	if err != nil {
		t.Fatal(err)
	}
	tables("DELETE FROM {t}; INSERT INTO {t} TABLE {t}_past")
	merge(4, "d", "e")
	other, err := walk(store.Cursor{})
	if err != nil || other.Version != lost.Version || other.Sequence != lost.Sequence || other.Total != lost.Total {
		t.Fatalf("the other history has %+v, %v; it is to look like %+v", other, err, lost)
	}
	for range 2 {
		if next, err := walk(lost); !errors.Is(err, store.ErrCursor) || next != lost {
			t.Errorf("the walk goes on at %+v in another history, %v", next, err)
		}
		if _, err := walk(other); err != nil {
			t.Errorf("the walk of this history ends with %v", err)
		}
		if _, err := b.Seal(t.Context(), "top"); err != nil {
			t.Fatal(err)
		}
	}
	again, err := walk(store.Cursor{})
	if err != nil || again.Tag != other.Tag {
		t.Errorf("another walk of the version has %+v, %v, want the tag of %+v", again, err, other)
	}
}
