package profile_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// A hundred sessions of a node that crashed are taken over soon after DeadAfter, where calls
// take a while, by loads of one node that come before the crash and after it.
func TestManyLoadsTakeOverTheDeadSoon(t *testing.T) {
	for seed := range uint64(8) {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.start("a", nil), f.start("b", nil)
			for i := range 100 {
				a.load(fmt.Sprint("u", i), nil)
			}
			b.faults.SetRule(faultstore.Chance(seed, faultstore.Odds{Delay: 120 * time.Millisecond, Back: 120 * time.Millisecond}))
			time.Sleep(time.Duration(20+seed) * 1130 * time.Millisecond)
			a.kill()
			killed := time.Now()
			var (
				mu   sync.Mutex
				late []time.Duration
				wg   sync.WaitGroup
			)
			for i := range 100 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 30 * time.Millisecond)
					sess, err := b.Load(t.Context(), fmt.Sprint("u", i), &profile.LoadOptions{Policy: profile.Wait})
					if err != nil {
						t.Errorf("load: %v", err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					late = append(late, time.Since(killed))
					_ = sess
				})
			}
			wg.Wait()
			slices.Sort(late)
			t.Logf("seed %d: median %v, last %v", seed, late[len(late)/2], late[len(late)-1])
			if last := late[len(late)-1]; last > 6*time.Second {
				t.Errorf("seed %d: the last after %v", seed, last)
			}
		})
	}
}

// The same, and the fast store loses its memory while they wait.
func TestManyLoadsTakeOverTheDeadThoughTheFastStoreForgets(t *testing.T) {
	for seed := range uint64(4) {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.start("a", nil), f.start("b", nil)
			for i := range 30 {
				a.load(fmt.Sprint("u", i), nil)
			}
			b.faults.SetRule(faultstore.Chance(seed, faultstore.Odds{Delay: 120 * time.Millisecond, Back: 120 * time.Millisecond}))
			time.Sleep(20 * time.Second)
			a.kill()
			killed := time.Now()
			var wg sync.WaitGroup
			var mu sync.Mutex
			var last time.Duration
			for i := range 30 {
				wg.Go(func() {
					_, err := b.Load(t.Context(), fmt.Sprint("u", i), &profile.LoadOptions{Policy: profile.Wait})
					if err != nil {
						t.Errorf("load: %v", err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					last = max(last, time.Since(killed))
				})
			}
			time.Sleep(2 * time.Second)
			f.engine.Forget(memstore.Fast)
			wg.Wait()
			t.Logf("seed %d: last %v", seed, last)
			if last > 12*time.Second {
				t.Errorf("seed %d: the last after %v", seed, last)
			}
		})
	}
}
