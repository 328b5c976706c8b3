package profile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// perMinute are limits of so many reads and writes a minute.
func perMinute(n int) node.Limits {
	return node.Limits{Node: node.Rates{Read: node.Rate{Base: n}, Write: node.Rate{Base: n}}}
}

// startLean starts a node with limits.
func (f *fleet) startLean(name string, l node.Limits, opts *profile.Options) *server {
	f.t.Helper()
	return f.startWith(&node.Options{Name: name, Limits: l}, opts)
}

// spend makes n requests of a kind as saves would.
func (s *server) spend(k node.Kind, n int) {
	s.t.Helper()
	for range n {
		if err := s.node.Pass(s.t.Context(), node.ClassSave, k); err != nil {
			s.t.Fatal(err)
		}
	}
}

// records matches all calls for profiles.
func records(c faultstore.Call) bool {
	return len(c.Keys) > 0 && strings.HasPrefix(c.Keys[0], "profile/")
}

// written remembers the writes of records, in the order in which they were sent.
type written struct {
	mu   sync.Mutex
	keys []string
}

func (l *written) rule(c faultstore.Call) faultstore.Fault {
	if on("commit", "profile/")(c) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.keys = append(l.keys, strings.TrimPrefix(c.Keys[0], profileKey("")))
	}
	return faultstore.Fault{}
}

func (l *written) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.keys
	l.keys = nil
	return out
}

// together loads keys side by side, and answers how long each took.
func (s *server) together(prefix string, n int) []time.Duration {
	s.t.Helper()
	var wg sync.WaitGroup
	waits := make([]time.Duration, n)
	for i := range n {
		wg.Go(func() {
			sess, err := s.Load(s.t.Context(), fmt.Sprint(prefix, i), nil)
			if err != nil {
				s.t.Errorf("load %s%d: %v", prefix, i, err)
				return
			}
			waits[i] = sess.Loaded().Waited
		})
	}
	wg.Wait()
	return waits
}

// case P19: a thousand looks beside fifty loads, on a store where a call takes 50 ms.
func TestLooksDoNotHoldUpLoads(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.SetRule(always(records, faultstore.Fault{Delay: 50 * time.Millisecond}))
		var looks sync.WaitGroup
		for i := range 1000 {
			looks.Go(func() {
				if _, err := a.Read(t.Context(), fmt.Sprint("v", i)); !errors.Is(err, profile.ErrNoProfile) {
					t.Errorf("read: %v", err)
				}
			})
		}
		if slowest := slices.Max(a.together("u", 50)); slowest != 100*time.Millisecond {
			t.Errorf("the slowest load took %v, want one read and one claim", slowest)
		}
		looks.Wait()
	})
}

// case P19: the same under limits. The loads get what comes in, and the looks wait.
func TestLooksGiveWayToLoads(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(600), nil)
		var looks sync.WaitGroup
		start := time.Now()
		for i := range 1000 {
			looks.Go(func() { _, _ = a.Read(t.Context(), fmt.Sprint("v", i)) })
		}
		synctest.Wait() // 590 have been made: the reserve is left, and 410 wait
		if slowest := slices.Max(a.together("u", 50)); slowest > 6*time.Second {
			t.Errorf("the slowest load took %v, want what fifty reads take at ten a second", slowest)
		}
		looks.Wait()
		if waited := time.Since(start); waited < 45*time.Second {
			t.Errorf("a thousand looks were done after %v", waited)
		}
	})
}

// case P25: three hundred profiles that change all the time on one server's small budget, and
// one player moves away every quarter of a second. Final saves go before everything else, no
// load passes its deadline, nothing that was handed over is missing, and soon there is budget
// for everything again.
func TestOverloadRecovers(t *testing.T) {
	const players = 300
	bubble(t, func(t *testing.T, f *fleet) {
		busy := f.startLean("busy", perMinute(200), &profile.Options{Autosave: 20 * time.Second})
		all := make([]*profile.Session, players+1)
		for i := range all {
			all[i] = busy.load(fmt.Sprint("u", i), &profile.LoadOptions{Wait: time.Hour})
		}
		b := f.start("b", nil)
		ctx, stop := context.WithCancel(t.Context())
		var playing, moving sync.WaitGroup
		playing.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, _ = all[n%len(all)].Transact(game, doc.Increment("/coins", 1))
				time.Sleep(5 * time.Millisecond)
			}
		})
		var mu sync.Mutex
		slowest := time.Duration(0)
		for i := range players {
			moving.Go(func() {
				s, err := b.Load(t.Context(), fmt.Sprint("u", i), nil)
				if err != nil {
					t.Errorf("move %d: %v", i, err)
					return
				}
				if got, had := coins(s.Data()), coins(all[i].Data()); got != had || s.Loaded().How != profile.Granted {
					t.Errorf("moved with %d of %d, %+v", got, had, s.Loaded())
				}
				mu.Lock()
				defer mu.Unlock()
				slowest = max(slowest, s.Loaded().Waited)
			})
			time.Sleep(250 * time.Millisecond)
		}
		moving.Wait()
		stop()
		playing.Wait()
		if slowest > 30*time.Second {
			t.Errorf("a move took %v", slowest)
		}
		g := busy.node.Gate()
		if g[node.ClassSave].Waited == 0 || g[node.ClassBackground].Waited+uint64(g[node.ClassBackground].Queue) == 0 {
			t.Errorf("the budget was large enough for everything: %+v", g)
		}
		time.Sleep(time.Minute)
		left := all[players]
		if _, stored := left.Stored(); stored != left.Revision() {
			t.Error("the one who stayed has not been saved since")
		}
		add(t, left, 1)
		if d := took(func() { save(t, left) }); d != 0 {
			t.Errorf("a save still waits for %v", d)
		}
	})
}

