package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A load that waits for the holder looks when there is something left to look with, and does
// not stand in line for it.
func TestSpentBudgetIsNotPolled(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.load("u", nil)
		a.faults.SetRule(always(on("commit", profileKey("u")), faultstore.Fault{Kind: faultstore.FailBefore}))
		b := f.startLean("b", perMinute(60), nil)
		reads := &count{match: on("get", profileKey("u"))}
		b.faults.SetRule(reads.rule)
		b.spend(node.KindRead, 55)
		b.spend(node.KindWrite, 60)
		var wg sync.WaitGroup
		wg.Go(func() {
			b.fails("u", &profile.LoadOptions{Policy: profile.Wait, Wait: 25 * time.Second}, profile.ErrTimeout)
		})
		time.Sleep(5 * time.Second)
		if n := reads.take(); n != 1 {
			t.Errorf("%d reads in five seconds, want the first one, from the reserve", n)
		}
		time.Sleep(15 * time.Second)
		if n := reads.take(); n < 5 || n > 15 {
			t.Errorf("%d reads in fifteen seconds, want about one a second once the reserve is full", n)
		}
		if g := b.node.Gate()[node.ClassLoad]; g.Waited != 0 || g.Queue != 0 {
			t.Errorf("polls stand in line: %+v", g)
		}
		wg.Wait()
	})
}

// When there is nothing left to look with, a load takes its place in the line when it is told
// that the session is its own, and without a message after a while.
func TestWaitingLoadStandsInLine(t *testing.T) {
	for name, c := range map[string]struct {
		deaf           bool
		atLeast, below time.Duration
	}{
		"told":  {false, 10 * time.Second, 20 * time.Second},
		"alone": {true, 30 * time.Second, 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				s := a.load("u", nil)
				b := f.startLean("b", perMinute(60), nil)
				b.faults.Outage(faultstore.Bus, c.deaf)
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				time.AfterFunc(time.Millisecond, func() { // when it has looked once
					b.spend(node.KindRead, 48)
					for range 12 { // who always want to read
						wg.Go(func() {
							for ctx.Err() == nil {
								_ = b.node.Pass(ctx, node.ClassLoad, node.KindRead)
							}
						})
					}
				})
				a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 50 * time.Millisecond}))
				b.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Delay: 2 * time.Millisecond}))
				got := b.load("u", &profile.LoadOptions{Policy: profile.Wait})
				if w := got.Loaded().Waited; w < c.atLeast || w >= c.below || s.Reason() != profile.HandedOver {
					t.Errorf("opened after %v, the holder: %v", w, s.Reason())
				}
				stop()
				wg.Wait()
			})
		})
	}
}

func TestLoadThatWaitsForBudgetCanBeCancelled(t *testing.T) {
	for _, k := range []node.Kind{node.KindRead, node.KindWrite} {
		t.Run(k.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.startLean("a", perMinute(60), nil)
				a.spend(k, 60)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(500*time.Millisecond, cancel)
				var err error
				d := took(func() { _, err = a.Load(ctx, "u", nil) })
				if !errors.Is(err, context.Canceled) || d != 500*time.Millisecond {
					t.Errorf("%v after %v", err, d)
				}
				synctest.Wait()
				if g := a.node.Gate()[node.ClassLoad]; g.Queue != 0 || g.Refused != 1 {
					t.Errorf("its place in the line is left: %+v", g)
				}
				if r := f.durable(profileKey("u")); !r.Missing() {
					t.Error("something was written")
				}
				a.load("u", nil)
			})
		})
	}
}

func TestTimeoutNamesTheBudget(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), nil)
		a.spend(node.KindWrite, 60)
		err := a.fails("u", &profile.LoadOptions{Wait: 5 * time.Second}, profile.ErrTimeout)
		if !errors.Is(err, node.ErrBudget) || !strings.Contains(err.Error(), "load waited 5s") {
			t.Errorf("%v", err)
		}
		b := f.start("b", nil)
		b.load("held", nil)
		b.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		a.spend(node.KindRead, 60-2)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		time.AfterFunc(time.Millisecond, func() { // nothing is left once it has looked
			for ctx.Err() == nil {
				_ = a.node.Pass(ctx, node.ClassSave, node.KindRead)
			}
		})
		err = a.fails("held", &profile.LoadOptions{Policy: profile.Wait, Wait: 10 * time.Second}, profile.ErrTimeout)
		if !errors.Is(err, node.ErrBudget) || strings.Contains(err.Error(), "waited") {
			t.Errorf("%v, want that it could not look", err)
		}
	})
}

// What the gate refuses is not done for certain, and the session tries again by itself.
func TestRefusedSaveIsNotDone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := perMinute(60)
		l.Queue = 1
		a := f.startLean("a", l, nil)
		s, other := a.load("u", nil), a.load("other", nil)
		add(t, s, 1)
		add(t, other, 1)
		a.spend(node.KindWrite, 58)
		var wg sync.WaitGroup
		wg.Go(func() { save(t, other) })
		synctest.Wait()
		err := s.Save(t.Context())
		if !errors.Is(err, node.ErrBudget) || store.OutcomeOf(err) != store.NotDone {
			t.Errorf("save: %v", err)
		}
		wg.Wait()
		if d := took(func() { save(t, s) }); d > 3*time.Second {
			t.Errorf("the next save took %v", d)
		}
		release(t, s)
	})
}

