package season_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
)

// Many players are joined, played, viewed and left from many goroutines, while windows,
// closes and sweeps run, over several boundaries: every event counts once.
func TestEverythingAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Length = 10 * time.Minute
		w.cfg.Top, w.cfg.Keep = 40, 100
		h := w.host("a", hostOptions{loops: true})
		const players, rounds = 40, 45
		var wg sync.WaitGroup
		for i := range players {
			wg.Go(func() {
				for round := range rounds {
					s := w.profiles.load(fmt.Sprint("u", i))
					if _, err := h.Joined(t.Context(), s); err != nil {
						t.Error(err)
					}
					h.play(s, "catch")
					time.Sleep(time.Duration(1+(i+round)%30) * time.Second)
					h.play(s, "catch", "lose")
					if _, err := h.View(s); err != nil {
						t.Error(err)
					}
					h.leave(s)
				}
			})
		}
		done := make(chan struct{})
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(7 * time.Second):
				}
				if err := h.Window(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := h.CloseDue(t.Context()); err != nil {
					t.Error(err)
				}
				h.Status()
				h.top("Fish")
			}
		})
		w.until(30 * time.Minute)
		close(done)
		wg.Wait()
		w.until(50 * time.Minute)
		h.closeDue()
		var sum int64
		for k := range int64(4) {
			r, err := h.Result(t.Context(), w.cfg.ID(k))
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range r.Boards[:1] {
				for _, p := range b.Top {
					sum += p.Score
				}
			}
		}
		if want := int64(players * rounds * 2); sum != want || len(h.refused()) > 0 {
			t.Fatalf("%d catches counted, want %d; refused %v", sum, want, h.refused())
		}
	})
}

// A second session of a key takes the first one's place, and the first one's leave does not
// throw it out.
func TestTheNextSessionTakesThePlace(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		first := h.join("ada")
		h.play(first, "catch")
		if err := first.save(); err != nil {
			t.Fatal(err)
		}
		second := h.join("ada") // taken over on this very node
		h.play(second, "catch")
		h.Left(t.Context(), first)
		if h.players("ada") != second {
			t.Fatal("the old session's leave threw the new one out")
		}
		h.window()
		if st, ok, err := h.Standing(t.Context(), "Fish", "ada"); err != nil || !ok || st.Score != 2 {
			t.Fatalf("%+v, %v, %v", st, ok, err)
		}
	})
}

// Sessions that end without a leave are forgotten.
func TestEndedSessionsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		for i := range 100 {
			s := h.join(fmt.Sprint("u", i))
			h.play(s, "catch")
			s.crash()
		}
		h.window()
		if st := h.Status(); st.Players != 0 || st.Outbox != 0 {
			t.Fatalf("%+v", st)
		}
	})
}

// Close is safe from many callers at once, and twice.
func TestManyCloseAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		h.play(h.join("ada"), "catch")
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := h.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := h.Record(h.w.profiles.load("x"), season.Event{Name: "catch"}); err == nil {
			t.Fatal("recorded after the close")
		}
	})
}
