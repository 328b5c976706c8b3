package board_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
)

// A read that began before a removal ends while the next one runs: it is not the page, and
// the next one is.
func TestSlowReadEndsWhileItsSuccessorRuns(t *testing.T) {
	// case B18
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {}}})
		r.fill("Kills", 2)
		slow, next := make(chan struct{}), make(chan struct{})
		r.store.failNext("page", fault{block: slow, after: true}, fault{block: next, after: true})
		pages := make(chan []string, 2)
		go func() { pages <- r.top("Kills", 0) }()
		synctest.Wait()
		if _, err := r.Remove(t.Context(), "Kills", "u0"); err != nil {
			t.Fatal(err)
		}
		go func() { pages <- r.top("Kills", 0) }()
		synctest.Wait()
		close(slow)
		want(t, "the page of who asked before", <-pages, []string{"u0=2", "u1=1"})
		third := make(chan []string, 1)
		go func() { third <- r.top("Kills", 0) }()
		synctest.Wait()
		close(next)
		want(t, "the page of who asked after", <-pages, []string{"u1=1"})
		want(t, "the page", <-third, []string{"u1=1"})
		want(t, "the page", r.top("Kills", 0), []string{"u1=1"})
		want(t, "reads", len(r.store.did("page")), 2)
	})
}
