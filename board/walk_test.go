package board_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

func (s *script) Walk(ctx context.Context, name string, from store.Cursor, limit int) (p store.Page, to store.Cursor, err error) {
	err = s.meet(ctx, call{Op: "walk", Board: name, Limit: limit}, func(ctx context.Context) (e error) {
		p, to, e = s.Boards.Walk(ctx, name, from, limit)
		return e
	})
	return p, to, err
}

func drawCursor(t *rapid.T) store.Cursor {
	c := store.Cursor{
		Generation: rapid.StringMatching(`[a-z0-9-]{1,64}`).Draw(t, "generation"),
		Version:    rapid.Uint64().Draw(t, "version"),
		Seen:       rapid.Int64Range(1, math.MaxInt64-1).Draw(t, "seen"),
		Score:      rapid.Int64().Draw(t, "score"),
		Sequence:   rapid.Uint64().Draw(t, "sequence"),
		Tag:        rapid.Uint64().Draw(t, "tag"),
	}
	c.Total = rapid.Int64Range(c.Seen+1, math.MaxInt64).Draw(t, "total")
	return c
}

func TestCursorsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCursor(t)
		text := board.FormatCursor("Kills", c)
		if got, ok := board.ParseCursor("Kills", text); !ok || got != c {
			t.Fatalf("%+v became %+v, %v", c, got, ok)
		}
		if len(text) > board.MostCursor || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("%q (%d bytes) is not for a URL", text, len(text))
		}
		if _, ok := board.ParseCursor("Kill", text); ok {
			t.Fatal("taken for another board")
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		by := rapid.SampledFrom([]byte("AZaz09-_=+/ \x00")).Draw(t, "by")
		damaged := text[:at] + string(by) + text[at+1:]
		if _, ok := board.ParseCursor("Kills", damaged); ok && damaged != text {
			t.Fatalf("%q taken for %q", damaged, text)
		}
		for _, damaged := range []string{text[:at], text + "A", text[at:] + text[:at]} {
			if _, ok := board.ParseCursor("Kills", damaged); ok && damaged != text {
				t.Fatalf("%q taken", damaged)
			}
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("Kills", "")
	f.Add("Kills", board.FormatCursor("Kills", store.Cursor{Generation: "g", Version: 9, Total: 5, Seen: 2, Score: -3, Sequence: 7}))
	f.Add("a/b", "AQFn")
	f.Fuzz(func(t *testing.T, name, text string) {
		c, ok := board.ParseCursor(name, text)
		if !ok {
			return
		}
		if again := board.FormatCursor(name, c); again != text {
			t.Fatalf("%q is read as %+v, which is %q", text, c, again)
		}
		if c.Done() || c == (store.Cursor{}) || c.Seen <= 0 || len(c.Generation) > store.MaxGeneration {
			t.Fatalf("%q is read as %+v", text, c)
		}
	})
}

// walkAll walks a board by pages, and calls between before each page but the first.
func (r *rig) walkAll(name string, limit int, between func()) (out []string, ranks []int64) {
	r.t.Helper()
	cursor := ""
	for {
		p, next, err := r.Walk(r.t.Context(), name, cursor, limit)
		if err != nil {
			r.t.Fatalf("Walk from %q: %v", cursor, err)
		}
		out, ranks = append(out, rows(p)...), append(ranks, ranksIn(p)...)
		if next == "" {
			return out, ranks
		}
		if len(p.Entries) > limit {
			r.t.Fatalf("%d entries of at most %d", len(p.Entries), limit)
		}
		cursor = next
		between()
	}
}

func TestWalkShowsTheBoardOfItsBeginning(t *testing.T) {
	// case B15
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {Rule: store.Last}}})
		r.fill("Kills", 50)
		before := r.stored("Kills")
		for _, limit := range []int{1, 3, 7, 50, 100} {
			turn := 0
			got, ranks := r.walkAll("Kills", limit, func() {
				turn++
				r.submit("Kills", fmt.Sprintf("u%d", turn*7%50), int64(turn*31%60)) // movers, both ways
				r.submit("Kills", fmt.Sprintf("n%d", turn%9), int64(turn*17%60))
				r.flush()
				if _, err := r.Remove(t.Context(), "Kills", fmt.Sprintf("u%d", turn*11%50)); err != nil {
					t.Fatal(err)
				}
			})
			want(t, fmt.Sprintf("a walk by %d", limit), got, before)
			for i, rank := range ranks {
				want(t, "rank", rank, int64(i)+1)
			}
			before = r.stored("Kills")
		}
	})
}

func TestWalkOfABoardThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		p, next, err := r.Walk(t.Context(), "Kills", "", 5)
		if err != nil || next != "" || len(p.Entries) != 0 || p.Info.Order != store.Descending {
			t.Fatalf("Walk of a board that was never written: %+v, %q, %v", p, next, err)
		}
		for st, err := range r.All(t.Context(), "Kills") {
			t.Fatalf("All of a board that was never written: %+v, %v", st, err)
		}
		if _, _, err := r.Walk(t.Context(), "Undefined", "", 5); !errors.Is(err, store.ErrNoBoard) {
			t.Fatalf("Walk of a board that is neither defined nor there: %v", err)
		}
		if _, err := r.Create(t.Context(), "Kills", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
			t.Fatal(err)
		}
		if p, next, err := r.Walk(t.Context(), "Kills", "", 5); err != nil || next != "" || len(p.Entries) != 0 {
			t.Fatalf("Walk of an empty board: %+v, %q, %v", p, next, err)
		}
	})
}

func TestWalkRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}, "Other": {}}})
		r.fill("Kills", 9)
		r.fill("Other", 9)
		_, next, err := r.Walk(t.Context(), "Kills", "", 4)
		if err != nil || next == "" {
			t.Fatalf("Walk: %q, %v", next, err)
		}
		for _, cursor := range []string{next[:len(next)-1], next + "A", "x", strings.Repeat("A", 10_000), "%00"} {
			_, _, err = r.Walk(t.Context(), "Kills", cursor, 4)
			wantRefused(t, err, "cursor", board.ErrCursor)
		}
		_, _, err = r.Walk(t.Context(), "Other", next, 4)
		wantRefused(t, err, "cursor", board.ErrCursor)
		_, _, err = r.Walk(t.Context(), "a b", "", 4)
		wantRefused(t, err, "board", board.ErrName)
		for _, limit := range []int{-1, store.MaxPage + 1} {
			_, _, err = r.Walk(t.Context(), "Kills", "", limit)
			wantRefused(t, err, "count", board.ErrCount)
		}
		// The cursor of a board that is gone is too old, whether or not there is a new one.
		for _, again := range []bool{false, true} {
			if err := r.Drop(t.Context(), "Kills"); err != nil {
				t.Fatal(err)
			}
			if again {
				r.fill("Kills", 9)
			}
			if _, _, err := r.Walk(t.Context(), "Kills", next, 4); !errors.Is(err, store.ErrCursor) {
				t.Fatalf("Walk on after a drop (made again: %v): %v", again, err)
			}
		}
		if _, err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err = r.Walk(t.Context(), "Kills", "", 4)
		wantRefused(t, err, "service", board.ErrClosed)
		for _, err := range r.All(t.Context(), "Kills") {
			wantRefused(t, err, "service", board.ErrClosed)
		}
	})
}

func TestWalkTakesAPlaceAmongTheReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{ReadsAtOnce: 1, CallTimeout: -1, Boards: boards{"Kills": {}}})
		r.fill("Kills", 3)
		gate := make(chan struct{})
		r.store.failNext("walk", fault{block: gate})
		go func() { _, _, _ = r.Walk(t.Context(), "Kills", "", 1) }()
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := r.Walk(short, "Kills", "", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a walk without a place: %v", err)
		}
		close(gate)
		want(t, "pages", len(r.store.did("walk")), 1)
		if got, _ := r.walkAll("Kills", 1, func() {}); len(got) != 3 {
			t.Fatalf("the walk: %v", got)
		}
	})
}

