package profile_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// appendCalls counts the calls that write journals, however many they write.
type appendCalls struct {
	store.Records
	n atomic.Int64
}

func (c *appendCalls) Commit(ctx context.Context, txs ...store.Tx) []error {
	if strings.HasPrefix(txs[0][0].Key, "journal/") {
		c.n.Add(1)
	}
	return c.Records.Commit(ctx, txs...)
}

// Those who sync at one moment, from goroutines of their own, share one call to the store.
func TestSyncsOfOneMomentAreOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		calls := &appendCalls{}
		f.wrap = func(p store.Parts) store.Parts {
			calls.Records, p.Fast = p.Fast, calls
			return p
		}
		a := f.start("a", journaling())
		var all []*profile.Session
		for i := range 100 {
			s := a.load(fmt.Sprint("u", i), nil)
			add(t, s, 1)
			syncNow(t, s) // the first append of a session waits for a save
			all = append(all, s)
		}
		calls.n.Store(0)
		var wg sync.WaitGroup
		for _, s := range all {
			wg.Go(func() {
				add(t, s, 1)
				syncNow(t, s)
			})
		}
		wg.Wait()
		if n := calls.n.Load(); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}
