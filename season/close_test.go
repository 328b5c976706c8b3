package season_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// case S1.
func TestABoundaryWithAllNodesDownIsClosedLater(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		ada := h.join("ada")
		h.play(ada, "catch")
		h.leaveStill(ada)
		stopNode(t, h)

		w.until(3*time.Hour + 10*time.Minute) // three boundaries with nobody there
		b := w.host("b", hostOptions{})
		if ids := b.closeDue(); !slices.Equal(ids, []string{"C1S1", "C1S2", "C1S3"}) {
			t.Fatalf("closed %v", ids)
		}
		b.wantResult("C1S1", "Fish", "ada:1")
		b.wantResult("C1S2", "Fish")
		r, err := b.Result(t.Context(), "C1S3")
		if err != nil || !r.Unplayed || len(r.Boards) != 2 {
			t.Fatalf("a season that nobody played: %+v, %v", r, err)
		}
		if _, err := b.Result(t.Context(), "C1S4"); !errors.Is(err, season.ErrNoResult) {
			t.Fatalf("the running season: %v", err)
		}
		if w.profiles.scans() > 0 {
			t.Fatal("profiles were scanned for seasons that nobody played")
		}
		if st := b.Status(); !st.Started || st.First != 0 || st.Through != 2 || len(st.Waiting) != 0 {
			t.Fatalf("%+v", st)
		}
	})
}

// leaveStill is leave for a service without loops: the flush is the test's.
func (h *host) leaveStill(s *session) {
	h.w.t.Helper()
	h.window()
	h.leave(s)
}

func stopNode(t *testing.T, h *host) {
	t.Helper()
	if _, err := h.node.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The loops do it without being asked: 60 s after the start, and then just after each Grace.
func TestTheLoopsCloseSeasons(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{loops: true}), w.host("b", hostOptions{loops: true})
		ada := a.join("ada")
		bob := b.join("bob")
		a.play(ada, "catch")
		w.until(time.Hour - time.Second)
		a.play(ada, "catch") // case S9: the last second counts
		b.play(bob, "catch")
		w.until(time.Hour + 5*time.Minute)
		if w.raw("season/reef/C1S1/result") != nil {
			t.Fatal("closed before its Grace was over")
		}
		w.until(time.Hour + 5*time.Minute + 45*time.Second)
		a.wantResult("C1S1", "Fish", "ada:2", "bob:1")
		for _, h := range []*host{a, b} {
			if len(h.refused()) > 0 {
				t.Errorf("refused %v", h.refused())
			}
		}
		// Both stayed online: titles came to them.
		if got := a.titles(); !slices.Equal(got, []string{"ada Fish@C1S1"}) {
			t.Errorf("titles of a: %v", got)
		}
		if got := b.titles(); !slices.Equal(got, []string{"bob Fish@C1S1"}) {
			t.Errorf("titles of b: %v", got)
		}
		if w.raw("season/reef/C1S1/close") == nil {
			t.Error("nobody signed the close")
		}
		closed := append(slices.Clone(a.mu.closed), b.mu.closed...)
		if len(closed) != 2 || closed[0].Here == closed[1].Here {
			t.Errorf("heard of the close: %+v, want both, one of them its own", closed)
		}
	})
}

// case S2.
func TestTenClosersMakeOneResult(t *testing.T) {
	for seed := range uint64(40) {
		bubble(t, func(t *testing.T, w *world) {
			played := w.host("played", hostOptions{})
			for i := range 8 {
				s := played.join(fmt.Sprint("u", i))
				for range i + 1 {
					played.play(s, "catch", "coins")
				}
				played.leaveStill(s)
			}
			w.pastGrace(0)
			hosts := make([]*host, 10)
			for i := range hosts {
				hosts[i] = w.host(fmt.Sprint("n", i), hostOptions{})
				hosts[i].tap.set(randomFaults(seed*100+uint64(i), 0.25))
			}
			// They race until each has got through; then all faults end.
			var wg sync.WaitGroup
			for _, h := range hosts {
				wg.Go(func() {
					for range 50 {
						if _, err := h.CloseDue(t.Context()); err == nil {
							return
						}
						time.Sleep(time.Second)
					}
				})
			}
			wg.Wait()
			first := w.raw("season/reef/C1S1/result")
			winners := 0
			for _, h := range hosts {
				h.tap.set(nil)
				h.closeDue()
				h.wantResult("C1S1", "Fish", "u7:8", "u6:7", "u5:6", "u4:5", "u3:4")
				h.wantResult("C1S1", "Coins", "u7:80", "u6:70", "u5:60", "u4:50", "u3:40")
				for _, c := range h.mu.closed {
					if c.Here {
						winners++
					}
				}
			}
			if last := w.raw("season/reef/C1S1/result"); first == nil || !bytes.Equal(first, last) {
				t.Fatalf("the result changed:\n%s\n%s", first, last)
			}
			if winners > 1 {
				t.Fatalf("%d closers say that the result is theirs", winners)
			}
			if st := hosts[0].Status(); st.Through != 0 {
				t.Fatalf("closed through %d", st.Through)
			}
		})
	}
}

