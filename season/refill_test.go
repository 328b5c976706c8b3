package season_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/memstore"
)

// The memory goes while the season runs: the players see a full board again, those who have
// left included, and the close rebuilds it once more.
func TestABoardOfTheRunningSeasonIsRefilled(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		gone := h.join("gone")
		h.play(gone, "catch", "catch", "catch")
		h.leaveStill(gone)
		here := h.join("here")
		h.play(here, "catch")
		h.window()
		other := w.host("b", hostOptions{})
		idle := other.join("idle")
		other.play(idle, "catch", "catch")
		other.window()

		w.engine.Forget(memstore.Boards)
		if _, err := h.Top(t.Context(), "Fish", 5); !errors.Is(err, season.ErrMemory) {
			t.Fatalf("before anybody has noticed: %v, want ErrMemory", err)
		}
		h.play(here, "catch")
		h.window() // notices
		if err := h.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.top("Fish"); !slices.Equal(got, []string{"gone:3", "here:2", "idle:2"}) {
			t.Fatalf("after the refill: %v", got)
		}
		if err := other.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.profiles.scans() != 1 {
			t.Fatalf("%d scans, want one claimed by one node", w.profiles.scans())
		}
		other.play(idle, "catch")
		other.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"gone:3", "idle:3", "here:2"}) {
			t.Fatalf("the season goes on: %v", got)
		}
		w.pastGrace(0)
		h.closeDue()
		h.wantResult("C1S1", "Fish", "gone:3", "idle:3", "here:2")
	})
}

// Two nodes find the loss at once: one of them scans the profiles.
func TestARefillIsClaimed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		s := a.join("ada")
		a.play(s, "catch")
		a.window()
		w.engine.Forget(memstore.Boards)
		both := make(chan struct{})
		var here atomic.Int64
		meet := func(call string) fate {
			if call != "put season/reef/C1S1/boards" {
				return pass
			}
			switch here.Add(1) {
			case 1:
				<-both
			case 2:
				close(both)
			}
			return pass
		}
		a.tap.set(meet)
		b.tap.set(meet)
		var wg sync.WaitGroup
		for _, h := range []*host{a, b} {
			wg.Go(func() {
				if err := h.Inspect(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if w.profiles.scans() != 1 {
			t.Fatalf("%d scans", w.profiles.scans())
		}
	})
}

// Every node sends its sessions' values again when it sees that a board was born anew, also
// when it neither writes nor refills.
func TestEveryNodeResendsWhenABoardForgot(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{blind: true}), w.host("b", hostOptions{blind: true})
		onA, onB := a.join("onA"), b.join("onB")
		a.play(onA, "catch")
		b.play(onB, "catch")
		a.window()
		b.window()
		w.engine.Forget(memstore.Boards)
		// There are no profiles to scan in this run: the board comes back from the sessions alone.
		a.play(onA, "catch")
		a.window()
		if got := a.top("Fish"); !slices.Equal(got, []string{"onA:2"}) {
			t.Fatalf("%v", got)
		}
		if err := b.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.window() // though nothing has changed
		if got := a.top("Fish"); !slices.Equal(got, []string{"onA:2", "onB:1"}) {
			t.Fatalf("%v", got)
		}
	})
}

// The answer to the claim is lost: it is the claimant's all the same.
func TestAClaimedRefillWithALostAnswerIsDone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		w.engine.Forget(memstore.Boards)
		var once sync.Once
		h.tap.set(func(call string) (f fate) {
			if call == "put season/reef/C1S1/boards" {
				once.Do(func() { f = applied })
			}
			return f
		})
		if err := h.Inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("%v", got)
		}
	})
}
