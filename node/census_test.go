package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

func refuse(store.Tx) (bool, error) { return false, store.ErrUnavailable }

func TestDeadNodesAreKnownAfterTwentyBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(30 * time.Second)
		if dead := b.Dead(); len(dead) != 0 {
			t.Fatalf("live nodes are dead: %+v", dead)
		}
		tamper.set(refuse)
		time.Sleep(20*time.Second + 100*time.Millisecond)
		dead := b.Dead()
		if len(dead) != 1 || dead[0].Node != a.ID() || dead[0].Evidence != node.EvidenceAge || dead[0].Age < 4*time.Second {
			t.Fatalf("%+v, want a by its age", dead)
		}
		if got := a.Dead(); len(got) != 0 {
			t.Errorf("a node whose beats do not land judges: %+v", got)
		}
		tamper.set(func(store.Tx) (bool, error) { return true, nil })
		time.Sleep(12 * time.Second)
		if dead := b.Dead(); len(dead) != 0 {
			t.Errorf("it beats again, and is dead still: %+v", dead)
		}
	})
}

// A store whose clock stands still shows no ages: the beat that does not move is evidence.
func TestDeadByABeatThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		_, tamper := f.start(&node.Options{Name: "a"})
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(5500 * time.Millisecond)
		tamper.set(refuse)
		f.engine.StepClock(memstore.Durable|memstore.Fast, -time.Hour)
		time.Sleep(35 * time.Second)
		if dead := b.Dead(); len(dead) != 1 || dead[0].Evidence != node.EvidenceUnmoved {
			t.Fatalf("%+v, want unmoved", dead)
		}
	})
}

func TestClosedInOrderIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		c, _ := f.start(&node.Options{Name: "c"})
		b, _ := f.start(&node.Options{Name: "b"})
		c.OnClose(node.StageSessions, "profiles", func(context.Context) (int, error) { return 1, nil })
		time.Sleep(5 * time.Second)
		for _, n := range []*node.Node{a, c} {
			if _, err := n.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(21 * time.Second)
		dead := b.Dead()
		if len(dead) != 1 || dead[0].Node != c.ID() || dead[0].Evidence != node.EvidenceClosed {
			t.Fatalf("%+v, want c alone, which closed with a session left", dead)
		}
	})
}

// When the store returns, the beats of all nodes are old at once, and then move again.
func TestOutageKillsNobodyInTheCensus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		nodes, tampers := make([]*node.Node, 3), make([]*records, 3)
		for i := range nodes {
			nodes[i], tampers[i] = f.start(nil)
			time.Sleep(300 * time.Millisecond)
		}
		for range 10 {
			for _, r := range tampers {
				r.set(refuse)
			}
			time.Sleep(17 * time.Second)
			for _, r := range tampers {
				r.set(func(store.Tx) (bool, error) { return true, nil })
			}
			for range 100 {
				for _, n := range nodes {
					if dead := n.Dead(); len(dead) != 0 {
						t.Fatalf("a live node is dead: %+v", dead)
					}
				}
				time.Sleep(70 * time.Millisecond)
			}
		}
	})
}

// Two steps of the store's clock that undo each other leave a beat that was stamped between
// them an hour old, and every record of the looker's honest.
func TestClockStepsThatUndoEachOtherKillNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		time.Sleep(500 * time.Millisecond)
		b, _ := f.start(&node.Options{Name: "b"})
		wrong := 0
		for range 20 {
			time.Sleep(5*time.Second - 600*time.Millisecond) // between b's beat and a's
			f.engine.StepClock(memstore.Durable|memstore.Fast, -time.Minute)
			time.Sleep(200 * time.Millisecond) // after a's beat
			f.engine.StepClock(memstore.Durable|memstore.Fast, time.Minute)
			time.Sleep(100 * time.Millisecond)
			look, err := b.Look(t.Context(), a.ID())
			if err != nil {
				t.Fatal(err)
			}
			if look.MayJudge && look.Age > 4*time.Second {
				wrong++
			}
			if v, e := node.Judge(node.Held{Beating: true}, look, look, b.Rules()); v == node.Dead {
				t.Fatalf("a live node is dead by %s at an age of %v", e, look.Age)
			}
			time.Sleep(300 * time.Millisecond)
		}
		if wrong == 0 {
			t.Error("no look was misled: the test shows nothing")
		}
	})
}