// randomFaults refuses, loses, or applies and loses calls with a probability.
func randomFaults(seed uint64, p float64) func(string) fate {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 7))
	return func(string) fate {
		mu.Lock()
		defer mu.Unlock()
		if rnd.Float64() >= p {
			return pass
		}
		return fate(1 + rnd.IntN(3))
	}
}

// Whoever computes it, and whatever answers were lost: the same bytes.
func TestEveryCloserWouldWriteTheSameBytes(t *testing.T) {
	results := make(map[string]bool)
	for i := range 3 {
		bubble(t, func(t *testing.T, w *world) {
			w.cfg.Epoch = at("2000-01-01T00:00:00Z")
			played := w.host(fmt.Sprint("x", i), hostOptions{})
			s := played.join("ada")
			played.play(s, "catch")
			played.leaveStill(s)
			w.pastGrace(0)
			time.Sleep(time.Duration(i) * time.Minute)
			w.host(fmt.Sprint("closer", i), hostOptions{}).closeDue()
			results[string(w.raw("season/reef/C1S1/result"))] = true
		})
	}
	if len(results) != 1 {
		t.Fatalf("%d different results: %v", len(results), results)
	}
}

// case S3.
func TestAWriteToAnEndedSeasonIsRefusedAndChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		ada := a.join("ada")
		a.play(ada, "catch")
		a.window()
		a.play(ada, "catch", "catch") // a sleeps over the close
		w.pastGrace(0)
		b.closeDue()
		before := w.raw("season/reef/C1S1/result")
		a.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "merge") {
				t.Errorf("%s, though the node can know that the season has a result", call)
			}
			return pass
		})
		a.window()
		a.tap.set(nil)
		b.wantResult("C1S1", "Fish", "ada:1")
		page, err := w.engine.Boards().Page(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), 0, 9, store.Ordinal)
		if err != nil || len(page.Entries) != 1 || page.Entries[0].Score != 1 || !bytes.Equal(before, w.raw("season/reef/C1S1/result")) {
			t.Fatalf("something changed: %+v, %v", page, err)
		}
		got := a.refused()
		if len(got) != 1 || got[0].Key != "ada" || got[0].Season != "C1S1" || got[0].Board != "Fish" || got[0].Score != 3 || got[0].Counted != 1 || !errors.Is(got[0].Err, store.ErrSealed) {
			t.Fatalf("refused %+v", got)
		}
		if st := a.Status(); st.Refused != 1 || st.Outbox != 0 {
			t.Fatalf("%+v", st)
		}
		// The block moves on, and what was refused leaves it.
		a.play(ada, "catch")
		a.window()
		if _, err := a.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err := a.View(ada); err != nil || v.Owed != nil || v.Season != "C1S2" {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// case S5: a paused node resumes in the next season.
func TestAPausedNodeCannotWriteTheOldBoard(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		ada := a.join("ada")
		a.play(ada, "catch")
		// a merges into the old season, and sleeps with the request on its way.
		var once sync.Once
		asleep, awake := make(chan struct{}), make(chan struct{})
		a.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "merge season/reef/Fish") {
				once.Do(func() { close(asleep); <-awake })
			}
			return pass
		})
		done := make(chan error)
		go func() { done <- a.Window(t.Context()) }()
		<-asleep
		w.pastGrace(0)
		b.closeDue()
		close(awake)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		b.wantResult("C1S1", "Fish")
		if got := a.refused(); len(got) != 1 || got[0].Score != 1 || got[0].Has {
			t.Fatalf("refused %+v", got)
		}
	})
}

// case S8.
func TestABoardThatCannotBeReadMeansNoResult(t *testing.T) {
	for _, broken := range []string{"page season/reef/Coins", "seal season/reef/Coins", "info season/reef/Coins", "get season/reef/C1S1/boards", "now"} {
		for _, f := range []fate{refuse, lose} {
			bubble(t, func(t *testing.T, w *world) {
				h := w.host("a", hostOptions{})
				s := h.join("ada")
				h.play(s, "catch", "coins")
				h.leaveStill(s)
				w.pastGrace(0)
				h.tap.set(func(call string) fate {
					if strings.HasPrefix(call, broken) {
						return f
					}
					return pass
				})
				for range 3 {
					if closed, err := h.CloseDue(t.Context()); err == nil || len(closed) > 0 {
						t.Fatalf("%s broken: closed %v, %v", broken, closed, err)
					}
					time.Sleep(time.Minute)
				}
				if w.raw("season/reef/C1S1/result") != nil {
					t.Fatalf("%s broken, and there is a result", broken)
				}
				if st := h.Status(); broken != "now" && (len(st.Waiting) != 1 || st.Waiting[0].Season != "C1S1" || st.Waiting[0].Why == "") {
					t.Fatalf("%s broken: waiting %+v", broken, st.Waiting)
				}
				h.tap.set(nil)
				time.Sleep(11 * time.Second) // until the node knows the time again
				h.closeDue()
				h.wantResult("C1S1", "Fish", "ada:1")
				h.wantResult("C1S1", "Coins", "ada:10")
				if st := h.Status(); len(st.Waiting) != 0 {
					t.Fatalf("still waiting: %+v", st.Waiting)
				}
			})
		}
	}
}

