package profile

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store/memstore"
)

// leanSet runs a test with a set on a node that may make one read and one write a second.
func leanSet(t *testing.T, apart bool, test func(t *testing.T, s *Set)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st, err := memstore.New(&memstore.Options{Apart: apart}).Store()
		if err != nil {
			t.Fatal(err)
		}
		rate := node.Rate{Base: 60}
		n, err := node.Start(t.Context(), st, &node.Options{
			Limits: node.Limits{Node: node.Rates{Read: rate, Write: rate}}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(n, "players", nil)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if _, err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = st.Close(context.Background())
	})
}

// A turn that comes when there is nothing to write is not kept for later.
func TestUnusedTurnIsNotKept(t *testing.T) {
	leanSet(t, true, func(t *testing.T, s *Set) {
		sess, err := s.Load(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		sess.mu.Lock()
		sess.queueLocked(urgent)
		paid := sess.mu.write.paid
		sess.mu.Unlock()
		synctest.Wait()
		sess.mu.Lock()
		defer sess.mu.Unlock()
		if w := &sess.mu.write; !paid || w.paid || w.passage != nil || w.queued != [2]bool{} {
			t.Errorf("paid %v, then %+v", paid, w)
		}
	})
}

// Journals are in the budget when they are in the store that has the limits, and are not read
// ahead of their need then.
func TestJournalsInTheBudget(t *testing.T) {
	for name, apart := range map[string]bool{"one store": false, "two stores": true} {
		t.Run(name, func(t *testing.T) {
			leanSet(t, apart, func(t *testing.T, s *Set) {
				if _, err := s.glimpse(t.Context(), "u"); (err == nil) != apart {
					t.Errorf("glimpse: %v", err)
				}
				for range 60 {
					if err := s.node.Pass(t.Context(), node.ClassSave, node.KindRead); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := s.readJournal(ctx, "u"); errors.Is(err, node.ErrBudget) == apart {
					t.Errorf("read: %v", err)
				}
			})
		})
	}
}

// What disowned tokens cost depends on whether somebody waits for the record.
func TestUrgencyOfDisownedTokens(t *testing.T) {
	leanSet(t, true, func(t *testing.T, s *Set) {
		for _, c := range []struct {
			o       *orphan
			closing bool
			want    node.Class
		}{
			{&orphan{}, false, node.ClassBackground},
			{&orphan{note: node.Note{Version: 7}}, false, node.ClassSave},
			{&orphan{}, true, node.ClassSave},
		} {
			s.mu.Lock()
			s.mu.closing = c.closing
			s.mu.Unlock()
			if got := s.urgency(c.o); got != c.want {
				t.Errorf("%+v: %v, want %v", c, got, c.want)
			}
		}
	})
}
