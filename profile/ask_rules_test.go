package profile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// This file holds tests that a mutant was found to need: nothing else saw it.

// loading loads in the background.
func loading(s *server, opts *profile.LoadOptions) <-chan error {
	errs := make(chan error, 1)
	go func() {
		_, err := s.Load(context.Background(), "u", opts)
		errs <- err
	}()
	return errs
}

// A holder that was deaf for a while finds an ask whose load has long ended.
func TestVoidAskThrowsNobodyOut(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, &profile.Options{LoadTimeout: 10 * time.Second})
		a.faults.SetRule(always(on("scan", "note/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		n := node.Note{Kind: node.NoteAsk, Set: "players", Key: "u", Token: "x", Node: "ghost-1", For: f.stored("u").Session.Token}
		f.plant(f.raw.Fast(), node.NoteKey(a.node.ID(), "players", "u"), string(n.Encode()))
		time.Sleep(12 * time.Second)
		a.faults.SetRule(nil)
		time.Sleep(3 * time.Second)
		if s.Reason() != 0 {
			t.Errorf("the player was thrown out for nobody: %v", s.Reason())
		}
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("the void ask is still there: %v", left)
		}
	})
}

// The fast store forgets the ask before the holder has read it.
func TestForgottenAskIsLeftAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		a.faults.Outage(faultstore.Bus, true)
		b := f.start("b", nil)
		time.Sleep(50 * time.Millisecond) // the holder has just read its notes
		f.engine.Forget(memstore.Fast)    // nobody judges for a while
		time.Sleep(2 * time.Second)
		second := loading(b, &profile.LoadOptions{Policy: profile.Wait, Wait: 10 * time.Second})
		synctest.Wait()
		f.engine.Forget(memstore.Fast)
		if err := <-second; err != nil {
			t.Fatalf("load: %v", err)
		}
		next, _ := b.Session("u")
		handedOver(t, s, next)
	})
}

// A load sees at one look that a newer one has asked, and that it has the session already:
// asking it in turn would end the session of the newer request.
func TestOutbidLoadLeavesTheWinnerAlone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		a.faults.Outage(faultstore.Bus, true)
		b := f.start("b", nil)
		time.Sleep(50 * time.Millisecond) // the holder has just read its notes
		second := loading(b, nil)
		synctest.Wait()
		// b sees nothing while the holder gives the session away, and the ask stays behind.
		b.faults.SetRule(always(on("get", ""), faultstore.Fault{Kind: faultstore.FailBefore}))
		a.faults.SetRule(always(on("commit", "note/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		n := node.Note{Kind: node.NoteAsk, Set: "players", Key: "u", Token: "x", Node: "ghost-1", For: f.stored("u").Session.Token}
		f.plant(f.raw.Fast(), node.NoteKey(a.node.ID(), "players", "u"), string(n.Encode()))
		<-s.Done()
		time.Sleep(time.Second)
		b.faults.SetRule(nil)
		if err := <-second; !errors.Is(err, profile.ErrOutbid) {
			t.Errorf("the second requester: %v", err)
		}
		if r := f.stored("u"); r.Session == nil || r.Session.Token != "x" {
			t.Errorf("the newest asker has lost the session: %+v", r)
		}
	})
}

// Two loads ask in the record, because the fast store is down: the newer one goes first.
func TestOutbidInTheRecord(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, s := held(t, f, &profile.Options{Autosave: 20 * time.Second})
		wait := &profile.Options{Policy: profile.Wait}
		b, c := f.start("b", wait), f.start("c", wait)
		for _, x := range []*server{b, c} {
			x.faults.Outage(faultstore.Bus|faultstore.Fast, true)
		}
		second := loading(b, nil)
		time.Sleep(4 * time.Second)
		next := c.load("u", nil)
		handedOver(t, s, next)
		if err := <-second; !errors.Is(err, profile.ErrOutbid) {
			t.Errorf("the second requester: %v", err)
		}
	})
}

// A holder that is cut off from the fast store cannot read its asks. Under Steal it has until
// after its next fallback save, and in time for that it is back.
func TestHolderInFallbackIsNotRobbedEarly(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		a.faults.Outage(faultstore.Bus|faultstore.Fast, true)
		time.Sleep(10 * time.Second)
		if f.stored("u").Session.Beating {
			t.Fatal("the record still vouches for the beats")
		}
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore})) // its saves come late
		errs := loading(b, &profile.LoadOptions{Policy: profile.Steal})
		time.Sleep(30 * time.Second)
		a.faults.SetRule(nil)
		a.faults.Outage(faultstore.Bus|faultstore.Fast, false)
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
		next, _ := b.Session("u")
		handedOver(t, s, next)
	})
}