// case S10.
func TestRestartsChangeNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for i := range 5 {
			h := w.host(fmt.Sprint("n", i), hostOptions{loops: true})
			s := h.join("ada")
			h.play(s, "catch")
			h.leave(s)
			stopNode(t, h)
		}
		h := w.host("last", hostOptions{})
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:5"}) {
			t.Fatalf("%v", got)
		}
		if ids := h.closeDue(); len(ids) != 0 {
			t.Fatalf("closed %v", ids)
		}
		if v, err := h.View(h.join("ada")); err != nil || v.Stats["fish"] != 5 || v.Season != "C1S1" {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// A node whose clock is ten minutes fast does not close early, counts into the right season,
// and a slow one does not hold anything up.
func TestSkewedClocksDoNotMatter(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		fast := w.host("fast", hostOptions{loops: true, skew: 10 * time.Minute})
		slow := w.host("slow", hostOptions{loops: true, skew: -10 * time.Minute})
		if d := fast.Status().ClockDifference; d != 10*time.Minute {
			t.Fatalf("the fast clock is %v ahead", d)
		}
		s := fast.join("ada")
		w.until(55 * time.Minute)
		fast.play(s, "catch")
		if v, err := fast.View(s); err != nil || v.Season != "C1S1" {
			t.Fatalf("five minutes before the end: %+v, %v", v, err)
		}
		w.until(time.Hour + 4*time.Minute + 59*time.Second)
		if w.raw("season/reef/C1S1/result") != nil || w.raw("season/reef/C1S2/boards") != nil {
			t.Fatal("closed, or opened the next, before the time")
		}
		fast.leave(s)
		s = slow.join("ada")
		slow.play(s, "catch")
		if v, err := slow.View(s); err != nil || v.Season != "C1S2" || v.Stats["fish"] != 1 {
			t.Fatalf("on the slow node: %+v, %v", v, err)
		}
		w.until(time.Hour + 5*time.Minute + 45*time.Second)
		slow.wantResult("C1S1", "Fish", "ada:1")
	})
}

// The store's clock, read in the same close, decides; not the estimate.
func TestTheStoresOwnClockDecides(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		w.pastGrace(0)
		w.engine.StepClock(1, -time.Second) // the durable records: a second is missing
		if ids := h.closeDue(); len(ids) != 0 {
			t.Fatalf("closed %v a second early", ids)
		}
		time.Sleep(time.Second)
		if ids := h.closeDue(); !slices.Equal(ids, []string{"C1S1"}) {
			t.Fatalf("closed %v", ids)
		}
	})
}

func TestWithoutFreshFleetTimeNothingIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		h.join("ada")
		w.until(time.Hour)
		h.tap.set(func(call string) fate {
			if call == "now" {
				return refuse
			}
			return pass
		})
		w.pastGrace(0)
		if _, err := h.CloseDue(t.Context()); !errors.Is(err, season.ErrClock) {
			t.Fatalf("close: %v", err)
		}
		if st := h.Status(); st.Fresh || len(st.Waiting) != 1 || !strings.Contains(st.Waiting[0].Why, "not fresh") {
			t.Fatalf("%+v", st)
		}
	})
}

// A season that cannot be closed does not hold up the later ones, and closedThrough does not
// move over it; it is closed as soon as it can be.
func TestAStuckSeasonHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		for k := range int64(3) {
			w.until(time.Duration(k)*time.Hour + time.Second)
			h.play(s, "catch")
			h.window()
		}
		h.tap.set(func(call string) fate {
			if strings.HasSuffix(call, "Fish/C1S1") && strings.HasPrefix(call, "page") {
				return refuse
			}
			return pass
		})
		w.pastGrace(2)
		if _, err := h.CloseDue(t.Context()); err == nil {
			t.Fatal("no word of the stuck season")
		}
		h.wantResult("C1S2", "Fish", "ada:1")
		h.wantResult("C1S3", "Fish", "ada:1")
		if st := h.Status(); st.Through != -1 || len(st.Waiting) != 1 {
			t.Fatalf("%+v", st)
		}
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := h.View(s)
		if err != nil || v.Processed.Through != -1 || !slices.Equal(v.Processed.Extra, []int64{1, 2}) || len(v.Titles) != 2 {
			t.Fatalf("%+v, %v", v, err)
		}
		h.tap.set(nil)
		time.Sleep(time.Minute)
		h.closeDue()
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err = h.View(s)
		if err != nil || v.Processed.Through != 2 || v.Processed.Extra != nil || len(v.Titles) != 3 || h.Status().Through != 2 {
			t.Fatalf("the title of the season that was closed late: %+v, %v", v, err)
		}
	})
}

