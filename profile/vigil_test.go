package profile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// inPart has a fault happen to every record call of a part.
func inPart(part faultstore.Part, f faultstore.Fault) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		if c.Part == part && c.Op != "publish" {
			return f
		}
		return faultstore.Fault{}
	}
}

// A fast store that takes calls and never answers must not hold up a hand-over: the holder
// hears on the bus, and the record tells.
func TestHandOverDespiteAHangingFastStore(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.Hang, faultstore.HangApplied} {
		for ms := 0; ms < 700; ms += 70 { // the fast store hangs at any moment of the load
			bubble(t, func(t *testing.T, f *fleet) {
				a, b := f.start("a", nil), f.start("b", nil)
				add(t, a.load("u", nil), 5)
				a.OnLeave(func(context.Context, *profile.Session) { time.Sleep(400 * time.Millisecond) })
				slow := faultstore.Fault{Delay: 50 * time.Millisecond}
				b.faults.SetRule(always(func(faultstore.Call) bool { return true }, slow))
				time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
					hang := inPart(faultstore.Fast, faultstore.Fault{Kind: kind})
					b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
						if fault := hang(c); fault.Kind != faultstore.Pass {
							return fault
						}
						return slow
					})
				})
				var s *profile.Session
				d := took(func() { s = b.load("u", nil) })
				if d > 1200*time.Millisecond || coins(s.Data()) != 5 {
					t.Errorf("%v after %d ms: open after %v with %v", kind, ms, d, s.Data())
				}
				time.Sleep(time.Minute)
			})
		}
	}
}

// At most one read of each kind is under way, however long the load waits.
func TestHangingFastStoreGetsNoMoreCalls(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		a.load("u", nil)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		notes := &count{match: on("get", "note/")}
		looks := &count{match: on("get", "node/"+a.node.ID())}
		records := &count{match: on("get", "profile/")}
		hang := inPart(faultstore.Fast, faultstore.Fault{Kind: faultstore.Hang})
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			for _, n := range []*count{notes, looks, records} {
				n.rule(c)
			}
			return hang(c)
		})
		b.fails("u", &profile.LoadOptions{Wait: 9 * time.Second, Policy: profile.Wait}, profile.ErrTimeout)
		if n, l, r := notes.take(), looks.take(), records.take(); n > 1 || l != 1 || r < 30 {
			t.Errorf("%d reads of the note, %d looks, %d reads of the record", n, l, r)
		}
		b.faults.SetRule(nil)
		a.faults.SetRule(nil)
		time.Sleep(5 * time.Minute)
		if left := f.leftovers(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// A look that began before the record was written, and was answered after, says nothing about
// the holder of that record: another one is taken.
func TestLateLookIsNoEvidenceAgainstANewerRecord(t *testing.T) {
	beats := func(name string) *node.Options {
		return &node.Options{Name: name, Beat: 4 * time.Second, DeadAfter: 8 * time.Second}
	}
	for _, written := range []bool{false, true} {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.startWith(beats("a"), nil), f.startWith(beats("b"), nil)
			a.load("u", nil)
			a.kill()
			time.Sleep(50 * time.Second) // b has seen the old beat
			b.faults.SetRule(always(on("get", "node/"), faultstore.Fault{Back: time.Second}))
			time.AfterFunc(500*time.Millisecond, func() {
				if written {
					f.plant(f.raw.Durable(), profileKey("u"), string(f.durable(profileKey("u")).Value))
				}
			})
			d := took(func() { b.load("u", nil) })
			if from := time.Second; written && d < 2*from || !written && (d < from || d > from+300*time.Millisecond) {
				t.Errorf("written %v: taken after %v", written, d)
			}
		})
	}
}

// The beat that stands still, seen by a clock of the store that has gone back, is evidence
// DeadAfter after the first look, not a beat later; and a beat that the node has seen before
// is so at the first look of the load.
func TestTakeoverByABeatThatStandsStill(t *testing.T) {
	for ms := 0; ms < 1000; ms += 90 {
		bubble(t, func(t *testing.T, f *fleet) {
			a := f.start("a", nil)
			a.load("u", nil)
			a.load("v", nil)
			time.Sleep(3 * time.Second)
			a.kill()
			f.engine.StepClock(memstore.Durable|memstore.Fast, -time.Hour)
			time.Sleep(time.Duration(ms) * time.Millisecond)
			b := f.start("b", nil)
			want := func(key string, from, to time.Duration) {
				t.Helper()
				var s *profile.Session
				d := took(func() { s = b.load(key, nil) })
				if d < from || d > to || s.Loaded().Evidence != node.EvidenceUnmoved {
					t.Errorf("%s: taken after %v by %s", key, d, s.Loaded().Evidence)
				}
			}
			want("u", 4*time.Second, 4*time.Second+20*time.Millisecond)
			time.Sleep(time.Second)
			want("v", 0, 300*time.Millisecond)
		})
	}
}

// Whoever joins long after the crash does not wait: the node has seen the old beat.
func TestTakeoverLongAfterTheCrash(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		for i := range 20 {
			a.load(fmt.Sprint("u", i), nil)
		}
		time.Sleep(20*time.Second + 500*time.Millisecond) // between two beats: at one instant, chance decides which was first
		a.kill()
		for i := range 20 {
			var s *profile.Session
			d := took(func() { s = b.load(fmt.Sprint("u", i), nil) })
			limit := 300 * time.Millisecond // one more look where the own beat was just landing
			if i == 0 {
				limit = 4*time.Second + 20*time.Millisecond
			}
			if e := s.Loaded().Evidence; d > limit || e != node.EvidenceAge && e != node.EvidenceUnmoved {
				t.Errorf("%d: taken after %v by %s", i, d, s.Loaded().Evidence)
			}
			time.Sleep(time.Second)
		}
	})
}
