package profile_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A set that closes does not wait for what looks after a token in the background.
func TestCloseHurriesADisownedToken(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), nil)
		time.Sleep(5 * time.Second)
		a.spend(node.KindRead, 55)
		a.faults.SetRule(nth(1, on("commit", "profile/"), faultstore.HangApplied))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := a.Load(ctx, "u", nil); err == nil {
			t.Fatal("loaded")
		}
		time.Sleep(time.Second)
		closing, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		if d := took(func() { _, _ = a.Close(closing) }); d > 3*time.Second {
			t.Errorf("it took %v, with budget for saves", d)
		}
		f.free("u")
	})
}

// A session whose save has waited for the budget does not lose its place by a look whether it
// was taken, and what nobody needs any more is not paid for.
func TestManySavesCostWhatTheyWrite(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(600), nil)
		writes := &count{match: func(c faultstore.Call) bool { return c.Op == "commit" && records(c) }}
		sess := a.load("u", nil)
		time.Sleep(time.Minute)
		before := a.node.Gate()
		a.faults.SetRule(writes.rule)
		for i := range int64(300) {
			add(t, sess, i)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { save(t, sess) })
			}
			wg.Wait()
		}
		after := a.node.Gate()
		passed := int(after[node.ClassSave].Passed - before[node.ClassSave].Passed)
		if n := writes.take(); passed > n+1 {
			t.Errorf("%d writes were paid for, and %d made", passed, n)
		}
	})
}
