package board_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func TestWindowsAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{WritesPerFlush: 30, Boards: boards{"Kills": {}}})
		for i := range 100 {
			r.submit("Kills", fmt.Sprintf("u%d", i), int64(i))
		}
		later(10 * time.Second)
		sizes := []int{}
		for _, c := range r.store.did("merge") {
			sizes = append(sizes, len(c.Batch.Entries))
		}
		want(t, "sizes of the writes", sizes, []int{30, 30, 30, 10})
		want(t, "times of the writes", r.store.at("merge"), []float64{1, 2, 3, 4})
		want(t, "entries", len(r.stored("Kills")), 100)
	})
}

func TestOneMergeTakesNoMoreThanTheStoreDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{WritesPerFlush: -1, Boards: boards{"Kills": {}}})
		for i := range store.MaxMerge + 1 {
			r.submit("Kills", fmt.Sprintf("u%d", i), 1)
		}
		later(time.Second)
		want(t, "writes of one window", len(r.store.did("merge")), 1)
		later(time.Second)
		want(t, "written", r.Stats().Total.Written, store.MaxMerge+1)
	})
}

// turns are the boards and sizes of the writes, window by window.
func turns(s *script) []string {
	out := []string{}
	at := time.Duration(-1)
	for _, c := range s.did("merge") {
		part := fmt.Sprintf("%s%d", c.Board, len(c.Batch.Entries))
		if c.At == at {
			out[len(out)-1] += " " + part
			continue
		}
		out, at = append(out, part), c.At
	}
	return out
}

func TestBoardsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{WritesPerFlush: 4, Boards: boards{"A": {}, "B": {}, "C": {}}})
		for i := range 9 {
			r.submit("A", fmt.Sprintf("u%d", i), 1)
		}
		for i := range 2 {
			r.submit("B", fmt.Sprintf("u%d", i), 1)
			r.submit("C", fmt.Sprintf("u%d", i), 1)
		}
		later(10 * time.Second)
		// Window 1 is A B C A; the next begins after A, which was written last.
		want(t, "windows", turns(r.store), []string{"A2 B1 C1", "B1 C1 A2", "A4", "A1"})
	})
}

func TestChattyBoardDoesNotStarveAQuietOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{WritesPerFlush: 1, Boards: boards{"A": {}, "B": {}}})
		r.submit("B", "quiet", 1)
		for i := range 4 {
			r.submit("A", fmt.Sprintf("u%d", i), 1)
			r.submit("A", fmt.Sprintf("v%d", i), 1)
			later(time.Second)
		}
		want(t, "windows", turns(r.store)[:2], []string{"A1", "B1"})
	})
}

func TestBudgetCapsAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var budget atomic.Int64
		r := start(t, &board.Options{Budget: func() int { return int(budget.Load()) }, Boards: boards{"Kills": {}}})
		for i := range 5 {
			r.submit("Kills", fmt.Sprintf("u%d", i), 1)
		}
		later(3500 * time.Millisecond)
		want(t, "writes without budget", len(r.store.did("merge")), 0)
		budget.Store(3)
		later(5 * time.Second)
		want(t, "windows", turns(r.store), []string{"Kills3", "Kills2"})
		want(t, "times", r.store.at("merge"), []float64{4, 5})
	})
}
