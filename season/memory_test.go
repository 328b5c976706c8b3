package season_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// everybody plays the first season in every way that a profile can remember it: ada left,
// bob is still in it, cyd has moved on and owes, dan has moved on and his board has answered.
func everybody(t *testing.T, w *world, h *host) {
	t.Helper()
	for i, key := range []string{"ada", "bob", "cyd", "dan"} {
		s := h.join(key)
		for range 4 - i {
			h.play(s, "catch", "coins")
		}
		h.window()
		if key == "ada" {
			h.leave(s)
		}
	}
	w.until(time.Hour + time.Second)
	dan := h.players("dan")
	h.play(dan, "catch")
	h.window()
	h.play(h.players("cyd"), "catch")
}

// players is the open session of a key.
func (h *host) players(key string) *session {
	s := h.SessionOf(key)
	if s == nil {
		h.w.t.Fatalf("%s is not here", key)
	}
	return s.(*session)
}

var everybodysFish = []string{"ada:4", "bob:3", "cyd:2", "dan:1"}

// saveAll saves every open session, as autosave does long before Grace is over.
func (h *host) saveAll() {
	for _, key := range []string{"bob", "cyd", "dan"} {
		if err := h.players(key).save(); err != nil {
			h.w.t.Fatal(err)
		}
	}
}

// M12: the boards lose their memory just before the close.
func TestABoardThatLostItsMemoryIsRebuilt(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		everybody(t, w, h)
		h.saveAll()
		w.pastGrace(0)
		w.engine.Forget(memstore.Boards)
		closer := w.host("b", hostOptions{})
		closer.closeDue()
		closer.wantResult("C1S1", "Fish", everybodysFish...)
		closer.wantResult("C1S1", "Coins", "ada:40", "bob:30", "cyd:20", "dan:10")
		if w.profiles.scans() != 1 {
			t.Fatalf("%d scans for two boards, want one", w.profiles.scans())
		}
		if len(h.refused()) > 0 {
			t.Fatalf("refused %v", h.refused())
		}
	})
}

func TestAnUntouchedBoardIsNotRebuilt(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		everybody(t, w, h)
		if err := h.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.pastGrace(0)
		h.closeDue()
		h.wantResult("C1S1", "Fish", everybodysFish...)
		if w.profiles.scans() != 0 {
			t.Fatalf("%d scans", w.profiles.scans())
		}
	})
}

// Without profiles to rebuild from the close waits, and says why.
func TestWithoutProfilesTheCloseWaits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		everybody(t, w, h)
		h.saveAll()
		w.pastGrace(0)
		w.engine.Forget(memstore.Boards)
		blind, err := season.NewStill(h.node, "reef", w.cfg, season.Deps{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := blind.CloseDue(t.Context()); !errors.Is(err, season.ErrMemory) {
			t.Fatalf("close: %v", err)
		}
		if st := blind.Status(); len(st.Waiting) != 1 || !strings.Contains(st.Waiting[0].Why, "lost its memory") {
			t.Fatalf("%+v", st.Waiting)
		}
		if w.raw("season/reef/C1S1/result") != nil {
			t.Fatal("there is a result")
		}
		h.closeDue()
		h.wantResult("C1S1", "Fish", everybodysFish...)
	})
}

// The memory goes at every call that a close makes, in turn; at some of them once more.
func TestMemoryLostAtEveryStepOfTheClose(t *testing.T) {
	for again := range int64(3) {
		for n := int64(1); ; n++ {
			var calls atomic.Int64
			bubble(t, func(t *testing.T, w *world) {
				h := w.host("a", hostOptions{})
				everybody(t, w, h)
				h.saveAll()
				w.pastGrace(0)
				closer := w.host("b", hostOptions{})
				closer.tap.set(func(call string) fate {
					if call == "now" {
						return pass
					}
					if at := calls.Add(1); at == n || again > 0 && at == n+again*3 {
						w.engine.Forget(memstore.Boards)
					}
					return pass
				})
				for range 6 {
					if _, err := closer.CloseDue(t.Context()); err == nil {
						break
					}
					time.Sleep(10 * time.Second)
				}
				closer.wantResult("C1S1", "Fish", everybodysFish...)
				closer.wantResult("C1S1", "Coins", "ada:40", "bob:30", "cyd:20", "dan:10")
			})
			if calls.Load() < n {
				break
			}
		}
	}
}

// The closer dies at every call of a close that needs a rebuild; another one finishes.
func TestARebuildThatIsCutShortIsDoneAgain(t *testing.T) {
	for _, f := range []fate{refuse, lose, applied} {
		for n := int64(1); ; n++ {
			var calls atomic.Int64
			bubble(t, func(t *testing.T, w *world) {
				h := w.host("a", hostOptions{})
				everybody(t, w, h)
				h.saveAll()
				w.pastGrace(0)
				w.engine.Forget(memstore.Boards)
				dies := w.host("b", hostOptions{})
				dies.tap.set(cutAt(n, f, &calls))
				_, _ = dies.CloseDue(t.Context())
				dies.tap.set(func(string) fate { return refuse })
				other := w.host("c", hostOptions{})
				other.closeDue()
				other.wantResult("C1S1", "Fish", everybodysFish...)
				other.wantResult("C1S1", "Coins", "ada:40", "bob:30", "cyd:20", "dan:10")
			})
			if calls.Load() < n {
				break
			}
		}
	}
}

