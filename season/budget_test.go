package season_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// perMinute are so many requests a minute of the kinds that records need, and of the kinds that
// boards need; 0 is no limit.
func perMinute(records, boards int) node.Limits {
	r, b := node.Rate{Base: records}, node.Rate{Base: boards}
	return node.Limits{Node: node.Rates{Read: r, Write: r, List: r, OrderedRead: b, OrderedWrite: b}}
}

// counting counts the calls from now on that are chosen, and lets all pass.
func (h *host) counting(chosen func(call string) bool) *atomic.Int64 {
	n := new(atomic.Int64)
	h.tap.set(func(call string) fate {
		if chosen(call) {
			n.Add(1)
		}
		return pass
	})
	return n
}

// loadsFor has reads of loads arrive so often until the span is over, and answers how long each
// of them waited.
func loadsFor(t *testing.T, n *node.Node, span, every time.Duration) []time.Duration {
	t.Helper()
	waits := make([]time.Duration, span/every)
	var wg sync.WaitGroup
	for i := range waits {
		wg.Go(func() {
			began := time.Now()
			if err := n.Pass(t.Context(), node.ClassLoad, node.KindRead); err != nil {
				t.Error(err)
			}
			waits[i] = time.Since(began)
		})
		time.Sleep(every)
	}
	wg.Wait()
	return waits
}

// dueSeason plays a season on a node without limits that leaves; it may be closed then.
func (w *world) dueSeason(players int) {
	w.t.Helper()
	h := w.host("before", hostOptions{})
	for i := range players {
		h.play(h.join(fmt.Sprintf("p%03d", i)), "catch")
	}
	h.window()
	if _, err := h.node.Close(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.pastGrace(0)
}

// While loads want all there is, closing takes nothing of it: not one load waits longer than
// without it. It says that it waits for the budget, and ends when the loads have gone.
func TestClosingDelaysNoLoad(t *testing.T) {
	waits := make(map[bool][]time.Duration)
	for _, closing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.dueSeason(5)
			h := w.host("a", hostOptions{loops: closing, limits: perMinute(60, 60)})
			time.Sleep(10 * time.Second) // the loop looks once; it closes after a minute
			calls := h.counting(func(call string) bool { return call != "now" })
			waits[closing] = loadsFor(t, h.node, 5*time.Minute, 400*time.Millisecond)
			if !closing {
				return
			}
			if n := calls.Load(); n != 0 {
				t.Errorf("%d calls of the seasons among loads that wait", n)
			}
			s := h.Status()
			if len(s.Waiting) != 1 || !strings.Contains(s.Waiting[0].Why, "request budget: background waited 2m30s") {
				t.Errorf("waiting: %+v", s.Waiting)
			}
			time.Sleep(5 * time.Minute)
			h.wantResult("C1S1", "Fish", "p000:1", "p001:1", "p002:1", "p003:1", "p004:1")
			if s := h.Status(); len(s.Waiting) != 0 {
				t.Errorf("closed, and still waiting: %+v", s.Waiting)
			}
		})
	}
	if diff := cmp.Diff(waits[false], waits[true]); diff != "" {
		t.Errorf("loads waited otherwise than without closing:\n%s", diff)
	}
	if slices.Max(waits[true]) < time.Minute {
		t.Error("the budget was not short")
	}
}

// The last values of a season reach its boards in time while loads want all reads there are,
// though the budget of the boards is much less than what is to be written at once.
func TestBoundaryWritesGetThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.host("a", hostOptions{loops: true, limits: perMinute(60, 120)})
		want := []string{"early:1"}
		var all []*session
		for i := range 100 {
			all = append(all, h.join(fmt.Sprintf("p%03d", i)))
		}
		h.play(h.join("early"), "catch", "coins") // the season's boards are there
		w.until(time.Hour - 2*time.Minute)
		go loadsFor(t, h.node, 6*time.Minute, 500*time.Millisecond)
		w.until(time.Hour - time.Second)
		for i, s := range all {
			h.play(s, "catch", "coins")
			want = append(want, fmt.Sprintf("p%03d:1", i))
		}
		time.Sleep(4 * time.Minute)
		page, err := w.engine.Boards().Page(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), 0, 200, store.Ordinal)
		if err != nil || len(page.Entries) != len(want) {
			t.Fatalf("%d of %d entries in time: %v", len(page.Entries), len(want), err)
		}
		if s := h.Status(); s.Short == 0 {
			t.Error("the budget was not short")
		}
		time.Sleep(10 * time.Minute)
		if _, err := h.Result(t.Context(), "C1S1"); err != nil {
			t.Error(err)
		}
	})
}

