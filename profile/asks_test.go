package profile_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// The ask of a load that was cancelled lands after the load has ended.
func TestAnAskThatLandsAfterItsLoadEndsNoSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		sess := a.load("u", nil)
		time.Sleep(5 * time.Second)
		b.faults.SetRule(faultstore.First(
			nth(1, on("commit", "note/"), faultstore.Late),
			func(c faultstore.Call) faultstore.Fault {
				if c.Op == "publish" {
					return faultstore.Fault{Kind: faultstore.Lose}
				}
				return faultstore.Fault{}
			},
		))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := b.Load(ctx, "u", nil); err == nil {
			t.Fatal("loaded")
		}
		time.Sleep(2 * time.Second)
		if n := b.faults.Land(); n != 1 {
			t.Fatalf("%d late calls", n)
		}
		time.Sleep(10 * time.Second)
		if why := sess.Reason(); why != 0 {
			t.Errorf("the session was %v, and nobody waits for it", why)
		}
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// A node with little budget looks after a token in the background, until somebody asks for it.
func TestANoteHurriesADisownedToken(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		a.spend(node.KindRead, 55)
		a.faults.SetRule(nth(1, on("commit", "profile/"), faultstore.HangApplied))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := a.Load(ctx, "u", nil); err == nil {
			t.Fatal("loaded")
		}
		stop := make(chan struct{})
		var saves sync.WaitGroup
		saves.Go(func() { // saves read now and then: the reserve never fills up
			for {
				select {
				case <-stop:
					return
				case <-time.After(900 * time.Millisecond):
					a.spend(node.KindRead, 1)
				}
			}
		})
		time.Sleep(2 * time.Second)
		if s := f.stored("u").Session; s == nil || s.Node != a.node.ID() {
			t.Fatalf("the record names no token of a: %+v", s)
		}
		var err error
		d := took(func() { _, err = b.Load(t.Context(), "u", &profile.LoadOptions{Policy: profile.Wait}) })
		close(stop)
		saves.Wait()
		if err != nil || d > 15*time.Second {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

// Loads that wait for another node ask once for all of them while the store is down.
func TestWaitingLoadsAskOnceWhileTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		for i := range 30 {
			a.load(fmt.Sprint("u", i), nil)
		}
		time.Sleep(5 * time.Second)
		a.faults.SetRule(always(func(c faultstore.Call) bool { return c.Op == "scan" || c.Part == faultstore.Bus },
			faultstore.Fault{Kind: faultstore.FailBefore})) // it lives and hears no asks
		reads := &count{match: on("get", "profile/")}
		var down atomic.Bool // an Outage would hide the calls from the count
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			reads.rule(c)
			if down.Load() && c.Part == faultstore.Durable {
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		})
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				_, err := b.Load(t.Context(), fmt.Sprint("u", i), &profile.LoadOptions{Policy: profile.Wait, Wait: time.Minute})
				if err == nil {
					t.Error("loaded")
				}
			})
		}
		synctest.Wait()
		reads.take()
		down.Store(true)
		time.Sleep(30 * time.Second)
		if n := reads.take(); n > 90 {
			t.Errorf("%d reads in 30 s of outage, by 30 loads", n)
		}
		wg.Wait()
	})
}

// The fast store takes no ask; the record takes it, and the answer is lost.
func TestAnAskInTheRecordCountsThoughItsAnswerWasLost(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		a.load("u", nil)
		time.Sleep(5 * time.Second)
		a.faults.Outage(faultstore.All, true)
		b.faults.SetRule(faultstore.First(
			nth(1, on("commit", "profile/"), faultstore.FailAfter),
			always(func(c faultstore.Call) bool { return c.Part == faultstore.Fast && c.Write }, faultstore.Fault{Kind: faultstore.FailBefore}),
		))
		ctx, cancel := context.WithTimeout(t.Context(), 80*time.Second)
		defer cancel()
		sess, err := b.Load(ctx, "u", nil)
		if err != nil {
			t.Fatalf("not taken by policy within 80 s: %v", err)
		}
		if e := sess.Loaded().Evidence; e != profile.EvidencePolicy {
			t.Errorf("evidence %q", e)
		}
	})
}

// Of many nodes that have left markers each is looked at some time.
func TestAWideRoundGetsToEveryNode(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		for i := range 300 { // of sets that are nowhere open
			f.plant(f.raw.Fast(), node.EstatePrefix(fmt.Sprintf("a%03d-00000000", i))+"guilds/g", `{"token":"x"}`)
		}
		z := f.start("z", &profile.Options{JournalEvery: time.Second})
		b := f.start("b", &profile.Options{JournalEvery: time.Second})
		sess := z.load("u", nil)
		add(t, sess, 1)
		if err := sess.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		z.kill()
		if err := f.raw.Fast().Commit(t.Context(), store.Tx{{Key: "node/" + z.node.ID(), Op: store.Delete}})[0]; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if s := f.stored("u").Session; s != nil {
			t.Errorf("an hour later the journaled session of a node that is gone is not saved: %+v", s)
		}
		if got := b.Stats().Reaped; got != 1 {
			t.Errorf("%d reaped", got)
		}
	})
}

// A holder that is cut off from the fast store alone reads no notes, and says that its beats
// do not land. A newcomer that reaches the fast store leaves its ask there and in the record:
// it is handed over at the holder's next save, and nothing is lost.
func TestAHolderCutOffFromItsNotesHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		s := a.load("u", nil)
		a.faults.Outage(faultstore.Fast, true)
		a.faults.Outage(faultstore.Bus, true)
		time.Sleep(30300 * time.Millisecond)
		add(t, s, 7)
		got := b.load("u", nil)
		if got.Loaded().How != profile.Granted || coins(got.Data()) != 7 || s.Reason() != profile.HandedOver {
			t.Errorf("%+v with %v; the holder's session: %v", got.Loaded(), got.Data(), s.Reason())
		}
		if w := got.Loaded().Waited; w > 32*time.Second {
			t.Errorf("waited %v, at most FallbackSave and a moment expected", w)
		}
	})
}
