package season_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

func TestAReadResetsToo(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		w.until(2*time.Hour + 1)
		before, seen := s.Data(), s.commits()
		v, err := h.ViewOf(before, s.created)
		if err != nil || v.Season != "C1S3" || len(v.Stats) != 0 || v.Owed["C1S1"]["fish"] != 1 || s.commits() != seen {
			t.Fatalf("of a profile that is not open here: %+v, %v", v, err)
		}
		held, err := h.View(s)
		if err != nil || s.commits() != seen+1 || held.Season != "C1S3" || held.Owed["C1S1"]["fish"] != 1 {
			t.Fatalf("of a session: %+v, %v, %d commits", held, err, s.commits())
		}
		if _, err := h.View(s); err != nil || s.commits() != seen+1 {
			t.Fatalf("a second read wrote: %v", err)
		}
	})
}

// A player on the page stands where the page says, anybody else behind it.
func TestTheCardAndThePageNeverContradict(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		boards := &pagedBoards{Boards: season.StoreBoards(w.engine.Boards())}
		h := w.host("a", hostOptions{deps: season.Deps{Boards: boards}})
		for i := range 5 {
			h.play(h.join(fmt.Sprint("u", i)), slices.Repeat([]string{"catch"}, 5-i)...)
		}
		h.window()
		h.top("Fish") // now the page is kept: u0 u1 u2
		h.play(h.players("u4"), slices.Repeat([]string{"catch"}, 20)...)
		h.window()
		for key, want := range map[string]int64{"u0": 1, "u2": 3, "u4": 4, "u3": 5} {
			if st, ok, err := h.Standing(t.Context(), "Fish", key); err != nil || !ok || st.Rank != want {
				t.Errorf("%s stands at %d, %v, %v, want %d", key, st.Rank, ok, err, want)
			}
		}
		if boards.shape.CacheFor != 30*time.Second || boards.shape.Entries != 3 {
			t.Errorf("defined as %+v", boards.shape)
		}
	})
}

// pagedBoards keeps the first page of each board for ever, three entries of it.
type pagedBoards struct {
	season.Boards
	pages sync.Map
	shape season.Shape
}

func (b *pagedBoards) Define(_ string, s season.Shape) error {
	b.shape = s
	return nil
}

func (b *pagedBoards) Top(ctx context.Context, board string, _ int) (store.Page, error) {
	if p, ok := b.pages.Load(board); ok {
		return p.(store.Page), nil
	}
	p, err := b.Boards.Top(ctx, board, 3)
	b.pages.Store(board, p)
	return p, err
}

// Before anybody has played, a thousand looks at the empty board are one look at the store.
func TestAnEmptyBoardIsNotAskedForEachTime(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		h := w.host("a", hostOptions{})
		read := countReads(h)
		for range 1000 {
			if got := h.top("Fish"); got != nil {
				t.Fatalf("%v", got)
			}
		}
		if read() != 1 {
			t.Fatalf("%d reads", read())
		}
	})
}

// Boards are defined before they are used, and forgotten when their season is long over.
func TestBoardsOfOldSeasonsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		boards := &definedBoards{Boards: season.StoreBoards(w.engine.Boards()), t: t, known: make(map[string]bool)}
		h := w.host("a", hostOptions{deps: season.Deps{Boards: boards}})
		s := h.join("ada")
		for k := range int64(12) {
			w.until(time.Duration(k)*time.Hour + 10*time.Minute)
			h.play(s, "catch")
			h.window()
			h.top("Fish")
			h.closeDue()
			if _, err := h.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(boards.known) > 8 || boards.most > 8 {
			t.Fatalf("%d boards are defined, at most %d were", len(boards.known), boards.most)
		}
	})
}

type definedBoards struct {
	season.Boards
	t     *testing.T
	known map[string]bool
	most  int
}

func (b *definedBoards) Define(board string, _ season.Shape) error {
	b.known[board] = true
	b.most = max(b.most, len(b.known)-2) // one season is defined before another is forgotten
	return nil
}

func (b *definedBoards) Forget(board string) { delete(b.known, board) }

func (b *definedBoards) check(board string) {
	if !b.known[board] {
		b.t.Errorf("%s is used and not defined", board)
	}
}

func (b *definedBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	b.check(board)
	return b.Boards.Merge(ctx, board, batch)
}

func (b *definedBoards) Page(ctx context.Context, board string, offset int64, limit int) (store.Page, error) {
	b.check(board)
	return b.Boards.Page(ctx, board, offset, limit)
}
