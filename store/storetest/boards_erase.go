package storetest

import (
	"testing"

	"github.com/shoalworks/shoal/store"
)

func eraseCases() []boardsCase {
	return []boardsCase{
		{"forgets entries, stamps and hidden keys", eraseForgets},
		{"changes a sealed board, which stays sealed", eraseSealed},
		{"of nobody changes nothing", eraseNobody},
	}
}

// eraseForgets erases keys of every kind, and looks at each as a new one afterwards.
func eraseForgets(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	w.last(t, stamped("stamped", 5, 9, 9), stamped("stays", 4, 9, 9))
	w.best(t, entry("hidden", 7), entry("other", 3))
	w.hide(t, true, "hidden", "in-advance", "still")
	w.compare(t)
	before := w.info.Sequence
	w.boards = handles[len(handles)-1]
	w.erase(t, "stamped", "hidden", "in-advance", "nobody")
	w.compare(t)
	w.compareHidden(t)
	if w.info.Sequence == before {
		t.Fatalf("Erase left the sequence at %d: a cache bound to it would not notice", before)
	}
	wantChange(t, w.last(t, stamped("stamped", 1, 1, 1)), store.Created, 0, 1)
	wantChange(t, w.best(t, entry("hidden", 2)), store.Created, 0, 2)
	wantChange(t, w.best(t, entry("in-advance", 8)), store.Created, 0, 8)
	w.best(t, entry("still", 9))
	w.wantOrder(t, "in-advance stays other hidden stamped")
	compareEach(t, w)
	w.compareHidden(t)
}

// eraseSealed erases from a board that takes no other writes, through every handle.
func eraseSealed(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	w.best(t, entry("a", 5), entry("b", 4), entry("c", 3), entry("d", 2))
	w.hide(t, true, "d", "x")
	w.model.Seal()
	sealed, err := w.boards.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	for i, keys := range [][]string{{"b"}, {"d"}, {"x", "y"}} {
		w.boards = handles[i%len(handles)]
		w.erase(t, keys...)
		w.compare(t)
		w.compareHidden(t)
	}
	w.wantOrder(t, "a c")
	if !w.info.Sealed || w.info.Sequence == sealed.Sequence || w.info.Generation != sealed.Generation {
		t.Fatalf("the board is %+v, was sealed as %+v", w.info, sealed)
	}
	w.best(t, entry("b", 4)) // refused by both
	w.remove(t, "a")
	w.hide(t, true, "a")
	w.wantOrder(t, "a c")
	compareEach(t, w)
}

func eraseNobody(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Ascending)
	w.best(t, entry("a", 1))
	w.compare(t)
	before := w.info
	w.erase(t, "b", "A")
	w.erase(t, "b")
	w.compare(t)
	if w.info != before {
		t.Fatalf("Erase of nobody made %+v of %+v", w.info, before)
	}
}