// A caller that goes away does not take the save with it.
func TestSaveThatWaitsForBudgetGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), nil)
		s := a.load("u", nil)
		add(t, s, 1)
		a.spend(node.KindWrite, 59)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := s.Save(ctx); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("save: %v", err)
		}
		add(t, s, 1) // it is in the write, which is composed when its turn comes
		time.Sleep(2 * time.Second)
		if got := string(f.stored("u").Data); got != `{"coins":2}` {
			t.Errorf("stored %s", got)
		}
	})
}

// A session that is lost while it waits for budget learns it, and leaves the line.
func TestLostSessionLeavesTheLine(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.startLean("a", perMinute(60), &profile.Options{Autosave: 10 * time.Second}), f.start("b", nil)
		s := a.load("u", nil)
		add(t, s, 1)
		a.spend(node.KindWrite, 59)
		stop := a.hog(node.ClassSave, node.KindWrite)
		time.Sleep(20 * time.Second)
		if q := a.node.Gate()[node.ClassBackground].Queue; q != 1 {
			t.Fatalf("%d autosaves wait", q)
		}
		token := f.stored("u").Session.Token
		f.plant(f.raw.Durable(), profileKey("u"), strings.Replace(string(f.durable(profileKey("u")).Value), token, "another", 1))
		n := node.Note{Kind: node.NoteTaken, Set: "players", Key: "u", Token: "another", Node: b.node.ID(), For: token}
		if _, err := b.node.LeaveNote(t.Context(), a.node.ID(), n); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond)
		if s.Reason() != profile.Lost {
			t.Errorf("the session: %v", s.Reason())
		}
		if q := a.node.Gate()[node.ClassBackground].Queue; q != 0 {
			t.Errorf("%d still wait", q)
		}
		stop()
	})
}

// hog takes all that comes in of a kind, as a class, until it is stopped.
func (s *server) hog(c node.Class, k node.Kind) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var wg sync.WaitGroup
	for range 15 { // who wait fifteen seconds each, when there is one a second
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = s.node.Pass(ctx, c, k)
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// While a node's beats do not land, its records must say so: that goes before loads. Then the
// saves in fallback can wait.
func TestSuspicionDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), &profile.Options{Autosave: 4 * time.Second})
		s := a.load("u", nil)
		stop := a.hog(node.ClassLoad, node.KindWrite)
		add(t, s, 1)
		time.Sleep(7 * time.Second)
		if q := a.node.Gate()[node.ClassBackground].Queue; q != 1 {
			t.Fatalf("%d autosaves wait", q)
		}
		a.faults.Outage(faultstore.Fast, true)
		time.Sleep(15 * time.Second)
		if f.stored("u").Session.Beating {
			t.Error("the record still vouches for the node's beats")
		}
		time.Sleep(60 * time.Second)
		if q := a.node.Gate()[node.ClassBackground].Queue; q != 1 {
			t.Errorf("%d saves in fallback wait", q)
		}
		time.Sleep(130 * time.Second)
		if age := f.durable(profileKey("u")).Age; age > 60*time.Second {
			t.Errorf("the lease was renewed %v ago", age)
		}
		stop()
	})
}

// A set that closes while nothing may be written says what it had to leave, in time.
func TestCloseWithoutBudget(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), nil)
		for i := range 5 {
			add(t, a.load(fmt.Sprint("u", i), nil), 1)
		}
		a.spend(node.KindWrite, 55)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		r, err := a.Close(ctx)
		if err == nil || r.Released != 2 || len(r.Left) != 3 || r.Took != 2500*time.Millisecond {
			t.Errorf("%+v %v", r, err)
		}
		synctest.Wait()
		if q := a.node.Gate()[node.ClassSave].Queue; q != 0 {
			t.Errorf("%d saves still wait", q)
		}
	})
}

// Two nodes share what the fleet may ask for by the players that they have.
func TestFleetSharesItsBudget(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := node.Limits{Fleet: node.Rates{Write: node.Rate{PerPlayer: 3}}} // 120 a minute for forty
		opts := &profile.Options{LoadTimeout: time.Hour}
		a, b := f.startLean("a", l, opts), f.startLean("b", l, opts)
		var sessions []*profile.Session
		for i := range 40 {
			s := a
			if i >= 30 {
				s = b
			}
			sessions = append(sessions, s.load(fmt.Sprint("u", i), nil))
		}
		time.Sleep(2 * time.Minute) // the players are counted every ten beats
		counts := map[*server]*count{a: {match: on("commit", "profile/")}, b: {match: on("commit", "profile/")}}
		for s, c := range counts {
			s.faults.SetRule(c.rule)
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, s := range sessions {
			wg.Go(func() {
				for ctx.Err() == nil {
					add(t, s, 1)
					_ = s.Save(ctx)
				}
			})
		}
		time.Sleep(time.Minute)
		counts[a].take()
		counts[b].take()
		time.Sleep(time.Minute)
		if na, nb := counts[a].take(), counts[b].take(); na < 85 || na > 95 || nb < 25 || nb > 35 {
			t.Errorf("%d and %d writes in a minute, want 90 and 30", na, nb)
		}
		stop()
		wg.Wait()
	})
}

// Without limits nothing goes through a gate.
func TestNoLimitsNoGate(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		if a.node.Gate() != nil || a.node.For(node.ClassSave) != a.node.Store() {
			t.Error("there is a gate")
		}
		passing := testing.AllocsPerRun(100, func() {
			if a.node.Pass(t.Context(), node.ClassSave, node.KindWrite) != nil {
				t.Error("something has to wait")
			}
		})
		if passing != 0 {
			t.Errorf("%v allocations to pass", passing)
		}
	})
}
