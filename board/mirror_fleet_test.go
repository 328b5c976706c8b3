package board_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// What a moderator removes or drops on one node, the mirrors of all nodes tell again.
func TestMirrorsForgetWhatAnotherNodeRemoved(t *testing.T) {
	for _, name := range []string{"remove", "drop"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			o := &board.Options{Boards: boards{"Level": {Rule: store.Last, From: board.FromProfile("players", kills)}}}
			a, b := f.join(o), f.join(o)
			time.Sleep(time.Minute)
			tell := func(revision uint64) {
				b.Mirror("players", profileOf("ann", map[string]any{"kills": 9}, 1, revision))
				b.flush()
			}
			tell(1)
			var err error
			if name == "remove" {
				_, err = a.RemoveBy(t.Context(), mod, "Level", "ann")
			} else {
				if _, err := a.SealBy(t.Context(), mod, "Level"); err != nil {
					t.Fatal(err)
				}
				b.Mirror("players", profileOf("ann", map[string]any{"kills": 10}, 1, 2))
				_ = b.FlushNow(t.Context()) // finds out
				err = a.DropBy(t.Context(), mod, "Level")
			}
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			tell(3)
			if e, err := a.Scores(t.Context(), "Level", "ann"); err != nil || e["ann"].Score != 9 {
				t.Errorf("%s: %v, %v", name, e, err)
			}
		})
	}
}
