package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// Three living nodes look at each other all the time, while the store's clock steps, the store
// is down for all, forgets everything, and goes back in time: nobody is ever dead.
func TestNobodyDiesOfTheStore(t *testing.T) {
	first, seeds := uint64(0), uint64(6)
	if n, err := strconv.ParseUint(os.Getenv("SHOAL_SOUP_SEED"), 10, 64); err == nil {
		first, seeds = n, n+60
	}
	for seed := first; seed < seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { verdictSoup(t, seed) })
		})
	}
}

func verdictSoup(t *testing.T, seed uint64) {
	t.Helper()
	e := memstore.New(&memstore.Options{Apart: true})
	var nodes []*node.Node
	var faults []*faultstore.Faults
	for i := range 3 {
		f := faultstore.New(nil)
		st, err := store.New(f.Wrap(e.Parts()))
		if err != nil {
			t.Fatal(err)
		}
		n, err := node.Start(t.Context(), st, &node.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			f.SetRule(nil)
			_, _ = n.Close(context.Background())
		}()
		f.SetRule(faultstore.Chance(seed*10+uint64(i), faultstore.Odds{FailAfter: 0.005, Delay: 100 * time.Millisecond, Back: 100 * time.Millisecond}))
		nodes, faults = append(nodes, n), append(faults, f)
		time.Sleep(300 * time.Millisecond)
	}
	until := time.Now().Add(10 * time.Minute)
	var wg sync.WaitGroup
	for i, me := range nodes {
		for j, other := range nodes {
			if i == j {
				continue
			}
			wg.Go(func() { stare(t, me, other, until) })
		}
		wg.Go(func() {
			for time.Now().Before(until) {
				if dead := me.Dead(); len(dead) > 0 {
					t.Errorf("%s knows as dead: %+v", me.ID(), dead)
					return
				}
				time.Sleep(time.Second)
			}
		})
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	for time.Now().Before(until) {
		time.Sleep(time.Duration(rng.IntN(20_000)) * time.Millisecond)
		switch rng.IntN(5) {
		case 0:
			d := time.Duration(rng.IntN(60_000)) * time.Millisecond
			e.StepClock(memstore.Fast, d)
			time.Sleep(time.Duration(rng.IntN(6_000)) * time.Millisecond)
			e.StepClock(memstore.Fast, -d)
		case 1:
			e.StepClock(memstore.Fast, time.Duration(rng.IntN(20_000)-10_000)*time.Millisecond)
		case 2:
			e.Forget(memstore.Fast)
		case 4:
			old := e.Snapshot(memstore.Fast)
			time.Sleep(time.Duration(rng.IntN(2500)) * time.Millisecond)
			e.Restore(old)
		case 3:
			for _, f := range faults {
				f.Outage(faultstore.Fast, true)
			}
			time.Sleep(time.Duration(rng.IntN(12_000)) * time.Millisecond)
			for _, f := range faults {
				f.Outage(faultstore.Fast, false)
			}
		}
	}
	wg.Wait()
}

// stare looks as a load does that waits for a session of other.
func stare(t *testing.T, me, other *node.Node, until time.Time) {
	t.Helper()
	var first node.Look
	for time.Now().Before(until) {
		look, err := me.Look(t.Context(), other.ID())
		if err == nil {
			first = node.FirstLook(first, look)
			if v, evidence := node.Judge(node.Held{Beating: true}, first, look, me.Rules()); v == node.Dead {
				t.Errorf("a living node is dead: %s, age %v, seen for %v", evidence, look.Age, node.StillFor(first, look))
				return
			}
		}
		time.Sleep(250 * time.Millisecond)
	}
}
