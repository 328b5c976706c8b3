package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// afterAnOutage has two nodes beat, one at the full seconds and one 900 ms later. At 10 s the
// fast store is down for both until 15.95 s. It answers how the first judges the second at
// 17.55 s, when it may judge again.
func afterAnOutage(t *testing.T, forgets bool, spoil func(f *faultstore.Faults)) node.Verdict {
	t.Helper()
	e := memstore.New(&memstore.Options{Apart: true})
	begun := time.Now()
	until := func(d time.Duration) { time.Sleep(time.Until(begun.Add(d))) }
	start := func(name string) (*node.Node, *faultstore.Faults) {
		f := faultstore.New(nil)
		st, err := store.New(f.Wrap(e.Parts()))
		if err != nil {
			t.Fatal(err)
		}
		n, err := node.Start(t.Context(), st, &node.Options{Name: name, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		return n, f
	}
	a, downA := start("a")
	defer func() { _, _ = a.Close(context.Background()) }()
	until(900 * time.Millisecond)
	b, downB := start("b")
	defer func() { _, _ = b.Close(context.Background()) }()

	until(9950 * time.Millisecond)
	if forgets {
		e.Forget(memstore.Fast)
	}
	until(10100 * time.Millisecond) // a has met that; b has not
	first, err := a.Look(t.Context(), b.ID())
	if err != nil {
		t.Fatal(err)
	}
	downA.Outage(faultstore.Fast, true)
	downB.Outage(faultstore.Fast, true)
	until(15950 * time.Millisecond)
	downA.Outage(faultstore.Fast, false)
	downB.Outage(faultstore.Fast, false)
	if spoil != nil {
		spoil(downB)
	}
	until(17550 * time.Millisecond)
	latest, err := a.Look(t.Context(), b.ID())
	if err != nil {
		t.Fatal(err)
	}
	v, evidence := node.Judge(node.Held{Beating: true}, node.FirstLook(first, latest), latest, a.Rules())
	t.Log(v, evidence)
	return v
}

// One node has met the memory loss before the outage, and the other meets it afterwards.
func TestAMemoryLossAndAnOutageKillNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if v := afterAnOutage(t, true, nil); v == node.Dead {
			t.Error("a living node is dead")
		}
	})
}

// The first beat of a node after an outage fails once more.
func TestABeatThatFailsAfterAnOutageKillsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if v := afterAnOutage(t, false, func(f *faultstore.Faults) {
			f.SetRule(faultstore.Nth(1, func(c faultstore.Call) bool { return c.Op == "commit" }, faultstore.Fault{Kind: faultstore.FailBefore}))
		}); v == node.Dead {
			t.Error("a living node is dead")
		}
	})
}
