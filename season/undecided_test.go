package season_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// A season that is sealed and has no result, perhaps for days because a board cannot be read:
// nobody who leaves waits for it, and a node that closes says why values are still there.
func TestNobodyWaitsForASealWithoutAResult(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CloseEvery = -1
		h := w.host("a", hostOptions{loops: true})
		first := h.join("first")
		h.play(first, "catch")
		h.leave(first) // the season has its boards
		bob := w.profiles.load("bob")
		h.play(bob, "catch", "catch")
		if err := bob.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Boards().Seal(t.Context(), season.BoardKey("reef", "Fish", "C1S1")); err != nil {
			t.Fatal(err)
		}
		w.pastGrace(0)
		late := h.join("late")
		h.play(late, "catch")
		h.leave(late)
		began := time.Now()
		h.leave(bob)
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("leaving took %v", waited)
		}
		if st := h.Status(); st.Outbox != 1 || st.Refused != 0 {
			t.Fatalf("%+v", st)
		}
		err := h.Close(t.Context())
		if !errors.Is(err, store.ErrSealed) || !strings.Contains(err.Error(), "1 values not written: season: no result yet") {
			t.Errorf("closed: %v", err)
		}
	})
}
