package node_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// both are one read and one write a second, and sixty at once.
func both() node.Limits {
	return node.Limits{Node: node.Rates{Read: node.Rate{Base: 60}, Write: node.Rate{Base: 60}}}
}

// limited runs a test with a node that has spent what it may write.
func limited(t *testing.T, test func(t *testing.T, n *node.Node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n, _ := newFleet(t).start(&node.Options{Limits: both()})
		for range 60 {
			if err := n.Pass(t.Context(), node.ClassSave, node.KindWrite); err != nil {
				t.Fatal(err)
			}
		}
		test(t, n)
	})
}

// A call goes behind those only that wait for the same kind of request.
func TestKindsDoNotHoldUpEachOther(t *testing.T) {
	limited(t, func(t *testing.T, n *node.Node) {
		turn, err := n.Enter(node.ClassSave, node.KindWrite)
		if turn == nil || err != nil {
			t.Fatalf("%v %v", turn, err)
		}
		start := time.Now()
		if err := n.Pass(t.Context(), node.ClassBackground, node.KindRead); err != nil || time.Since(start) != 0 {
			t.Errorf("a read behind a save that waits to write: %v after %v", err, time.Since(start))
		}
		if err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < time.Second || d > 1100*time.Millisecond {
			t.Errorf("the save waited for %v", d)
		}
	})
}

// The first request of a load takes from the reserve, unless somebody waits for the same.
func TestFirstRequestTakesFromTheReserve(t *testing.T) {
	limited(t, func(t *testing.T, n *node.Node) {
		time.Sleep(5100 * time.Millisecond) // half of the reserve
		start := time.Now()
		if err := n.PassFirst(t.Context(), node.KindWrite); err != nil || time.Since(start) != 0 {
			t.Errorf("first: %v after %v", err, time.Since(start))
		}
		turn, err := n.Enter(node.ClassLoad, node.KindWrite)
		if turn == nil || err != nil {
			t.Fatalf("second: %v %v", turn, err)
		}
		if err := n.PassFirst(t.Context(), node.KindWrite); err != nil || time.Since(start) < 7*time.Second {
			t.Errorf("behind another load: %v after %v", err, time.Since(start))
		}
		if err := turn.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A place is taken in the order of Enter, and can be changed for one in the line of saves.
func TestHurry(t *testing.T) {
	limited(t, func(t *testing.T, n *node.Node) {
		var turns []*node.Turn
		for _, c := range []node.Class{node.ClassBackground, node.ClassLoad, node.ClassSave} {
			turn, err := n.Enter(c, node.KindWrite)
			if turn == nil || err != nil {
				t.Fatalf("%v: %v %v", c, turn, err)
			}
			turns = append(turns, turn)
		}
		start := time.Now()
		turns[0].Hurry()
		turns[0].Hurry() // twice is once
		if q := n.Gate()[node.ClassSave].Queue; q != 2 {
			t.Errorf("%d saves wait", q)
		}
		for i, want := range map[int]time.Duration{0: 2 * time.Second, 1: 13 * time.Second, 2: time.Second} {
			go func() {
				if err := turns[i].Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d < want || d > want+100*time.Millisecond {
					t.Errorf("turn %d after %v, want %v", i, d, want)
				}
			}()
		}
		time.Sleep(20 * time.Second)
		turns[2].Hurry() // its turn has been
		if g := n.Gate(); g[node.ClassSave].Queue+g[node.ClassLoad].Queue+g[node.ClassBackground].Queue != 0 {
			t.Errorf("%+v", g)
		}
	})
}

// Background work that was hurried does not give up any more, and what was given up can be
// hurried without harm.
func TestHurriedWorkDoesNotGiveUp(t *testing.T) {
	limited(t, func(t *testing.T, n *node.Node) {
		for range 200 { // what comes in for 200 s
			if _, err := n.Enter(node.ClassSave, node.KindWrite); err != nil {
				t.Fatal(err)
			}
		}
		hurried, err := n.Enter(node.ClassBackground, node.KindWrite)
		if err != nil {
			t.Fatal(err)
		}
		patient, err := n.Enter(node.ClassBackground, node.KindWrite)
		if err != nil {
			t.Fatal(err)
		}
		hurried.Hurry()
		start := time.Now()
		if err := patient.Wait(t.Context()); !errors.Is(err, node.ErrBudget) || store.OutcomeOf(err) != store.NotDone || time.Since(start) != 150*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		patient.Hurry()
		if err := hurried.Wait(t.Context()); err != nil || time.Since(start) < 200*time.Second || time.Since(start) > 202*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestWithoutLimitsNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := newFleet(t).start(&node.Options{})
		turn, err := n.Enter(node.ClassBackground, node.KindList)
		if turn != nil || err != nil || n.Limited() {
			t.Errorf("%v %v, limited: %v", turn, err, n.Limited())
		}
	})
}
