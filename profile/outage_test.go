package profile_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store/faultstore"
)

// While the durable store is down one load asks for all of them, and when it answers all go on
// at once.
func TestOneLoadAsksForAllWhileTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		time.Sleep(5 * time.Second)
		reads, probes := &count{match: on("get", "profile/")}, &count{match: func(c faultstore.Call) bool { return c.Op == "now" }}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault { // an outage that can be counted
			reads.rule(c)
			probes.rule(c)
			if c.Part == faultstore.Durable {
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		})
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			last time.Duration
		)
		begun := time.Now()
		for i := range 30 {
			wg.Go(func() {
				if _, err := a.Load(context.Background(), fmt.Sprintf("u%d", i), nil); err != nil {
					t.Errorf("load: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				last = max(last, time.Since(begun))
			})
		}
		time.Sleep(60 * time.Second)
		if n, p := reads.take(), probes.take(); n < 1 || n > 30 || p > 130 { // the node reads its time every second, too
			t.Errorf("%d reads and %d probes in a minute of outage, by 30 loads", n, p)
		}
		a.faults.SetRule(nil)
		wg.Wait()
		if late := last - 60*time.Second; late > 1200*time.Millisecond {
			t.Errorf("the last load opened %v after the end of the outage", late)
		}
	})
}

// A set that closes while it asks does so at once.
func TestCloseDuringAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.Outage(faultstore.Durable, true)
		failed := make(chan error, 1)
		go func() {
			_, err := a.Load(context.Background(), "u", nil)
			failed <- err
		}()
		time.Sleep(10*time.Second + 300*time.Millisecond)
		if d := took(func() { _, _ = a.Close(t.Context()) }); d > 100*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		if err := <-failed; err == nil {
			t.Error("loaded")
		}
	})
}
