package season_test

import (
	"context"
	"testing"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// A value that comes when the closed season's board has lost its memory is told by the result.
func TestLateValuesAreToldByTheResultWhenTheBoardIsGone(t *testing.T) {
	for name, others := range map[string][]string{
		"room for everybody":         {"bob"},
		"better than the last place": {"bob", "cy", "dan", "eve", "fay", "gus"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
				for _, key := range others { // the last one has no place when there are six
					s := a.join(key)
					a.play(s, "catch")
				}
				a.window()
				b.play(b.join("ada"), "catch", "catch")
				w.pastGrace(0)
				a.closeDue()
				w.engine.Forget(memstore.Boards)
				b.window()
				got := b.refused()
				if len(got) != 1 || got[0].Key != "ada" || got[0].Board != "Fish" || got[0].Score != 2 || got[0].Has {
					t.Fatalf("refused %+v", got)
				}
			})
		})
	}
}

// Of a value that would have no place nothing can be told when the board is gone, and a placed
// one is compared with its place.
func TestPlacedAndPlacelessValuesWhenTheBoardIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		for _, key := range []string{"bob", "cy", "dan", "eve", "fay", "gus"} {
			a.play(a.join(key), "catch", "catch")
		}
		a.window()
		b.play(b.join("ada"), "catch") // less than the last place has
		w.pastGrace(0)
		a.closeDue()
		w.engine.Forget(memstore.Boards)
		b.window()
		// bob moves to b: the boards have answered for the values there, so b sends them again.
		b.join("bob")
		b.window()
		if got := b.refused(); len(got) != 0 {
			t.Fatalf("refused %+v", got)
		}
	})
}

// A sealed board of a season without a result decides nothing: when it loses its memory it is
// rebuilt with the values that it had refused, and nobody is told that they were too late.
func TestASealWithoutAResultRefusesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		a.play(a.join("ada"), "catch")
		a.window()
		bob := b.join("bob")
		b.play(bob, "catch", "catch")
		w.pastGrace(0)
		fish := season.BoardKey("reef", "Fish", "C1S1")
		if _, err := w.engine.Boards().Seal(t.Context(), fish); err != nil {
			t.Fatal(err)
		}
		b.window()
		if got := b.refused(); len(got) != 0 || b.Status().Outbox != 1 {
			t.Fatalf("refused %+v, %d wait", got, b.Status().Outbox)
		}
		if err := bob.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.engine.Forget(memstore.Boards)
		a.closeDue()
		a.wantResult("C1S1", "Fish", "bob:2", "ada:1")
		w.until(2 * w.cfg.Length) // "no result yet" is believed for a while
		b.window()
		if got := b.refused(); len(got) != 0 || b.Status().Outbox != 0 {
			t.Fatalf("refused %+v, %d wait", got, b.Status().Outbox)
		}
	})
}

// A board of another life than the register names answers for nothing.
func TestABoardOfAnotherLifeSaysNothingOfWhatWasCounted(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		ada := h.join("ada")
		h.play(ada, "catch")
		h.window()
		w.pastGrace(0)
		h.closeDue()
		w.engine.Forget(memstore.Boards)
		spec := store.BoardSpec{Order: store.Descending, Generation: "another"}
		if _, err := w.engine.Boards().Create(context.Background(), season.BoardKey("reef", "Fish", "C1S1"), spec); err != nil {
			t.Fatal(err)
		}
		other := w.host("b", hostOptions{})
		other.join("ada")
		other.window()
		if got := other.refused(); len(got) != 0 {
			t.Fatalf("refused %+v", got)
		}
	})
}
