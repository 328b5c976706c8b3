package profile_test

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A look at the beat says nothing about a record that was written after it: a holder whose
// beats come back says so in its record, and is not taken for dead by what was seen before.
func TestAHolderThatComesBackIsNotJudgedByAnOlderLook(t *testing.T) {
	robbed := 0
	for offset := time.Duration(0); offset < 2*time.Second; offset += 100 * time.Millisecond {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.start("a", journaling()), f.start("b", journaling())
			s := a.load("u", nil)
			add(t, s, 5)
			syncNow(t, s)
			time.Sleep(5300 * time.Millisecond) // between two of a's reads of its notes
			a.faults.Outage(faultstore.Fast|faultstore.Bus, true)
			b.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore})) // its ask does not get into the record
			loaded := make(chan *profile.Session, 1)
			go func() { loaded <- b.load("u", &profile.LoadOptions{Policy: profile.Wait}) }()
			time.Sleep(10*time.Second + offset)
			if st := f.stored("u").Session; st == nil || st.Node != a.node.ID() || st.Beating {
				t.Fatalf("%+v", st)
			}
			a.faults.Outage(faultstore.Fast|faultstore.Bus, false)
			b.faults.SetRule(nil)
			next := <-loaded
			if l := next.Loaded(); l.How != profile.Granted {
				robbed++
				t.Logf("offset %v: %+v; the old session: %v", offset, l, s.Reason())
			}
		})
	}
	if robbed > 0 {
		t.Errorf("%d of 20 taken from a living holder", robbed)
	}
}
