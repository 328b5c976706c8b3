package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// A store that has dropped one beat (an eviction, a hand that slipped) proves nothing about
// its owner, who beats again soon.
func TestABeatThatIsMissingOnceIsNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(5500 * time.Millisecond)
		st, _ := f.engine.Store()
		if err := st.Fast().Commit(t.Context(), store.Tx{{Key: "node/" + a.ID(), Op: store.Delete}})[0]; err != nil {
			t.Fatal(err)
		}
		if v, e := judgeBy(t, b, a.ID(), 0); v != node.Undecided {
			t.Errorf("at the first look: %v %q", v, e)
		}
		if v, e := judgeBy(t, b, a.ID(), 3*time.Second); v != node.Alive {
			t.Errorf("when it has beaten again: %v %q", v, e)
		}
	})
}

// Two beats that do not land are no death: their owner has DeadAfter.
func TestTwoMissedBeatsAreNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(5500 * time.Millisecond)
		tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
		for range 33 { // until 3.8 s after the last beat that landed
			if v, e := judgeBy(t, b, a.ID(), 0); v == node.Dead {
				t.Fatalf("dead by %s", e)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// A node knows that its beats are late before others may judge it by them.
func TestANodeIsSuspectBeforeItIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(5500 * time.Millisecond)
		tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
		for range 100 {
			time.Sleep(50 * time.Millisecond)
			if v, _ := judgeBy(t, b, a.ID(), 0); v == node.Dead {
				t.Fatal("dead before it was suspect")
			}
			if !a.Beating() {
				return
			}
		}
		t.Error("never suspect")
	})
}
