package profile_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Rule H6: the journal is deleted after the append in flight has been answered, so that
// nothing of an ended session comes to stand there.
func TestAnAppendInFlightAtTheEndLeavesNothing(t *testing.T) {
	for name, fault := range map[string]faultstore.Fault{
		"slow":  {Delay: time.Second},
		"late":  {Kind: faultstore.Late, After: 3 * time.Second},
		"hangs": {Kind: faultstore.HangApplied, Delay: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", journaling())
				s := a.load("u", nil)
				a.faults.SetRule(always(on("commit", "journal"), fault))
				add(t, s, 1)
				go func() { _ = s.Sync(context.Background()) }()
				synctest.Wait()
				release(t, s)
				a.faults.SetRule(nil)
				time.Sleep(2 * time.Minute)
				if left := f.keysUnder("journal"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// enlarged is a node whose template makes profile u larger than HardBytes allows, though no
// transaction did: saves keep what is stored (S25). The session can still be changed, as long
// as it gets smaller.
func enlarged(t *testing.T, f *fleet) (*server, *profile.Session) {
	t.Helper()
	before := f.start("before", nil)
	old := before.load("u", nil)
	if _, err := old.Transact(game, doc.Set("/bag", doc.MustString(strings.Repeat("x", 150)))); err != nil {
		t.Fatal(err)
	}
	release(t, old)
	o := journaling()
	o.HardBytes = 200
	o.Template = doc.Must(map[string]any{"more": strings.Repeat("y", 100)})
	a := f.start("a", o)
	return a, a.load("u", nil)
}

// What Sync has acknowledged is in the next load, although the saves keep what is stored.
func TestWhatSyncAcknowledgedSurvivesARefusedSize(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := enlarged(t, f)
		if _, err := s.Transact(game, doc.Set("/bag", doc.MustString("spent"+strings.Repeat("x", 120)))); err != nil {
			t.Fatal(err)
		}
		err := s.Sync(t.Context())
		_ = s.Release(t.Context())
		next := a.load("u", nil)
		bag, _, _ := next.Data().Lookup("/bag")
		if text, _ := bag.AsString(); err == nil && !strings.HasPrefix(text, "spent") {
			t.Errorf("sync acknowledged, and the next load has %q", text)
		}
	})
}

// A save that keeps what is stored does not store the claim either.
func TestAClaimIsNotStoredWithoutItsCommit(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, s := enlarged(t, f)
		_, err := s.Claim(t.Context(),
			[]store.Write{{Key: rowKey, Op: store.Put, Value: []byte(`{}`), If: store.Absent(), Version: 4711}},
			doc.Set("/bag", doc.MustString("granted"+strings.Repeat("x", 120))))
		row, stored := !f.durable(rowKey).Missing(), strings.Contains(string(f.stored("u").Data), "granted")
		if row != stored {
			t.Errorf("receipt stored: %v, what it grants: %v (%v)", row, stored, err)
		}
	})
}

// A claim that the store can never take is refused as a whole: the session can still end.
func TestAClaimThatCanNeverBeStoredDoesNotHoldTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, _, s := journaled(t, f)
		_, err := s.Claim(t.Context(),
			[]store.Write{{Key: rowKey, Op: store.Put, Value: make([]byte, store.MaxValue+1), If: store.Absent(), Version: 4711}},
			doc.Increment("/coins", 10))
		if !errors.Is(err, profile.ErrVoid) {
			t.Errorf("claim: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := s.Release(ctx); !errors.Is(err, profile.ErrLost) {
			t.Errorf("after five minutes: %v", err)
		}
		if row, data := f.durable(rowKey), f.storedData("u"); !row.Missing() || coins(data) != 5 {
			t.Errorf("stored %v, and the row: %v", data, !row.Missing())
		}
	})
}

// A Sync that the journal takes is not answered with the failure of a save.
func TestSyncDoesNotFailBecauseASaveDoes(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		a.faults.SetRule(faultstore.First(
			always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}),
			always(on("commit", "journal/"), faultstore.Fault{Delay: 50 * time.Millisecond}),
		))
		add(t, s, 1)
		synced := make(chan error, 1)
		go func() { synced <- s.Sync(context.Background()) }()
		time.Sleep(time.Millisecond)
		_ = s.Save(t.Context())
		if err := <-synced; err != nil {
			t.Errorf("the journal has it: %v", err)
		}
		recovered(t, a, b, 6)
	})
}

// While the durable store is down the journal goes on taking what comes, also of a session
// that had not been journaled before.
func TestTheJournalGoesOnWithoutTheDurableStore(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", journaling()), f.start("b", journaling())
		s := a.load("u", nil)
		time.Sleep(10 * time.Second)
		a.faults.Outage(faultstore.Durable, true)
		for range 300 {
			add(t, s, 1)
			time.Sleep(time.Second)
		}
		a.kill()
		next := b.load("u", nil)
		if got := coins(next.Data()); got < 297 {
			t.Errorf("%d coins of 300: five minutes of play lost, and the fast store was up", got)
		}
	})
}

// countingClock counts how often it is asked for the time.
type countingClock struct {
	clock.Clock
	n *atomic.Int64
}

func (c countingClock) Now() time.Time { c.n.Add(1); return c.Clock.Now() }

// A session whose claim was refused waits for its leave hooks, and nothing turns meanwhile.
func TestARefusedClaimDoesNotSpin(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		var n atomic.Int64
		a := f.startWith(&node.Options{Name: "a", Clock: countingClock{clock.Or(nil), &n}}, journaling())
		var asked atomic.Int64
		a.OnLeave(func(context.Context, *profile.Session) {
			before := n.Load()
			for range 200_000 {
				runtime.Gosched()
			}
			asked.Store(n.Load() - before)
		})
		s := a.load("u", nil)
		add(t, s, 1)
		syncNow(t, s)
		f.plant(f.raw.Durable(), rowKey, `{"by":"another"}`)
		a.faults.SetRule(nth(1, on("commit", "profile/"), faultstore.FailBefore))
		if err := grant(t.Context(), s); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("%v", err)
		}
		<-s.Done()
		if got := asked.Load(); got > 1000 {
			t.Errorf("asked for the time %d times while a leave hook ran", got)
		}
	})
}

// A revision, and the id of a commit, means one thing: a commit whose claim was refused is not
// taken up by another.
func TestARefusedClaimsCommitIsNotFollowedByItsTwin(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		ids := map[string]int{}
		s.OnCommit(func(c profile.Commit) { ids[c.ID]++ })
		f.plant(f.raw.Durable(), rowKey, `{"by":"another"}`)
		seen := 0
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if on("commit", "profile/")(c) {
				if seen++; seen > 1 { // the claim is refused, and then the store is down
					return faultstore.Fault{Kind: faultstore.FailBefore}
				}
			}
			return faultstore.Fault{}
		})
		if err := grant(t.Context(), s); !errors.Is(err, profile.ErrVoid) {
			t.Fatalf("%v", err)
		}
		time.Sleep(time.Second)
		_, err := s.Transact(game, doc.Increment("/coins", 1))
		a.faults.SetRule(nil)
		<-s.Done()
		for id, n := range ids {
			if n > 1 {
				t.Errorf("commit %s was told %d times (%v)", id, n, err)
			}
		}
	})
}
