package node_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// Background work that comes more often than it is looked for is let through all the same.
func TestBackgroundWorkIsNotPutOffByWhatComesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := node.NewGate(node.Limits{Node: node.Rates{Read: node.Rate{Base: 600}}}, nobody)
		drain(t, g, 305) // a little more than the half that background work may take of
		var (
			mu      sync.Mutex
			slowest time.Duration
			wg      sync.WaitGroup
		)
		for range 180 { // three a second for a minute, of ten that come in
			wg.Go(func() {
				start := time.Now()
				if err := g.Pass(t.Context(), node.ClassBackground, node.KindRead, 1); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				slowest = max(slowest, time.Since(start))
			})
			time.Sleep(333 * time.Millisecond)
		}
		wg.Wait()
		if slowest > 5*time.Second {
			t.Errorf("a read waited %v for a budget of which a third was used", slowest)
		}
	})
}

// Looks that are under way whenever a mark is written do not keep the node from judging.
func TestALookUnderWayDoesNotThrowAMarkAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(&memstore.Options{Apart: true})
		faults := faultstore.New(nil)
		faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Op == "get" && c.Part == faultstore.Fast && len(c.Keys) > 2 {
				return faultstore.Fault{Back: 200 * time.Millisecond}
			}
			return faultstore.Fault{}
		})
		st, err := store.New(faults.Wrap(e.Parts()))
		if err != nil {
			t.Fatal(err)
		}
		n, err := node.Start(t.Context(), st, &node.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = n.Close(context.Background()) }()
		time.Sleep(10 * time.Second)
		e.Forget(memstore.Fast)
		var (
			mu  sync.Mutex
			may int
			wg  sync.WaitGroup
		)
		for range 200 { // for twenty seconds
			wg.Go(func() {
				if l, err := n.Look(t.Context(), "gone"); err == nil && l.MayJudge {
					mu.Lock()
					defer mu.Unlock()
					may++
				}
			})
			time.Sleep(100 * time.Millisecond)
		}
		wg.Wait()
		if may == 0 {
			t.Error("20 s after the fast store lost its memory the node does not judge")
		}
	})
}
