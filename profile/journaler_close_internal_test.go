package profile

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// Once Close removes what nobody needs, the loop is given none of it: what it took between the
// last wait of Close and the end of the set would stay in the store.
func TestCloseRemovesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &journaler{every: time.Second, clk: clock.System(), wake: func() {}}
		g.erase(erasure{key: "journal/players/a"})
		if n := len(g.erasures()); n != 1 {
			t.Fatalf("Close takes %d, want 1", n)
		}
		g.erase(erasure{key: "journal/players/b"}) // an append that was under way has been answered
		time.Sleep(time.Minute)
		if w, some, next := g.take(time.Now()); some || !next.IsZero() {
			t.Errorf("the loop is given %d, and comes again at %v", len(w.gone), next)
		}
		if n := len(g.erasures()); n != 1 {
			t.Errorf("Close finds %d left, want 1", n)
		}
	})
}
