package board_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// small are the limits of a small server: each entry that is written spends one of both kinds.
func small() node.Limits {
	r := node.Rate{Base: 30, PerPlayer: 5}
	return node.Limits{Node: node.Rates{OrderedRead: r, OrderedWrite: r}}
}

// startMetered makes a service on a node with limits and so many players, on a script.
func startMetered(t *testing.T, l node.Limits, players int, o *board.Options) (*node.Node, *board.Service, *script) {
	t.Helper()
	s := newScript()
	st, err := store.New(store.Parts{Durable: s.engine.Records(), Boards: s, Bus: s.engine.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.Start(t.Context(), st, &node.Options{Name: "game", Logger: discard(), Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	n.CountPlayers(func() int { return players })
	svc, err := board.New(n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.setRule(nil)
		_, _ = n.Close(context.WithoutCancel(t.Context()))
	})
	return n, svc, s
}

// submitMany has n keys wait on each board.
func submitMany(t *testing.T, s *board.Service, n int, names ...string) {
	t.Helper()
	for _, name := range names {
		for i := range n {
			if err := s.Submit(name, fmt.Sprintf("u%d", i), int64(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A small server writes at the rate that it is given, from board to board, and no window
// queues for more than there is.
func TestSmallServerWritesAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, svc, s := startMetered(t, small(), 2, &board.Options{Boards: boards{"A": {}, "B": {}, "C": {}}})
		submitMany(t, svc, 200, "A", "B", "C")
		later(time.Second)
		// 40 a minute: all but the reserve at once, and three boards were created of it.
		want(t, "written by the first window", svc.Stats().Total.Written, 40-10-3)
		later(3 * time.Minute)
		total := svc.Stats()
		if w := total.Total.Written; w < 27+118 || w > 27+120 {
			t.Errorf("written in three minutes more: %d, want 120", w-27)
		}
		// In the first window the last board had three less, for the creation of all of them.
		for name, c := range total.Boards {
			if c.Written < total.Total.Written/3-3 || c.Written > total.Total.Written/3+2 {
				t.Errorf("board %s: %d of %d written", name, c.Written, total.Total.Written)
			}
		}
		want(t, "failed", total.Total.Failed, 0)
		if g := n.Gate()[node.ClassBoard]; g.Waited > 0 || g.Refused > 0 {
			t.Errorf("windows waited at the gate: %+v", g)
		}
		for _, c := range s.did("merge") {
			if len(c.Batch.Entries) > 27 {
				t.Errorf("a write of %d entries", len(c.Batch.Entries))
			}
		}
	})
}

func TestWithoutLimitsWindowsAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, svc, s := startMetered(t, node.Limits{}, 2, &board.Options{Boards: boards{"A": {}}})
		submitMany(t, svc, 5000, "A")
		later(time.Second)
		want(t, "written", svc.Stats().Total.Written, 5000)
		want(t, "writes", len(s.did("merge")), 1)
	})
}

// A budget of a few requests a minute, less than the reserve: slow, but nothing is given up.
func TestTinyBudgetDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := node.Rate{Base: 5}
		l := node.Limits{Node: node.Rates{OrderedRead: r, OrderedWrite: r}}
		_, svc, _ := startMetered(t, l, 0, &board.Options{MaxWriteAttempts: 1, Boards: boards{"A": {}, "B": {}}})
		submitMany(t, svc, 3, "A", "B")
		later(3 * time.Minute)
		c := svc.Stats().Total
		want(t, "written, dropped, waiting", []any{c.Written, c.Dropped, c.Queued}, []any{uint64(6), uint64(0), 0})
	})
}

// A store that answers that nothing was applied, for want of budget, has had no attempt.
func TestWaitingForBudgetIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: 2, Boards: boards{"A": {}}})
		r.store.failAll("merge", fault{err: fmt.Errorf("script: %w: %w", node.ErrBudget, store.ErrUnavailable)})
		r.submit("A", "u1", 5)
		later(5 * time.Minute)
		r.store.setRule(nil)
		later(time.Minute)
		want(t, "stored", r.stored("A"), []string{"u1=5"})
	})
}

func TestCloseDrainsAtTheRateOfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, svc, _ := startMetered(t, small(), 6, &board.Options{Boards: boards{"A": {}}})
		submitMany(t, svc, 100, "A")
		began := time.Now()
		got, err := svc.Close(t.Context())
		want(t, "time", time.Since(began), 10*time.Second)
		// 60 a minute: 50 at once, less the creation, and ten in ten seconds.
		if got.Remaining < 40 || got.Remaining > 42 || got.Failed > 0 || got.InFlight > 0 {
			t.Errorf("report: %+v", got)
		}
		wantReport(t, got, err, board.Report{Remaining: got.Remaining}, board.ErrDeadline)
	})
}

func TestCloseWithinTheBudgetIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, svc, _ := startMetered(t, small(), 6, &board.Options{Boards: boards{"A": {}}})
		submitMany(t, svc, 55, "A")
		got, err := svc.Close(t.Context())
		wantReport(t, got, err, board.Report{Complete: true}, nil)
	})
}

// Who has a page does not wait for budget, and gets the new page when there is some.
func TestCachedPageWaitsForNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, svc, _ := startMetered(t, small(), 0, &board.Options{Boards: boards{"A": {}}})
		submitMany(t, svc, 1, "A")
		later(time.Second)
		top := func() store.Page {
			t.Helper()
			began := time.Now()
			p, err := svc.Top(t.Context(), "A", 0)
			if err != nil || time.Since(began) != 0 {
				t.Fatalf("Top took %v: %v", time.Since(began), err)
			}
			return p
		}
		want(t, "the page", rows(top()), []string{"u0=0"})
		if err := svc.Submit("A", "u1", 7); err != nil {
			t.Fatal(err)
		}
		later(time.Second)
		for n.Room(node.ClassBoard, node.KindOrderedRead) > 0 {
			if _, err := svc.Scores(t.Context(), "A", "u1"); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "the page while there is no budget", rows(top()), []string{"u0=0"})
		later(3 * time.Second)
		want(t, "the page when there is some", rows(top()), []string{"u1=7", "u0=0"})
	})
}

// A chatty queue does not keep the page from being read: who waits for budget comes before
// the next window.
func TestWindowsLeaveBudgetToReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, svc, s := startMetered(t, small(), 0, &board.Options{CacheFor: 10 * time.Second, Boards: boards{"A": {}}})
		submitMany(t, svc, 500, "A")
		later(time.Second)
		for range 20 {
			if _, err := svc.Top(t.Context(), "A", 0); err != nil {
				t.Fatal(err)
			}
			later(10 * time.Second)
		}
		if reads := len(s.did("page")); reads < 18 {
			t.Errorf("%d pages in 20 cache windows", reads)
		}
	})
}

// A batch of sums that may have been applied is sent again as it was, however little budget
// there is, and counted once.
func TestUnknownSumWaitsForBudgetWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, svc, s := startMetered(t, small(), 0, &board.Options{Boards: boards{"A": {}, "Coins": {Rule: store.Sum}}})
		later(time.Minute)
		s.setRule(func() func(call) fault {
			lostOne := false
			return func(c call) fault {
				if c.Op == "merge" && c.Board == "Coins" && !lostOne {
					lostOne = true
					return lost
				}
				return fault{}
			}
		}())
		for i := range 15 {
			if err := svc.Submit("Coins", fmt.Sprintf("u%d", i), 1); err != nil {
				t.Fatal(err)
			}
		}
		later(time.Second)
		submitMany(t, svc, 200, "A") // takes all that there is, for minutes
		later(2 * time.Minute)
		var sent []int
		for _, c := range s.did("merge") {
			if c.Board == "Coins" {
				sent = append(sent, len(c.Batch.Entries))
			}
		}
		want(t, "batches of sums", sent, []int{15, 15})
		want(t, "counted", score(t, s, "Coins", "u7"), 1)
		want(t, "written", svc.Stats().Boards["Coins"].Written, 15)
	})
}

// Sums that were certainly not applied may be cut to the budget.
func TestFailedSumsAreCutToTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := 30
		r := start(t, &board.Options{Budget: func() int { return most }, Boards: boards{"Coins": {Rule: store.Sum}}})
		for i := range 30 {
			r.submit("Coins", fmt.Sprintf("u%d", i), 1)
		}
		r.store.failNext("merge", notDone)
		r.flushFails()
		most = 12
		r.submit("Coins", "u3", 1)
		for range 4 {
			r.flush()
		}
		var sent []int
		for _, c := range r.store.did("merge") {
			sent = append(sent, len(c.Batch.Entries))
		}
		want(t, "batches", sent, []int{30, 12, 12, 6, 1})
		want(t, "written", r.Stats().Total.Written, 31)
		want(t, "counted", score(t, r.store, "Coins", "u3"), 2)
	})
}
