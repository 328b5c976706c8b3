package profile_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Who waits in Sync waits for no beat, however many came before.
func TestManySyncsDuringASlowBeat(t *testing.T) {
	for name, every := range map[string]time.Duration{"alone": time.Hour, "beside the list": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				begun := time.Now()
				a := f.start("a", &profile.Options{JournalEvery: every})
				var sessions []*profile.Session
				for i := range 20 {
					s := a.load(fmt.Sprintf("u%d", i), nil)
					sessions = append(sessions, s)
					for range 2 { // opens the journal
						if _, err := s.Transact(game, doc.Increment("/coins", 1)); err != nil {
							t.Fatal(err)
						}
						if err := s.Sync(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				a.faults.SetRule(func(call faultstore.Call) faultstore.Fault {
					if on("commit", "node/")(call) {
						return faultstore.Fault{Back: 950 * time.Millisecond}
					}
					return faultstore.Fault{}
				})
				const beat = 3 * time.Second
				time.Sleep(beat + 200*time.Millisecond - time.Since(begun))
				for i := range 10 {
					for _, s := range []*profile.Session{sessions[i], sessions[10+i]} {
						if _, err := s.Transact(game, doc.Increment("/coins", 1)); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(30 * time.Millisecond)
					from := time.Now()
					if err := sessions[i].Sync(t.Context()); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(from); took > 10*time.Millisecond {
						t.Errorf("sync %d took %v", i, took)
					}
				}
				synctest.Wait()
			})
		})
	}
}