// cutAt lets n-1 calls pass, gives the n-th its fate, and refuses every later one. The clock,
// which the node reads by itself, does not count.
func cutAt(n int64, f fate, calls *atomic.Int64) func(string) fate {
	return func(call string) fate {
		at := calls.Load()
		if call != "now" {
			at = calls.Add(1)
		}
		switch {
		case at < n:
			return pass
		case at == n && call != "now":
			return f
		}
		return refuse
	}
}

// The profiles cannot be read to the end: nothing is vouched for.
func TestAnInterruptedScanIsNoRebuild(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		everybody(t, w, h)
		h.saveAll()
		w.pastGrace(0)
		w.engine.Forget(memstore.Boards)
		broken := errors.New("broken")
		b, err := season.NewStill(h.node, "reef", w.cfg, season.Deps{Profiles: scan(func(ctx context.Context, fn func(season.Profile) error) error {
			_ = w.profiles.Scan(ctx, func(p season.Profile) error {
				if p.Key > "ada" {
					return broken
				}
				return fn(p)
			})
			return broken
		})})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.CloseDue(t.Context()); !errors.Is(err, broken) {
			t.Fatalf("close: %v", err)
		}
		if w.raw("season/reef/C1S1/result") != nil {
			t.Fatal("there is a result")
		}
		h.closeDue()
		h.wantResult("C1S1", "Fish", everybodysFish...)
	})
}

type scan func(context.Context, func(season.Profile) error) error

func (s scan) Scan(ctx context.Context, fn func(season.Profile) error) error { return s(ctx, fn) }

// Several nodes rebuild, seal and close at once, the memory goes again and again, and every
// fourth answer is a lie: when it ends, the result is what was played, and there is one.
func TestRebuildsRaceAndTheResultIsRight(t *testing.T) {
	var rebuilt atomic.Int64
	for seed := range uint64(60) {
		bubble(t, func(t *testing.T, w *world) {
			h := w.host("a", hostOptions{})
			everybody(t, w, h)
			h.saveAll()
			w.pastGrace(0)
			w.engine.Forget(memstore.Boards)
			rnd := rand.New(rand.NewPCG(seed, 1))
			late := func() { // somebody makes the boards anew, as a late writer does
				for _, board := range []string{"Fish", "Coins"} {
					_, err := w.engine.Boards().Create(context.Background(), season.BoardKey("reef", board, "C1S1"),
						store.BoardSpec{Order: store.Descending, Generation: fmt.Sprint("late", rnd.IntN(1000))})
					if err != nil {
						t.Error(err)
					}
				}
			}
			var mu sync.Mutex
			losses := 4
			var wg sync.WaitGroup
			for i := range 4 {
				c := w.host(fmt.Sprint("n", i), hostOptions{})
				faults := randomFaults(seed*10+uint64(i), 0.1)
				c.tap.set(func(call string) fate {
					mu.Lock()
					lose := losses > 0 && rnd.IntN(25) == 0
					wait := time.Duration(rnd.IntN(20)) * time.Millisecond
					again := rnd.IntN(2) == 0
					if lose {
						losses--
					}
					mu.Unlock()
					time.Sleep(wait)
					if lose {
						mu.Lock()
						w.engine.Forget(memstore.Boards)
						if again {
							late()
						}
						mu.Unlock()
					}
					return faults(call)
				})
				wg.Go(func() {
					for range 40 {
						if _, err := c.CloseDue(t.Context()); err == nil {
							break
						}
						time.Sleep(time.Second)
					}
				})
			}
			wg.Wait()
			h.closeDue()
			h.wantResult("C1S1", "Fish", everybodysFish...)
			h.wantResult("C1S1", "Coins", "ada:40", "bob:30", "cyd:20", "dan:10")
			rebuilt.Add(int64(w.profiles.scans()))
		})
	}
	if rebuilt.Load() < 60 {
		t.Fatalf("only %d rebuilds in 60 runs: the test does not test", rebuilt.Load())
	}
}

// A board is created, and the node dies before the register names it; or the register names
// it, and the board is gone before anything was written.
func TestOpeningIsCutAtEveryStep(t *testing.T) {
	for _, forget := range []bool{false, true} {
		for _, f := range []fate{refuse, lose, applied} {
			for n := int64(1); ; n++ {
				var calls atomic.Int64
				bubble(t, func(t *testing.T, w *world) {
					dies := w.host("a", hostOptions{})
					s := dies.join("ada")
					dies.play(s, "catch", "coins")
					dies.tap.set(cutAt(n, f, &calls))
					_ = dies.Window(t.Context())
					dies.tap.set(func(string) fate { return refuse })
					if err := s.save(); err != nil {
						t.Fatal(err)
					}
					s.crash()
					if forget {
						w.engine.Forget(memstore.Boards)
					}
					b := w.host("b", hostOptions{})
					bob := b.join("bob")
					b.play(bob, "catch")
					b.window()
					w.pastGrace(0)
					b.closeDue()
					r, err := b.Result(t.Context(), "C1S1")
					if err != nil {
						t.Fatal(err)
					}
					got := standings(r, "Fish")
					// ada's value counts whenever a board had answered for it.
					if !slices.Contains(got, "bob:1") || calls.Load() < n && !slices.Contains(got, "ada:1") {
						t.Fatalf("cut at %d with fate %d: %v", n, f, got)
					}
				})
				if calls.Load() < n {
					break
				}
			}
		}
	}
}