// A window that is larger than what the budget ever holds is written in parts; whoever waits
// longest goes first, so that nobody is passed over while others change without end.
func TestAWindowBeyondTheBudgetIsWrittenInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.host("a", hostOptions{loops: true, limits: perMinute(0, 60)})
		merges := h.counting(func(call string) bool { return strings.HasPrefix(call, "merge") })
		var all []*session
		for i := range 100 {
			all = append(all, h.join(fmt.Sprintf("p%03d", i)))
		}
		for range 20 { // everybody changes all the time
			for _, s := range all {
				h.play(s, "catch", "coins")
			}
			time.Sleep(15 * time.Second)
		}
		page, err := w.engine.Boards().Page(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), 0, 200, store.Ordinal)
		if err != nil || len(page.Entries) != len(all) {
			t.Errorf("%d of %d players on the board after 5 min: %v", len(page.Entries), len(all), err)
		}
		if spent := h.node.Gate()[node.ClassBoard]; merges.Load() < 8 || spent.Refused != 0 {
			t.Errorf("%d merges, %+v", merges.Load(), spent)
		}
	})
}

// greedy has saves take all that the budget ever holds, until ctx ends.
func greedy(ctx context.Context, n *node.Node) {
	for range 100 {
		go func() {
			for ctx.Err() == nil {
				_ = n.Pass(ctx, node.ClassSave, node.KindRead)
			}
		}()
	}
	go func() {
		for ctx.Err() == nil {
			_, _ = n.Prepay(ctx, node.ClassSave, 5)
		}
	}()
}

// Without any budget nothing waits for ever: each way ends in its time with an error that says
// so, and nothing is lost by it.
func TestNothingWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.dueSeason(3)
		h := w.host("a", hostOptions{limits: perMinute(60, 60)})
		ada, ben := w.profiles.load("ada"), w.profiles.load("ben")
		h.play(ada, "catch")
		h.play(ben, "catch")
		ctx, cancel := context.WithCancel(t.Context())
		greedy(ctx, h.node)
		synctest.Wait()
		within := func(what string, limit time.Duration, call func() error) {
			t.Helper()
			began := time.Now()
			err := call()
			if d := time.Since(began); d > limit || d == 0 {
				t.Errorf("%s took %v, at most %v expected", what, d, limit)
			}
			if err != nil && !errors.Is(err, node.ErrBudget) {
				t.Errorf("%s: %v", what, err)
			}
		}
		within("a join", 10*time.Second, func() error {
			_, err := h.Joined(t.Context(), w.profiles.load("p000"))
			if err == nil {
				t.Error("joined without a look")
			}
			return err
		})
		within("many joins", 10*time.Second, func() error {
			var wg sync.WaitGroup
			for i := range 150 {
				wg.Go(func() { _, _ = h.Joined(t.Context(), w.profiles.load(fmt.Sprintf("x%d", i))) })
			}
			wg.Wait()
			return nil
		})
		within("a leave", 4500*time.Millisecond, func() error { h.Left(t.Context(), ben); return nil })
		within("a window", 70*time.Second, func() error { return h.Window(t.Context()) })
		within("closing", 150*time.Second, func() error { _, err := h.CloseDue(t.Context()); return err })
		within("a sweep", 150*time.Second, func() error { _, err := h.Sweep(t.Context()); return err })
		within("an inspection", 150*time.Second, func() error { return h.Inspect(t.Context()) })
		if s := h.Status(); s.Outbox == 0 {
			t.Error("what could not be written does not wait")
		}
		cancel()
		time.Sleep(time.Minute)
		h.window()
		if got := h.closeDue(); !slices.Equal(got, []string{"C1S1"}) {
			t.Errorf("closed %v", got)
		}
		if s := h.Status(); s.Outbox != 0 || len(s.Waiting) != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A thousand who join at once cost one look, and it waits in the line of loads: a sweep that
// waits as background work does not hold it up.
func TestJoiningLooksOnceAndWaitsForNoSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.dueSeason(3)
		w.host("closer", hostOptions{}).closeDue()
		h := w.host("a", hostOptions{limits: perMinute(60, 0)})
		looks := h.counting(func(call string) bool { return strings.HasPrefix(call, "get") && strings.HasSuffix(call, "/result") })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 8 { // three of them wait at any time
			go func() {
				for ctx.Err() == nil {
					_ = h.node.Pass(ctx, node.ClassLoad, node.KindRead)
				}
			}()
		}
		synctest.Wait()
		if err := h.Record(w.profiles.load("p001"), season.Event{Name: "catch"}); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = h.Sweep(ctx) }()
		synctest.Wait()
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				if _, err := h.Joined(t.Context(), w.profiles.load(fmt.Sprintf("x%d", i))); err != nil {
					t.Errorf("join: %v", err)
				}
			})
		}
		if titles, err := h.Joined(t.Context(), w.profiles.load("p000")); err != nil || len(titles) != 1 {
			t.Errorf("titles %v: %v", titles, err)
		}
		wg.Wait()
		if d := time.Since(began); d > time.Minute {
			t.Errorf("the joins took %v", d)
		}
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks at results", n)
		}
	})
}
