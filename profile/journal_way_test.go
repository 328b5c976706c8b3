package profile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// While a beat of the node takes long, its journals wait for the answer. They go on when there is
// none, and beats that hang for ever do not hold them up for ever.
func TestJournalsGiveWayToASlowBeat(t *testing.T) {
	for name, c := range map[string]struct {
		beats    faultstore.Fault
		from, to time.Duration // since the beat, when the Sync is answered
	}{
		"quick":   {faultstore.Fault{}, 500 * time.Millisecond, 510 * time.Millisecond},
		"slow":    {faultstore.Fault{Back: 700 * time.Millisecond}, 700 * time.Millisecond, 710 * time.Millisecond},
		"hanging": {faultstore.Fault{Kind: faultstore.Hang}, time.Second, 1010 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				begun := time.Now()
				a := f.start("a", &profile.Options{JournalEvery: time.Hour})
				s := a.load("u1", nil)
				for range 2 { // opens the journal
					if _, err := s.Transact(game, doc.Increment("/coins", 1)); err != nil {
						t.Fatal(err)
					}
					if err := s.Sync(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				a.faults.SetRule(func(call faultstore.Call) faultstore.Fault {
					if on("commit", "node/")(call) {
						return c.beats
					}
					return faultstore.Fault{}
				})
				const beat = 3 * time.Second
				time.Sleep(beat + 500*time.Millisecond - time.Since(begun))
				if _, err := s.Transact(game, doc.Increment("/coins", 1)); err != nil {
					t.Fatal(err)
				}
				if err := s.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				if at := time.Since(begun) - beat; at < c.from || at > c.to {
					t.Errorf("synced %v after the beat, want %v to %v", at, c.from, c.to)
				}
				synctest.Wait()
			})
		})
	}
}
