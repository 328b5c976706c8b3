package board_test

import (
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// A listener that panics is nobody's trouble but its own: scores go on being written, and
// those who wait for one are answered.
func TestAListenerMayPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"A": {}, "B": {}}})
		told := 0
		r.OnRefused(func(board.Refusal) { panic("oh") })
		r.OnRefused(func(board.Refusal) { told++ })
		r.OnUpdated(func(string, store.Page) { panic("oh") })
		pages := make(chan store.Page, 2)
		r.OnUpdated(func(_ string, p store.Page) { pages <- p })
		if _, err := r.store.Boards.Create(t.Context(), "A", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Boards.Seal(t.Context(), "A"); err != nil {
			t.Fatal(err)
		}
		if err := r.SubmitDurable(t.Context(), "A", store.Submission{Key: "ann", Score: 1}); err == nil || told != 1 {
			t.Errorf("a sealed board: %v, told %d times", err, told)
		}
		r.submit("B", "ann", 1)
		r.flush()
		want(t, "the page", r.top("B", 1), []string{"ann=1"})
		if p := <-pages; len(p.Entries) != 1 {
			t.Errorf("told %+v", p)
		}
	})
}
