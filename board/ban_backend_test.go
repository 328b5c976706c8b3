package board_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store/faultstore"
)

// shelfOfOne is a Backend that notes the keys that are written to it.
type shelfOfOne struct {
	mu   sync.Mutex
	keys []string
}

func (s *shelfOfOne) Submit(_ context.Context, _ string, w board.BackendWrite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, w.Key)
	return nil
}

func (s *shelfOfOne) Sorted(context.Context, string, bool, int) ([]board.BackendRow, error) {
	return nil, nil
}

// A Backend cannot hide: scores of banned keys do not reach it.
func TestBackendsGetNoScoresOfBannedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		shelf := &shelfOfOne{}
		options := func() *board.Options {
			return &board.Options{FlushEvery: -1, Boards: boards{"Kills": {}}, Backend: shelf}
		}
		a, deaf := f.join(options()), f.join(options())
		synctest.Wait()
		deaf.faults.Outage(faultstore.Bus, true)
		deaf.submit("Kills", "ann", 1)
		deaf.submit("Kills", "bob", 1)
		if err := a.Ban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		_ = deaf.FlushNow(t.Context()) // it learns of the ban before its first write
		deaf.flush()
		want(t, "written", shelf.keys, []string{"bob"})
		want(t, "reported", deaf.refusals(), []string{"Kills/ann: board: banned"})
		f.rest()
		if err := a.Unban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		a.submit("Kills", "ann", 1)
		a.flush()
		want(t, "written", shelf.keys, []string{"bob", "ann"})
		f.rest()
	})
}