// case P25: loads come to a server from which players move away. They are what waits.
func TestLoadsDoNotSpendWhatFinalSavesNeed(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		busy := f.startLean("busy", perMinute(120), nil)
		busy.together("u", 60)
		b := f.start("b", nil)
		busy.spend(node.KindWrite, 30) // about all there is
		var coming sync.WaitGroup
		var waits []time.Duration
		coming.Go(func() { waits = busy.together("new", 60) })
		synctest.Wait()
		moves := b.together("u", 20)
		if slowest := slices.Max(moves); slowest > 12*time.Second {
			t.Errorf("a hand-over took %v, want what twenty writes take at two a second", slowest)
		}
		coming.Wait()
		if slowest := slices.Max(waits); slowest < 30*time.Second || slowest > 60*time.Second {
			t.Errorf("the slowest load took %v, want about what eighty writes take", slowest)
		}
	})
}

// Saves go first, then loads, then autosaves.
func TestWritesGoByClass(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), &profile.Options{Autosave: 10 * time.Second})
		auto, asked, leaving := a.load("auto", nil), a.load("asked", nil), a.load("leaving", nil)
		add(t, auto, 1)
		time.Sleep(9 * time.Second)
		a.spend(node.KindWrite, 60)
		time.Sleep(10 * time.Second) // its autosave is due
		a.spend(node.KindWrite, 10)  // and all that came in is gone
		var order written
		a.faults.SetRule(order.rule)
		var wg sync.WaitGroup
		wg.Go(func() { a.load("free", nil) })
		synctest.Wait()
		add(t, asked, 1)
		wg.Go(func() { save(t, asked) })
		synctest.Wait()
		wg.Go(func() { release(t, leaving) })
		wg.Wait()
		time.Sleep(40 * time.Second) // what background work leaves, half a minute's budget, has come in
		if got := order.take(); !slices.Equal(got, []string{"asked", "leaving", "free", "auto"}) {
			t.Errorf("order %v", got)
		}
	})
}

// An autosave that waits for budget is done by the first write that somebody waits for.
func TestWaitingAutosaveIsTakenAlong(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *profile.Session){"save": save, "release": release} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.startLean("a", perMinute(60), &profile.Options{Autosave: 10 * time.Second})
				s := a.load("u", nil)
				a.together("new", 20)
				add(t, s, 1)
				a.spend(node.KindWrite, 38) // 1 is left
				var loads sync.WaitGroup
				loads.Go(func() { a.together("more", 60) }) // they take what comes in
				time.Sleep(20 * time.Second)
				if q := a.node.Gate()[node.ClassBackground].Queue; q != 1 {
					t.Fatalf("%d autosaves wait", q)
				}
				add(t, s, 1)
				var order written
				a.faults.SetRule(order.rule)
				if d := took(func() { end(t, s) }); d > 2*time.Second {
					t.Errorf("it took %v, behind loads", d)
				}
				time.Sleep(20 * time.Second)
				n := 0
				for _, key := range order.take() {
					if key == "u" {
						n++
					}
				}
				if got := string(f.stored("u").Data); n != 1 || got != `{"coins":2}` {
					t.Errorf("%d writes, %s stored", n, got)
				}
				loads.Wait()
			})
		})
	}
}

// A session that has stood in one line can stand in each again.
func TestSessionStandsInLineAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), &profile.Options{Autosave: 10 * time.Second})
		s := a.load("u", nil)
		for range 2 {
			a.spend(node.KindWrite, 59)
			stop := a.hog(node.ClassLoad, node.KindWrite)
			add(t, s, 1)
			time.Sleep(20 * time.Second) // the autosave waits
			if d := took(func() { save(t, s) }); d > 2*time.Second {
				t.Errorf("a save waited for %v, behind loads", d)
			}
			stop()
			a.spend(node.KindWrite, 9)
			stop = a.hog(node.ClassSave, node.KindWrite)
			synctest.Wait()
			add(t, s, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 0)
			if err := s.Save(ctx); err == nil {
				t.Error("a save did not wait")
			}
			cancel()
			time.Sleep(20 * time.Second) // an autosave has fallen due meanwhile
			stop()
			time.Sleep(20 * time.Second)
			if _, stored := s.Stored(); stored != s.Revision() {
				t.Fatal("the save has not been made")
			}
			add(t, s, 1)
			time.Sleep(40 * time.Second)
			if _, stored := s.Stored(); stored != s.Revision() {
				t.Fatal("no autosave comes any more")
			}
			time.Sleep(time.Minute)
		}
	})
}

// What is not stored does not grow without end: after 150 s an autosave goes before loads.
func TestAutosaveDoesNotWaitForEver(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.startLean("a", perMinute(60), &profile.Options{Autosave: 10 * time.Second, LoadTimeout: time.Hour})
		s := a.load("u", nil)
		a.spend(node.KindWrite, 59)
		var loads sync.WaitGroup
		loads.Go(func() { a.together("new", 300) })
		add(t, s, 1)
		time.Sleep(150 * time.Second)
		if _, stored := s.Stored(); stored == s.Revision() {
			t.Error("it was saved, although loads had waited all the time")
		}
		time.Sleep(20 * time.Second) // 150 s after it had become due, at the latest
		if _, stored := s.Stored(); stored != s.Revision() {
			t.Error("it has not been saved")
		}
		loads.Wait()
	})
}
