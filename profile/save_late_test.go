package profile_test

import (
	"context"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A write of unknown outcome may land whatever becomes of the tries after it: Save does not say
// that nothing was done because the last of them was refused.
func TestASaveIsNotDeniedThatMayStillLand(t *testing.T) {
	for name, again := range map[string]bool{"one Save": false, "the next Save": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				s := a.load("u", nil)
				add(t, s, 5)
				late := nth(1, on("commit", "profile/"), faultstore.Late)
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					if fault := late(c); fault.Kind != faultstore.Pass || !onRecords(c) || c.Op == "get" && !again {
						return fault
					}
					return faultstore.Fault{Kind: faultstore.FailBefore}
				})
				if again { // the answer is lost, and so is every look at what became of it
					if err := s.Save(t.Context()); store.OutcomeOf(err) != store.Unknown {
						t.Fatalf("first: %v", err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := s.Save(ctx)
				a.faults.Crash()
				a.faults.Land()
				if done := coins(f.storedData("u")) == 5; store.OutcomeOf(err) == store.NotDone && done {
					t.Errorf("told %v, and it is stored", err)
				} else if !done {
					t.Error("the write never landed: the test shows nothing")
				}
			})
		})
	}
}
