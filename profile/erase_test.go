package profile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/store/faultstore"
)

// A write of the journal, or of the marker, that was taken for lost lands when the session has
// ended and tidied up: it is removed all the same.
func TestWhatLandsAfterTheEndIsRemoved(t *testing.T) {
	for _, prefix := range []string{"journal/", "journaled/"} {
		t.Run(prefix, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", journaling())
				s := a.load("u", nil)
				a.faults.SetRule(faultstore.Nth(1, on("commit", prefix), faultstore.Fault{Kind: faultstore.Late, After: 5 * time.Second}))
				for range 3 {
					add(t, s, 1)
					syncNow(t, s)
				}
				release(t, s)
				time.Sleep(2 * time.Minute)
				if left := f.keysUnder("journal"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// A close waits for the append that is under way, and removes what it leaves.
func TestACloseTidiesUpAfterAnAppendInFlight(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", journaling())
		s := a.load("u", nil)
		a.faults.SetRule(always(on("commit", "journal"), faultstore.Fault{Delay: time.Second}))
		add(t, s, 1)
		go func() { _ = s.Sync(context.Background()) }()
		synctest.Wait()
		if _, err := a.node.Close(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if left := f.keysUnder("journal"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// What a node could not tidy up before its end is tidied up by others.
func TestMarkersOfNodesThatAreGoneAreRemoved(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", journaling())
		f.start("b", journaling())
		s := a.load("u", nil)
		add(t, s, 1)
		syncNow(t, s)
		a.faults.SetRule(always(on("commit", "journal"), faultstore.Fault{Kind: faultstore.FailBefore}))
		release(t, s)
		if _, err := a.node.Close(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(30 * time.Minute)
		if left := f.keysUnder("journal"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}