// An acknowledged value is never lost, wherever the memory goes while two nodes open, write
// and close.
func TestNothingAcknowledgedIsLostWithTheMemory(t *testing.T) {
	for seed := range uint64(60) {
		bubble(t, func(t *testing.T, w *world) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			var mu sync.Mutex
			var stop atomic.Bool
			chaos := func(string) fate {
				mu.Lock()
				defer mu.Unlock()
				if !stop.Load() && rnd.IntN(12) == 0 {
					w.engine.Forget(memstore.Boards)
				}
				return pass
			}
			a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
			a.tap.set(chaos)
			b.tap.set(chaos)
			ada, bob := a.join("ada"), b.join("bob")
			for range 5 {
				a.play(ada, "catch")
				b.play(bob, "catch", "catch")
				_ = a.Window(t.Context())
				_ = b.Window(t.Context())
				time.Sleep(time.Minute)
			}
			stop.Store(true)
			a.window()
			b.window()
			if err := errors.Join(ada.save(), bob.save()); err != nil {
				t.Fatal(err)
			}
			w.pastGrace(0)
			a.closeDue()
			a.wantResult("C1S1", "Fish", "bob:10", "ada:5")
		})
	}
}

// A board was sealed just after it had lost its memory and been made anew: it is no result,
// and it does not stand in the way.
func TestASealedStrangerIsDroppedAndRebuilt(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		everybody(t, w, h)
		h.saveAll()
		w.pastGrace(0)
		stranger := func() {
			w.engine.Forget(memstore.Boards)
			for _, board := range []string{"Fish", "Coins"} {
				key := season.BoardKey("reef", board, "C1S1")
				if _, err := w.engine.Boards().Create(t.Context(), key, store.BoardSpec{Order: store.Descending, Generation: "stranger"}); err != nil {
					t.Error(err)
				}
			}
		}
		var once sync.Once
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "seal season/reef/Fish") {
				once.Do(stranger)
			}
			return pass
		})
		for range 3 {
			if _, err := h.CloseDue(t.Context()); err == nil {
				break
			}
			if w.raw("season/reef/C1S1/result") != nil {
				t.Fatal("there is a result although the close failed")
			}
			time.Sleep(time.Minute)
		}
		h.wantResult("C1S1", "Fish", everybodysFish...)
		h.wantResult("C1S1", "Coins", "ada:40", "bob:30", "cyd:20", "dan:10")
	})
}

// As long as the register does not name the board's generation, nothing is merged: else an
// acknowledged value could be lost with the memory, and nobody would know.
func TestNothingIsMergedBeforeTheRegisterNamesTheGeneration(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		h.play(h.join("ada"), "catch")
		puts := 0
		h.tap.set(func(call string) fate {
			switch {
			case call == "put season/reef/C1S1/boards":
				if puts++; puts > 1 { // the first opens the register
					return refuse
				}
			case strings.HasPrefix(call, "merge"):
				t.Errorf("%s before the register names a generation", call)
			}
			return pass
		})
		for range 3 {
			if err := h.Window(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("window: %v", err)
			}
		}
		h.tap.set(nil)
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("%v", got)
		}
	})
}

// A rebuild that slept while another one finished takes nothing back.
func TestAnOvertakenRebuildTakesNothingBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		everybody(t, w, h)
		h.saveAll()
		w.pastGrace(0)
		w.engine.Forget(memstore.Boards)
		slow, fast := w.host("slow", hostOptions{}), w.host("fast", hostOptions{})
		var once sync.Once
		asleep, awake := make(chan struct{}), make(chan struct{})
		slow.tap.set(func(call string) fate {
			if call == "put season/reef/C1S1/boards" {
				once.Do(func() { close(asleep); <-awake })
			}
			return pass
		})
		done := make(chan error)
		go func() {
			_, err := slow.CloseDue(t.Context())
			done <- err
		}()
		<-asleep
		w.engine.Forget(memstore.Boards)
		fast.closeDue()
		before := string(w.raw("season/reef/C1S1/boards"))
		close(awake)
		if err := <-done; !errors.Is(err, season.ErrMemory) {
			t.Fatalf("the slow one: %v", err)
		}
		if now := string(w.raw("season/reef/C1S1/boards")); now != before {
			t.Fatalf("the register was %s, is %s", before, now)
		}
		slow.closeDue()
		slow.wantResult("C1S1", "Fish", everybodysFish...)
	})
}
