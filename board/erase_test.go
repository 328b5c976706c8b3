package board_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// case B18: who must be forgotten leaves sealed boards too, pages that are cached included.
func TestEraseReachesSealedBoards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: map[string]board.Config{"Kills": {}}})
		ctx := t.Context()
		for key, score := range map[string]int64{"u1": 5, "u2": 4} {
			if err := r.Submit("Kills", key, score); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.FlushNow(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Seal(ctx, "Kills"); err != nil {
			t.Fatal(err)
		}
		if page, err := r.Top(ctx, "Kills", 10); err != nil || len(page.Entries) != 2 {
			t.Fatalf("%+v, %v", page, err)
		}
		if _, err := r.Remove(ctx, "Kills", "u1"); !errors.Is(err, store.ErrSealed) {
			t.Errorf("Remove of a sealed board: %v", err)
		}
		if n, err := r.Erase(ctx, "Kills", "u1", "nobody"); err != nil || n != 1 {
			t.Errorf("Erase = %d, %v", n, err)
		}
		if page, err := r.Top(ctx, "Kills", 10); err != nil || len(page.Entries) != 1 || page.Entries[0].Key != "u2" || !page.Info.Sealed {
			t.Errorf("%+v, %v", page, err)
		}
	})
}