// With an old epoch a fresh set has thousands of seasons behind it: none of them is looked at.
func TestClosingBeginsWithTheSetsFirstSeason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Epoch = w.cfg.Epoch.Add(-100_000 * time.Hour)
		h := w.host("a", hostOptions{})
		if ids := h.closeDue(); len(ids) != 0 {
			t.Fatalf("a set that nobody used: closed %v", ids)
		}
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		time.Sleep(time.Hour + 6*time.Minute)
		var gets int
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "get") {
				gets++
			}
			return pass
		})
		if ids := h.closeDue(); !slices.Equal(ids, []string{h.Config().ID(100_000)}) || gets > 20 {
			t.Fatalf("closed %v with %d reads", ids, gets)
		}
	})
}

// A pass closes a bounded number of seasons; CloseDue goes on until all are closed.
func TestManySeasonsAreClosedInSeveralPasses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Length = 10 * time.Minute
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		stopNode(t, h)
		w.until(70*10*time.Minute + 6*time.Minute)
		b := w.host("b", hostOptions{loops: true})
		time.Sleep(90 * time.Second) // the first pass comes after 60 s, the next ones soon after
		if st := b.Status(); st.Through != 69 {
			t.Fatalf("closed through %d, want 69", st.Through)
		}
		b.wantResult("C1S1", "Fish", "ada:1")
		if ids := b.closeDue(); len(ids) != 0 {
			t.Fatalf("closed again: %v", ids)
		}
	})
}

func TestANodeMayBeToldNotToClose(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CloseEvery = -1
		h := w.host("a", hostOptions{loops: true})
		s := h.join("ada")
		h.play(s, "catch")
		h.leave(s)
		time.Sleep(3 * time.Hour)
		if w.raw("season/reef/C1S1/result") != nil {
			t.Fatal("the loop closed a season")
		}
		if ids := h.closeDue(); !slices.Equal(ids, []string{"C1S1", "C1S2", "C1S3"}[:len(ids)]) || len(ids) < 2 {
			t.Fatalf("closed when asked to: %v", ids)
		}
	})
}

// A node that closes nothing looks around as often as by default, and not without a pause.
func TestANodeThatClosesNothingRests(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CloseEvery = -1
		h := w.host("a", hostOptions{loops: true})
		h.play(h.join("ada"), "catch")
		w.until(time.Minute + time.Second)
		read := countReads(h)
		time.Sleep(25 * time.Minute)
		if n := read(); n < 5 || n > 30 {
			t.Fatalf("%d reads in 25 minutes", n)
		}
	})
}

// A value that is refused while its season still is the block's is told of once, and not
// again when it has moved to owed.
func TestARefusedValueIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		ada := a.join("ada")
		a.play(ada, "catch")
		w.pastGrace(0)
		b.closeDue()
		a.window() // refused, from the block
		a.window()
		a.play(ada, "catch")
		a.window() // now it is owed
		a.window()
		if got := a.refused(); len(got) != 1 || got[0].Score != 1 {
			t.Fatalf("refused %+v", got)
		}
		if v, err := a.View(ada); err != nil || v.Owed != nil || v.Stats["fish"] != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// closedThrough never goes back, whoever writes it when.
func TestClosedThroughNeverGoesBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		a.join("ada")
		w.pastGrace(0)
		// a computes through 0, and sleeps before its write; b closes two more.
		var once sync.Once
		asleep, awake := make(chan struct{}), make(chan struct{})
		a.tap.set(func(call string) fate {
			if call == "put season/reef/closed" {
				once.Do(func() { close(asleep); <-awake })
			}
			return pass
		})
		done := make(chan error)
		go func() {
			_, err := a.CloseDue(t.Context())
			done <- err
		}()
		<-asleep
		w.pastGrace(2)
		b.closeDue()
		close(awake)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := string(w.raw("season/reef/closed")); !strings.Contains(got, `"through":2`) {
			t.Fatalf("closed %s", got)
		}
		a.closeDue()
		if a.Status().Through != 2 {
			t.Fatalf("%+v", a.Status())
		}
	})
}
