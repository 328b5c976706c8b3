package profile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A node that was taken for dead and lives again keeps what has not been taken yet: a record
// that it wrote after the reaper's look at its beat proves that it lives.
func TestAReaperLeavesANodeThatHasComeBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 60)
		b := f.start("b", journaling())
		time.Sleep(5 * time.Second)
		b.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 2 * time.Second}))
		a.faults.Outage(faultstore.All, true)
		for b.Stats().Reaped == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		a.faults.Outage(faultstore.All, false)
		time.Sleep(6 * time.Second) // beats land, and every session that is left has been saved since
		var alive []*profile.Session
		for i := range 60 {
			key := fmt.Sprintf("u%d", i)
			st := f.stored(key).Session
			if s, ok := a.Session(key); ok && a.node.Beating() && st != nil && st.Node == a.node.ID() && st.Beating {
				alive = append(alive, s)
			}
		}
		if len(alive) == 0 {
			t.Fatal("the round is over too soon for this test")
		}
		time.Sleep(time.Minute)
		lost := 0
		for _, s := range alive {
			if s.Reason() != 0 {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%d of %d sessions taken from a node that beats and whose records say so", lost, len(alive))
		}
	})
}

// A listing of the markers that never answers holds up one round, and not all that follow.
func TestAReaperOutlivesAScanThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 2)
		b := f.start("b", journaling())
		time.Sleep(5 * time.Second)
		b.faults.SetRule(nth(1, on("scan", "journaled/"), faultstore.Hang))
		a.kill()
		time.Sleep(5 * time.Minute)
		reapedAll(t, f, 2)
	})
}

// Nor does it hold up a close.
func TestAReapersHungScanDoesNotHoldUpClose(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 2)
		b := f.start("b", journaling())
		time.Sleep(5 * time.Second)
		hung := &count{match: on("scan", "journaled/")}
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			hung.rule(c)
			return always(on("scan", "journaled/"), faultstore.Fault{Kind: faultstore.Hang})(c)
		})
		a.kill()
		for hung.take() == 0 {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		if d := took(func() { _, _ = b.Close(ctx) }); d > 12*time.Second {
			t.Errorf("a set without sessions took %v to close", d)
		}
	})
}

// A marker that was refused is put again: without it nobody finds the journal of a dead node.
func TestAMarkerThatDidNotLandIsPutAgain(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.Hang} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b := f.start("a", journaling()), f.start("b", journaling())
				a.faults.SetRule(nth(1, on("commit", "journaled/"), kind))
				s := a.load("u0", nil)
				for range 5 {
					add(t, s, 1)
					syncNow(t, s)
					time.Sleep(2 * time.Second)
				}
				a.kill()
				time.Sleep(3 * time.Minute)
				reapedAll(t, f, 1)
				_ = b
			})
		})
	}
}

// A record of a later release is not for this one: its marker stays, for a node that knows it.
func TestAReaperLeavesMarkersOfLaterReleases(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", journaling())
		f.start("b", journaling())
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":99,"session":{"node":"`+a.node.ID()+`"}}`)
		f.plant(f.raw.Fast(), "journal/players/u", `{"format":99}`)
		f.plant(f.raw.Fast(), "journaled/"+a.node.ID()+"/players/u", `{}`)
		time.Sleep(5 * time.Second)
		a.kill()
		time.Sleep(2 * time.Minute)
		if left := f.keysUnder("journaled/"); len(left) != 1 {
			t.Errorf("the marker is gone, and nobody will ever save that session: %v", left)
		}
	})
}

// A removal of a marker that lands late does not take away that of a session that came back.
func TestALateRemovalSparesALaterMarker(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		add(t, s, 1)
		syncNow(t, s)
		time.Sleep(5 * time.Second)
		a.faults.Outage(faultstore.All, true)
		b.faults.SetRule(faultstore.Nth(1, on("commit", "journaled/"+a.node.ID()), faultstore.Fault{Kind: faultstore.Late, After: 30 * time.Second}))
		time.Sleep(6 * time.Second)
		b.load("u", nil)
		a.faults.Outage(faultstore.All, false)
		time.Sleep(10 * time.Second)
		back := a.load("u", nil)
		add(t, back, 1)
		syncNow(t, back)
		add(t, back, 1)
		syncNow(t, back)
		if left := f.keysUnder("journaled/"); len(left) != 1 || !strings.Contains(left[0], a.node.ID()) {
			t.Fatalf("%v", left)
		}
		time.Sleep(30 * time.Second)
		if left := f.keysUnder("journaled/"); len(left) != 1 {
			t.Errorf("the marker of a session that lives is gone: %v", left)
		}
		a.kill()
		time.Sleep(2 * time.Minute)
		f.free("u")
	})
}
