package profile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// keysUnder are the keys of the fast store with a prefix.
func (f *fleet) keysUnder(prefix string) (out []string) {
	f.t.Helper()
	for rec, err := range f.raw.Fast().Scan(context.Background(), store.Prefix(prefix)) {
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, rec.Key)
	}
	return out
}

// crowd is a node with n journaled sessions u0, u1 … of 5 coins each, synced, not saved since.
func crowd(t *testing.T, f *fleet, n int) *server {
	t.Helper()
	a := f.start("a", journaling())
	for i := range n {
		s := a.load(fmt.Sprintf("u%d", i), nil)
		add(t, s, 1)
		syncNow(t, s)
		add(t, s, 4)
		syncNow(t, s)
	}
	return a
}

// saved checks that the reapers have done their work, and left nothing behind.
func reapedAll(t *testing.T, f *fleet, n int) {
	t.Helper()
	for i := range n {
		key := fmt.Sprintf("u%d", i)
		f.free(key)
		if got := string(f.stored(key).Data); got != `{"bag":[],"coins":5}` {
			t.Errorf("%s: %s", key, got)
		}
	}
	for _, prefix := range []string{"journal/", "journaled/"} {
		if left := f.keysUnder(prefix); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// Sessions of a dead node are saved although no player comes back, once each, by however many
// nodes.
func TestJournaledSessionsOfADeadNodeAreSaved(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 20)
		b, c := f.start("b", journaling()), f.start("c", journaling())
		time.Sleep(5 * time.Second)
		a.kill()
		time.Sleep(90 * time.Second)
		reapedAll(t, f, 20)
		if n := b.Stats().Reaped + c.Stats().Reaped; n != 20 {
			t.Errorf("%d sessions reaped", n)
		}
	})
}

// So are those that a node could not store before its end.
func TestSessionsLeftByAClosedNodeAreSaved(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 5)
		f.start("b", journaling())
		time.Sleep(5 * time.Second)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		if report, err := a.node.Close(t.Context()); err != nil || report.Complete() {
			t.Fatalf("%+v, %v", report, err)
		}
		time.Sleep(90 * time.Second)
		reapedAll(t, f, 5)
	})
}

// A store that refuses, or loses answers, holds a reaper up, no more.
func TestAReaperTriesAgain(t *testing.T) {
	for _, prefix := range []string{"profile/", "journal/", "journaled/"} {
		for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Late, faultstore.HangApplied} {
			t.Run(prefix+kind.String(), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					a := crowd(t, f, 3)
					b := f.start("b", journaling())
					time.Sleep(5 * time.Second)
					b.faults.SetRule(faultstore.Nth(2, on("commit", prefix), faultstore.Fault{Kind: kind, After: time.Second}))
					a.kill()
					time.Sleep(3 * time.Minute)
					reapedAll(t, f, 3)
				})
			})
		}
	}
}

// A player who comes back is not disturbed, nor is a node that lives.
func TestAReaperTakesNothingFromTheLiving(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 2)
		b, c := f.start("b", journaling()), f.start("c", journaling())
		other := c.load("w", nil)
		add(t, other, 5)
		syncNow(t, other)
		time.Sleep(5 * time.Second)
		a.kill()
		s := b.load("u0", nil)
		for range 18 {
			add(t, s, 1)
			add(t, other, 1)
			time.Sleep(5 * time.Second)
		}
		if s.Reason() != 0 || other.Reason() != 0 || coins(s.Data()) != 23 || coins(other.Data()) != 23 {
			t.Errorf("%v %v, %v %v", s.Reason(), s.Data(), other.Reason(), other.Data())
		}
		f.free("u1")
		release(t, s)
		release(t, other)
		time.Sleep(time.Second)
		if left := f.keysUnder("journal"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func TestNoReaperWithoutReapEvery(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 1)
		o := journaling()
		o.ReapEvery = -1
		b := f.start("b", o)
		time.Sleep(5 * time.Second)
		a.kill()
		time.Sleep(10 * time.Minute)
		if f.stored("u0").Session == nil || b.Stats().Reaped != 0 {
			t.Error("somebody reaps")
		}
		if next := b.load("u0", nil); coins(next.Data()) != 5 || next.Loaded().How != profile.Recovered {
			t.Errorf("%v %+v", next.Data(), next.Loaded())
		}
		time.Sleep(time.Second)
		if left := f.keysUnder("journaled/"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}
