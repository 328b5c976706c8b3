package profile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// An autosave that holds everything is under way: Save waits for it, and not for a write of its
// own, which would be sent at once when that one fails.
func TestASaveJoinsTheWriteUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{JournalEvery: -1, Autosave: time.Minute})
		s := a.load("u", nil)
		writes := &count{match: on("commit", "profile/")}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			writes.rule(c)
			return always(writes.match, faultstore.Fault{Kind: faultstore.FailBefore, Delay: time.Second})(c)
		})
		add(t, s, 1)
		for writes.take() == 0 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if err := s.Save(context.Background()); store.OutcomeOf(err) != store.NotDone {
			t.Errorf("save: %v", err)
		}
		synctest.Wait()
		if n := writes.take(); n != 0 {
			t.Errorf("%d writes more at the moment of the failure", n)
		}
		a.faults.SetRule(nil)
		save(t, s)
		if v, _ := s.Stored(); coins(v) != 1 {
			t.Errorf("stored %v", v)
		}
	})
}
