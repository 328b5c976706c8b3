package node_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// A subscription that fails, or hangs, at the start does not hold up the node, and is tried
// again.
func TestASubscriptionIsTriedAgain(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.Hang} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := memstore.New(nil)
				faults := faultstore.New(nil)
				faults.SetRule(faultstore.Nth(1, func(c faultstore.Call) bool { return c.Op == "subscribe" }, faultstore.Fault{Kind: kind}))
				st, err := store.New(faults.Wrap(e.Parts()))
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				n, err := node.Start(ctx, st, &node.Options{Logger: quiet()})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _, _ = n.Close(context.Background()) }()
				if d := time.Since(begun); d > 5*time.Second {
					t.Errorf("the start took %v", d)
				}
				var heard atomic.Int64
				if _, err := n.Serve("players", func(node.Note) { heard.Add(1) }); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				if err := n.Tell(t.Context(), n.ID(), node.Note{Kind: node.NoteAsk, Set: "players", Key: "u", Node: "x"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if heard.Load() == 0 {
					t.Error("two minutes after the start the node hears no messages")
				}
			})
		})
	}
}

// A node that has found another process under its id leaves that one's records alone.
func TestAFailedNodeLeavesTheOthersRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n, _ := f.start(&node.Options{Name: "a"})
		time.Sleep(5 * time.Second)
		st, err := f.engine.Store()
		if err != nil {
			t.Fatal(err)
		}
		beat := store.Tx{{Key: "node/" + n.ID(), Op: store.Put, Value: []byte(`{"format":1,"id":"` + n.ID() + `"}`), Version: 99}}
		if err := errors.Join(st.Fast().Commit(t.Context(), beat)...); err != nil {
			t.Fatal(err)
		}
		<-n.Failed()
		f.put(node.NoteKey(n.ID(), "players", "u"))
		f.put(node.EstatePrefix(n.ID()) + "players/u")
		if _, err := n.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := f.keys("note/", node.EstateFolder, "node/"); len(got) != 3 {
			t.Errorf("left of the other's: %v", got)
		}
	})
}

// A failover of the fast store loses the last second: what stands there then is an earlier
// beat of this very node.
func TestAFailoverToAnEarlierBeatDoesNotEndTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n, _ := f.start(&node.Options{Name: "a"})
		time.Sleep(5 * time.Second)
		before := f.engine.Snapshot(memstore.Fast)
		time.Sleep(1500 * time.Millisecond)
		f.engine.Restore(before)
		time.Sleep(10 * time.Second)
		wantBeating(t, n)
	})
}

// A beat whose answer was lost may stand in a server that was replaced at that very time, and be
// there again when that one comes back: it is this node's as well.
func TestAFailoverToABeatWhoseAnswerWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		n, rec := f.start(&node.Options{Name: "a"})
		time.Sleep(5500 * time.Millisecond)
		replica := f.engine.Snapshot(memstore.Fast)
		rec.set(func(store.Tx) (bool, error) { return true, store.ErrUnknown })
		time.Sleep(time.Second) // one beat
		rec.fate.Store(nil)
		master := f.engine.Snapshot(memstore.Fast)
		f.engine.Restore(replica)
		time.Sleep(3 * time.Second) // beats land on the replica
		f.engine.Restore(master)
		time.Sleep(10 * time.Second)
		wantBeating(t, n)
	})
}

// wantBeating fails when a node has ended over its own beat, or does not beat.
func wantBeating(t *testing.T, n *node.Node) {
	t.Helper()
	select {
	case <-n.Failed():
		t.Error("the node takes its own beat for another's")
	default:
	}
	if !n.Beating() {
		t.Error("the node does not beat any more")
	}
}
