package profile_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Those who sync at one moment, from goroutines of their own, share one call to the store.
func TestSyncsOfOneMomentAreOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", journaling())
		var all []*profile.Session
		for i := range 100 {
			s := a.load(fmt.Sprint("u", i), nil)
			add(t, s, 1)
			syncNow(t, s) // the first append of a session waits for a save
			all = append(all, s)
		}
		calls := 0
		var mu sync.Mutex
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if on("commit", "journal/")(c) {
				mu.Lock()
				defer mu.Unlock()
				calls++
			}
			return faultstore.Fault{}
		})
		var wg sync.WaitGroup
		for _, s := range all {
			wg.Go(func() {
				add(t, s, 1)
				syncNow(t, s)
			})
		}
		wg.Wait()
		a.faults.SetRule(nil)
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}
