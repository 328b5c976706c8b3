package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

func TestAllowed(t *testing.T) {
	own := node.Limits{Node: node.Rates{Read: node.Rate{Base: 60, PerPlayer: 10}}}
	both := own
	both.Fleet.Read = node.Rate{Base: 300, PerPlayer: 2}
	for _, c := range []struct {
		what               string
		limits             node.Limits
		here, fleet, nodes int
		want               float64
	}{
		{"no limit", node.Limits{}, 100, 100, 1, 0},
		{"base and players", own, 5, 5, 1, 110},
		{"alone in the fleet: the smaller", both, 100, 100, 1, 500},
		{"share of the fleet by players", both, 10, 100, 4, 50},
		{"no players yet: a tenth of an equal share", both, 0, 100, 4, 12.5},
		{"nobody anywhere: an equal share", both, 0, 0, 3, 60},
	} {
		if got := node.Allowed(c.limits, node.KindRead, c.here, c.fleet, c.nodes); got != c.want {
			t.Errorf("%s: %v a minute, want %v", c.what, got, c.want)
		}
	}
}

// sixty is one read a second, and sixty at once.
func sixty() node.Limits {
	return node.Limits{Node: node.Rates{Read: node.Rate{Base: 60}}}
}

func nobody() int { return 0 }

func TestUnlimitedKindsPass(t *testing.T) {
	g := node.NewGate(sixty(), nobody)
	for range 1000 {
		if err := g.Pass(t.Context(), node.ClassBackground, node.KindWrite, 100); err != nil {
			t.Fatal(err)
		}
	}
}

// drain spends n reads as a save would.
func drain(t *testing.T, g node.Gate, n int) {
	t.Helper()
	if err := g.Pass(t.Context(), node.ClassSave, node.KindRead, n); err != nil {
		t.Fatal(err)
	}
}

func TestLoadsLeaveAReserveForSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := node.NewGate(sixty(), nobody)
		start := time.Now()
		for range 50 {
			if err := g.Pass(t.Context(), node.ClassLoad, node.KindRead, 1); err != nil {
				t.Fatal(err)
			}
		}
		if g.Spare(node.ClassLoad) || !g.Spare(node.ClassSave) {
			t.Error("the reserve of 10 is not kept for saves")
		}
		drain(t, g, 10)
		if time.Since(start) != 0 {
			t.Errorf("waited %v although the budget was there", time.Since(start))
		}
		if err := g.Pass(t.Context(), node.ClassLoad, node.KindRead, 1); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 11*time.Second || waited > 12*time.Second {
			t.Errorf("a load went on after %v, want when the reserve is full again and one more", waited)
		}
	})
}

// Background work leaves half of what the budget holds: what it takes must not be missed by the
// loads that come next.
func TestBackgroundLeavesHalfForLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := node.NewGate(sixty(), nobody)
		start := time.Now()
		for range 30 {
			if err := g.Pass(t.Context(), node.ClassBackground, node.KindRead, 1); err != nil {
				t.Fatal(err)
			}
		}
		if g.Spare(node.ClassBackground) || !g.Spare(node.ClassLoad) || time.Since(start) != 0 {
			t.Errorf("background work took more or less than half, in %v", time.Since(start))
		}
		for range 20 {
			if err := g.Pass(t.Context(), node.ClassLoad, node.KindRead, 1); err != nil || time.Since(start) != 0 {
				t.Fatalf("a load waited %v: %v", time.Since(start), err)
			}
		}
		if err := g.Pass(t.Context(), node.ClassBackground, node.KindRead, 1); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < 21*time.Second || waited > 22*time.Second {
			t.Errorf("background work went on after %v, want when half is there again and one more", waited)
		}
	})
}

func TestSavesGoBeforeLoadsBeforeBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := node.NewGate(sixty(), nobody)
		drain(t, g, 60)
		var (
			mu    sync.Mutex
			order []string
			wg    sync.WaitGroup
		)
		for i, c := range []node.Class{node.ClassBackground, node.ClassLoad, node.ClassSave, node.ClassLoad, node.ClassSave} {
			wg.Go(func() {
				if err := g.Pass(t.Context(), c, node.KindRead, 1); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprintf("%v%d", c, i))
			})
			synctest.Wait()
		}
		wg.Wait()
		if want := []string{"save2", "save4", "load1", "load3", "background0"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if s := g.Stats()[node.ClassSave]; s.Waited != 2 || s.Queue != 0 || s.Wait < 3*time.Second {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestBackgroundGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := node.NewGate(sixty(), nobody)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { // saves that take all there is
			for ctx.Err() == nil {
				_ = g.Pass(ctx, node.ClassSave, node.KindRead, 5)
			}
		}()
		synctest.Wait()
		start := time.Now()
		err := g.Pass(t.Context(), node.ClassBackground, node.KindRead, 1)
		if waited := time.Since(start); waited != 150*time.Second {
			t.Errorf("waited %v, want 150 s", waited)
		}
		if !errors.Is(err, node.ErrBudget) || store.OutcomeOf(err) != store.NotDone {
			t.Errorf("%v, want a budget error that says not done", err)
		}
	})
}

func TestCancelledCallFreesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := node.NewGate(sixty(), nobody)
		drain(t, g, 60)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		big := make(chan error, 1)
		go func() { big <- g.Pass(ctx, node.ClassSave, node.KindRead, 60) }()
		synctest.Wait()
		start := time.Now()
		if err := g.Pass(t.Context(), node.ClassSave, node.KindRead, 1); err != nil {
			t.Fatal(err)
		}
		if err := <-big; !errors.Is(err, context.DeadlineExceeded) || store.OutcomeOf(err) != store.NotDone {
			t.Errorf("cancelled: %v", err)
		}
		if waited := time.Since(start); waited > 1100*time.Millisecond {
			t.Errorf("the call behind a cancelled one waited %v", waited)
		}
		if err := g.Pass(ctx, node.ClassSave, node.KindRead, 1); err == nil {
			t.Error("an ended context passes")
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sixty()
		l.Queue = 2
		g := node.NewGate(l, nobody)
		drain(t, g, 60)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _ = g.Pass(t.Context(), node.ClassLoad, node.KindRead, 1) })
		}
		synctest.Wait()
		if err := g.Pass(t.Context(), node.ClassLoad, node.KindRead, 1); !errors.Is(err, node.ErrBudget) {
			t.Errorf("third waiter: %v", err)
		}
		wg.Wait()
	})
}

func TestMoreThanAFullPurseGoesWithADebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := node.NewGate(sixty(), nobody)
		start := time.Now()
		drain(t, g, 90)
		drain(t, g, 1)
		if waited := time.Since(start); waited < 31*time.Second {
			t.Errorf("the debt of 30 was paid after %v", waited)
		}
	})
}

// TestNeverMoreThanAllowed: in any window the gate lets through a full purse and what it
// gains meanwhile, at most, whatever comes when.
func TestNeverMoreThanAllowed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			players := 0
			l := node.Limits{Node: node.Rates{Read: node.Rate{Base: 60, PerPlayer: 6}}}
			g := node.NewGate(l, func() int { return players })
			start, passed := time.Now(), 0
			var wg sync.WaitGroup
			var mu sync.Mutex
			for range rapid.IntRange(1, 60).Draw(rt, "calls") {
				c := node.Class(rapid.IntRange(1, 4).Draw(rt, "class"))
				n := rapid.IntRange(1, 20).Draw(rt, "requests")
				patience := time.Duration(rapid.IntRange(1, 60).Draw(rt, "patience")) * time.Second
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					if g.Pass(ctx, c, node.KindRead, n) == nil {
						mu.Lock()
						defer mu.Unlock()
						passed += n
						if most := 60 + time.Since(start).Seconds() + 1; float64(passed) > most {
							t.Errorf("%d requests after %v", passed, time.Since(start))
						}
					}
				})
				time.Sleep(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "pause")) * time.Millisecond)
			}
			wg.Wait()
			for c, s := range g.Stats() {
				if s.Queue != 0 {
					t.Errorf("%v: %d still wait", c, s.Queue)
				}
			}
		})
	})
}

func TestNodeGivesEachClassItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		free, _ := f.start(&node.Options{Name: "free"})
		if free.For(node.ClassLoad) != free.Store() || free.Gate() != nil || !free.Spare(node.ClassLoad) {
			t.Error("without limits there is a gate")
		}
		n, _ := f.start(&node.Options{Name: "metered", Limits: node.Limits{
			Node: node.Rates{Read: node.Rate{Base: 60}, Write: node.Rate{Base: 60}, List: node.Rate{Base: 60}},
		}})
		load, save := n.For(node.ClassLoad).Durable(), n.For(node.ClassSave).Durable()
		start := time.Now()
		for i := range 51 {
			if _, err := load.Get(t.Context(), fmt.Sprint("k", i)); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(start) < time.Second {
			t.Error("51 reads went through with a reserve of 10 of 60")
		}
		if _, err := load.Get(t.Context(), "a", "a"); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("checks are lost behind the gate: %v", err)
		}
		put := store.Tx{{Key: "p", Op: store.Put, Value: []byte("1"), Version: 5}}
		if err := save.Commit(t.Context(), put)[0]; err != nil {
			t.Fatal(err)
		}
		if got := n.Gate(); got[node.ClassSave].Passed != 1 || got[node.ClassLoad].Passed < 51 {
			t.Errorf("counts %+v", got)
		}
		if !n.Beating() {
			t.Error("the beat waits for the budget")
		}
	})
}

func TestPlayersAreCountedInBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		a.CountPlayers(func() int { return 40 })
		a.CountPlayers(func() int { return 2 })
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(2500 * time.Millisecond)
		members, err := b.Fleet(t.Context())
		if err != nil || members[0].Players != 42 || members[1].Players != 0 {
			t.Fatalf("%+v %v", members, err)
		}
	})
}