// A store that does not get on is an error, not a loop without an end.
func TestWalkThatDoesNotGetOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 3)
		s := &stuckBoards{r.store}
		svc, err := board.NewOn(board.Host{Boards: s, Now: time.Now, Logger: discard()}, &board.Options{Boards: boards{"Kills": {}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range svc.All(t.Context(), "Kills") {
		}
		if !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("All: %v", err)
		}
		if _, err := svc.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// stuckBoards answers the same page of a walk again and again.
type stuckBoards struct{ *script }

func (*stuckBoards) Walk(context.Context, string, store.Cursor, int) (store.Page, store.Cursor, error) {
	return store.Page{Entries: make([]store.Standing, 1), Total: 3}, store.Cursor{Generation: "g", Seen: 1, Total: 3}, nil
}

// all is what All yields, and its error.
func all(ctx context.Context, s *board.Service, name string) (out []string, err error) {
	for st, e := range s.All(ctx, name) {
		if e != nil {
			return out, e
		}
		out = append(out, fmt.Sprintf("%s=%d", st.Key, st.Score))
	}
	return out, nil
}

func TestAllIsTheWholeBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 2500)
		got, err := all(t.Context(), r.Service, "Kills")
		if err != nil || len(got) != 2500 || !slices.Equal(got[:1000], r.stored("Kills")) || got[2499] != "u2499=1" {
			t.Fatalf("All: %d entries, %v", len(got), err)
		}
		want(t, "pages", len(r.store.did("walk")), 3)
		for _, err := range r.All(t.Context(), "Kills") {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		want(t, "pages", len(r.store.did("walk")), 4)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := all(gone, r.Service, "Kills"); !errors.Is(err, context.Canceled) {
			t.Fatalf("All of a caller who is gone: %v", err)
		}
	})
}

// Whichever answer is lost, or call hangs, All shows the whole board once.
func TestAllWithEachAnswerLostInTurn(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Hang, faultstore.HangApplied} {
		for n := 1; n <= 4; n++ {
			synctest.Test(t, func(t *testing.T) {
				e := memstore.New(nil)
				faults := faultstore.New(nil)
				svc, err := board.NewOn(board.Host{ID: "n-1", Boards: faults.Boards(e.Boards()), Now: time.Now, Logger: discard()},
					&board.Options{Boards: boards{"Kills": {}}})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 2500 {
					if err := svc.Submit("Kills", fmt.Sprintf("u%d", i), int64(i%99)); err != nil {
						t.Fatal(err)
					}
				}
				if err := svc.FlushNow(t.Context()); err != nil {
					t.Fatal(err)
				}
				whole, err := all(t.Context(), svc, "Kills")
				if err != nil || len(whole) != 2500 {
					t.Fatalf("All: %d entries, %v", len(whole), err)
				}
				faults.SetRule(faultstore.Nth(n, func(c faultstore.Call) bool { return c.Op == "walk" }, faultstore.Fault{Kind: kind}))
				got, err := all(t.Context(), svc, "Kills")
				if err != nil {
					t.Fatalf("All with call %d: %v: %v", n, kind, err)
				}
				want(t, fmt.Sprintf("All with call %d: %v", n, kind), got, whole)
				if _, err := svc.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestAllGivesUpInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1500)
		seen := 0
		r.store.setRule(func(c call) fault {
			if c.Op == "walk" {
				if seen++; seen > 1 {
					return notDone
				}
			}
			return fault{}
		})
		got, err := all(t.Context(), r.Service, "Kills")
		if !errors.Is(err, store.ErrUnavailable) || len(got) != 1000 {
			t.Fatalf("All: %d entries, %v", len(got), err)
		}
		want(t, "reads", r.store.at("walk"), []float64{0, 0, 0.25, 0.75, 1.75, 3.75})
		r.store.failAll("walk", fault{err: store.ErrCursor}) // not worth repeating
		if _, err := all(t.Context(), r.Service, "Kills"); !errors.Is(err, store.ErrCursor) {
			t.Fatalf("All: %v", err)
		}
		want(t, "reads", len(r.store.did("walk")), 7)
	})
}
