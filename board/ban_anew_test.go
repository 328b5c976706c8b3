package board_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// Another service drops a board and makes it anew: it hides no one. Scores of the banned that
// come past the queue are hidden there all the same, however long ago the ban was.
func TestBannedStayHiddenOnABoardMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.join(&board.Options{Boards: boards{"Kills": {}}}), f.join(&board.Options{Boards: boards{"Kills": {}}})
		a.submit("Kills", "bob", 1)
		a.flush()
		if err := a.Ban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		merge := func(score int64) {
			t.Helper()
			batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "ann", Score: score}}}
			if _, err := a.Merge(t.Context(), "Kills", batch); err != nil {
				t.Fatal(err)
			}
		}
		merge(5)
		f.rest()
		time.Sleep(time.Hour)
		merge(6)
		if err := b.Drop(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		b.submit("Kills", "bob", 2)
		b.flush()
		merge(7)
		want(t, "shown", f.shown("Kills"), []string{"bob"})
	})
}

// A board that holds no more hidden keys takes the scores of a batch all the same: a banned key
// holds up nobody else.
func TestAFullBoardTakesBatchesWithTheBanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(&board.Options{Boards: boards{"Kills": {}}})
		a.submit("Kills", "bob", 1)
		a.flush()
		for i := range store.MaxHidden / store.MaxPage {
			keys := make([]string, store.MaxPage)
			for j := range keys {
				keys[j] = fmt.Sprintf("x%d-%d", i, j)
			}
			if _, err := f.plain.Boards.Hide(t.Context(), "Kills", true, keys...); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Ban(t.Context(), mod, "ann"); !errors.Is(err, store.ErrTooLarge) {
			t.Fatalf("Ban: %v", err)
		}
		batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "ann", Score: 3}, {Key: "bob", Score: 5}}}
		if _, err := a.Merge(t.Context(), "Kills", batch); err != nil {
			t.Fatalf("Merge: %v", err)
		}
		want(t, "bob", f.score("Kills", "bob"), 5)
		f.rest()
	})
}
