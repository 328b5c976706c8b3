package board_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
)

// slowShelf is a Backend whose first write takes until it is let go.
type slowShelf struct {
	shelfOfOne
	first chan string
	let   chan struct{}
}

func (s *slowShelf) Submit(ctx context.Context, name string, w board.BackendWrite) error {
	select {
	case s.first <- w.Key:
		<-s.let
	default:
	}
	return s.shelfOfOne.Submit(ctx, name, w)
}

// A key that is banned in the middle of a window of a Backend is reported as such, and is no
// failed write.
func TestBanInTheMiddleOfABackendsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		shelf := &slowShelf{first: make(chan string, 1), let: make(chan struct{})}
		m := f.join(&board.Options{FlushEvery: -1, MaxWriteAttempts: 1, Boards: boards{"Kills": {}}, Backend: shelf})
		synctest.Wait()
		m.submit("Kills", "ann", 1)
		m.submit("Kills", "bob", 1)
		flushed := make(chan error, 1)
		go func() { flushed <- m.FlushNow(t.Context()) }()
		first, second := <-shelf.first, "ann"
		if first == "ann" {
			second = "bob"
		}
		if err := m.Ban(t.Context(), mod, second); err != nil {
			t.Fatal(err)
		}
		close(shelf.let)
		if err := <-flushed; err != nil {
			t.Errorf("FlushNow: %v", err)
		}
		want(t, "reported", m.refusals(), []string{"Kills/" + second + ": board: banned"})
		want(t, "written", shelf.keys, []string{first})
		c := m.Stats().Total
		want(t, "failed, dropped, refused, queued", []uint64{c.Failed, c.Dropped, c.Refused, uint64(c.Queued)}, []uint64{0, 0, 1, 0})
		f.rest()
	})
}
