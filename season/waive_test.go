package season_test

import (
	"context"
	"errors"
	"fmt"
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

func waiver(boards ...string) season.Waiver {
	return season.Waiver{Boards: boards, By: "ops", Note: "the disk is gone"}
}

// dead is a store whose board does not answer.
func dead(board string) func(string) fate {
	return func(call string) fate {
		if strings.Contains(call, "/"+board+"/") {
			return refuse
		}
		return pass
	}
}

// played is a first season of three players that is due and not closed.
func played(t *testing.T, w *world) *host {
	t.Helper()
	h := w.host("played", hostOptions{})
	for i := range 3 {
		s := h.join(fmt.Sprint("u", i))
		h.play(s, slices.Repeat([]string{"catch", "coins"}, 3-i)...)
		h.leaveStill(s)
	}
	w.pastGrace(0)
	return h
}

func TestASeasonIsClosedWithoutABoardThatIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := played(t, w)
		h.tap.set(dead("Coins"))
		if _, err := h.CloseDue(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("the usual close: %v", err)
		}
		if got := h.Status().Waiting; len(got) != 1 || !strings.Contains(got[0].Why, "Coins") {
			t.Fatalf("%+v", got)
		}
		c, err := h.CloseWithout(t.Context(), "C1S1", waiver("Coins"))
		if err != nil || !c.Here || c.ID != "C1S1" || c.K != 0 {
			t.Fatalf("%+v, %v", c, err)
		}
		if got := h.Status().Waiting; len(got) != 0 {
			t.Fatalf("%+v", got)
		}
		h.tap.set(nil) // the board is back, and changes nothing
		b := w.host("b", hostOptions{deps: season.Deps{Reward: prize}})
		b.closeDue()
		b.wantResult("C1S1", "Fish", "u0:3", "u1:2", "u2:1")
		b.wantResult("C1S1", "Coins")
		res, err := b.Result(t.Context(), "C1S1")
		if err != nil || res.Boards[0].Missing || !res.Boards[1].Missing || res.Boards[1].Title != "GOLD SOVEREIGN" || res.Unplayed {
			t.Fatalf("%+v, %v", res, err)
		}
		purses(t, w, 3)
		s := b.join("u1")
		if v, err := b.View(s); err != nil || len(v.Titles) != 1 || v.Titles[0].Text != "#2 SEA KING (S1)" {
			t.Fatalf("%+v, %v", v, err)
		}
		rec, err := b.ClosedBy(t.Context(), "C1S1")
		if err != nil || !strings.HasPrefix(rec.Node, "played-") || rec.Waiver.Note != "the disk is gone" || rec.Waiver.By != "ops" ||
			!slices.Equal(rec.Waiver.Boards, []string{"Coins"}) || rec.Boards["Fish"] != res.Boards[0].Digest {
			t.Fatalf("%+v, %v", rec, err)
		}
		if st := b.Status(); st.Through != 0 {
			t.Fatalf("through %d", st.Through)
		}
		// A ruling about the missing board has nobody to be about; about the other it counts.
		if _, err := b.Disqualify(t.Context(), "C1S1", ruling("u0", "Coins")); !errors.Is(err, season.ErrNoPlace) {
			t.Fatal(err)
		}
		st, err := b.Disqualify(t.Context(), "C1S1", ruling("u0"))
		if err != nil || shape(t, st, "Fish") != "u1 u2||u0" || shape(t, st, "Coins") != "||" || !st.Boards[1].Missing {
			t.Fatalf("%+v, %v", st, err)
		}
	})
}

func TestTheStoredFormOfAWaiver(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := played(t, w)
		h.tap.set(dead("Coins"))
		if _, err := h.CloseWithout(t.Context(), "C1S1", waiver("Coins")); err != nil {
			t.Fatal(err)
		}
		none := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		got := string(w.raw("season/reef/C1S1/result"))
		if want := `{"board":"Coins","title":"GOLD SOVEREIGN","order":"descending","total":0,"digest":"` + none +
			`","missing":true,"top":[],"reserve":[]}]}`; !strings.HasSuffix(got, want) {
			t.Errorf("\n got %s\nwant …%s", got, want)
		}
		got = string(w.raw("season/reef/C1S1/close"))
		if want := `"waiver":{"boards":["Coins"],"by":"ops","note":"the disk is gone"}}`; !strings.HasSuffix(got, want) {
			t.Errorf("\n got %s\nwant …%s", got, want)
		}
	})
}

func TestACloseWithoutThatIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := played(t, w)
		for _, bad := range []struct {
			id   string
			w    season.Waiver
			want error
		}{
			{"C1S1", waiver("Fish"), season.ErrBoardFine},
			{"C1S1", waiver("Coins", "Fish"), season.ErrBoardFine}, // Coins is gone, Fish is fine
			{"C1S1", waiver(), season.ErrRuling},
			{"C1S1", waiver("Coins", "Coins"), season.ErrRuling},
			{"C1S1", waiver("Coin"), season.ErrNoBoard},
			{"C1S1", season.Waiver{Boards: []string{"Coins"}, By: "ops"}, season.ErrRuling},
			{"C1S1", season.Waiver{Boards: []string{"Coins"}, Note: "x"}, season.ErrRuling},
			{"C1S2", waiver("Coins"), season.ErrNotDue},
			{"C9S1", waiver("Coins"), season.ErrNotDue},
			{"2026-08", waiver("Coins"), season.ErrNoSeason},
		} {
			h.tap.set(nil)
			if slices.Contains(bad.w.Boards, "Coins") {
				h.tap.set(dead("Coins"))
			}
			if c, err := h.CloseWithout(t.Context(), bad.id, bad.w); !errors.Is(err, bad.want) {
				t.Errorf("%s %+v: %+v, %v, want %v", bad.id, bad.w, c, err, bad.want)
			}
		}
		for _, key := range []string{"C1S1/result", "C1S1/close", "C1S2/result"} {
			if data := w.raw("season/reef/" + key); data != nil {
				t.Errorf("%s: %s", key, data)
			}
		}
		// Another board that cannot be read is not waived along.
		h.tap.set(func(call string) fate { return max(dead("Coins")(call), dead("Fish")(call)) })
		if _, err := h.CloseWithout(t.Context(), "C1S1", waiver("Coins")); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("with both dead: %v", err)
		}
		// A caller who gives up has not found out that the board is gone.
		h.tap.set(func(call string) fate {
			if strings.Contains(call, "/Coins/") {
				return hang
			}
			return pass
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.CloseWithout(ctx, "C1S1", waiver("Coins")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up: %v", err)
		}
		h.tap.set(nil)
		h.closeDue()
		h.wantResult("C1S1", "Coins", "u0:30", "u1:20", "u2:10")
	})
}

// A board that fails once is not gone.
func TestABoardThatFailsOnceIsFine(t *testing.T) {
	for n := int64(1); n <= 3; n++ { // info, seal, page
		bubble(t, func(t *testing.T, w *world) {
			h := played(t, w)
			var calls atomic.Int64
			h.tap.set(func(call string) fate {
				if strings.Contains(call, "/Coins/") && calls.Add(1) == n {
					return lose
				}
				return pass
			})
			if _, err := h.CloseWithout(t.Context(), "C1S1", waiver("Coins")); !errors.Is(err, season.ErrBoardFine) {
				t.Fatalf("call %d: %v", n, err)
			}
		})
	}
}

// Only the board's seal, or only its page, is what cannot be had.
func TestABoardThatCannotBeSealedOrReadIsGone(t *testing.T) {
	for _, what := range []string{"info ", "seal ", "page "} {
		bubble(t, func(t *testing.T, w *world) {
			h := played(t, w)
			h.tap.set(func(call string) fate {
				if strings.HasPrefix(call, what) && strings.Contains(call, "/Coins/") {
					return refuse
				}
				return pass
			})
			if c, err := h.CloseWithout(t.Context(), "C1S1", waiver("Coins")); err != nil || !c.Here {
				t.Fatalf("%s: %+v, %v", what, c, err)
			}
			h.wantResult("C1S1", "Fish", "u0:3", "u1:2", "u2:1")
		})
	}
}

// Boards that lost their memory, and no profiles to rebuild them from.
func TestASeasonIsClosedWithoutBoardsThatLostTheirMemory(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		played(t, w)
		w.engine.Forget(memstore.Boards)
		h := w.host("blind", hostOptions{blind: true})
		if _, err := h.CloseDue(t.Context()); !errors.Is(err, season.ErrMemory) {
			t.Fatal(err)
		}
		if _, err := h.CloseWithout(t.Context(), "C1S1", waiver("Fish")); !errors.Is(err, season.ErrMemory) {
			t.Fatalf("without one of two: %v", err)
		}
		if c, err := h.CloseWithout(t.Context(), "C1S1", waiver("Coins", "Fish")); err != nil || !c.Here {
			t.Fatalf("%+v, %v", c, err)
		}
		h.wantResult("C1S1", "Fish")
		s := w.profiles.load("u0")
		if titles, err := h.Joined(t.Context(), s); err != nil || len(titles) > 0 {
			t.Fatalf("%v, %v", titles, err)
		}
	})
}

// Values that wait for the missing board are told of, and do not wait for ever.
func TestValuesOfAMissingBoardAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		h.tap.set(dead("Coins"))
		ada := h.join("ada")
		h.play(ada, "catch", "coins")
		_ = h.Window(t.Context())
		w.pastGrace(0)
		if _, err := h.CloseWithout(t.Context(), "C1S1", waiver("Coins")); err != nil {
			t.Fatal(err)
		}
		h.play(ada, "catch")
		_ = h.Window(t.Context())
		got := h.refused()
		if len(got) != 1 || got[0].Board != "Coins" || got[0].Key != "ada" || got[0].Score != 10 || got[0].Has || got[0].Season != "C1S1" {
			t.Fatalf("refused %+v", got)
		}
		if v, err := h.View(ada); err != nil || len(v.Owed) != 0 {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// Operators and the usual closers race: one result, and everybody reads it.
func TestRacingWithAndWithout(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T, w *world) {
			played(t, w)
			var wg sync.WaitGroup
			var here atomic.Int64
			hosts := make([]*host, 6)
			for i := range hosts {
				h := w.host(fmt.Sprint("n", i), hostOptions{})
				hosts[i] = h
				faults := randomFaults(seed*100+uint64(i), 0.2)
				lost := i%2 == 0 // to this node, Coins is gone
				h.tap.set(func(call string) fate {
					if lost && strings.Contains(call, "/Coins/") {
						return refuse
					}
					return faults(call)
				})
				wg.Go(func() {
					for range 100 {
						var c season.Closed
						var err error
						if lost {
							c, err = h.CloseWithout(t.Context(), "C1S1", waiver("Coins"))
						} else {
							_, err = h.CloseDue(t.Context())
						}
						if c.Here {
							here.Add(1)
						}
						if err == nil {
							return
						}
						time.Sleep(time.Second)
					}
					t.Errorf("seed %d: n%d never got through", seed, i)
				})
			}
			wg.Wait()
			want := w.raw("season/reef/C1S1/result")
			rec := string(w.raw("season/reef/C1S1/close"))
			isWithout := strings.Contains(string(want), `"missing":true`)
			if isWithout != strings.Contains(rec, `"waiver"`) || here.Load() > 1 || !isWithout && here.Load() > 0 {
				t.Fatalf("seed %d: result %s\nrecord %s\nhere %d", seed, want, rec, here.Load())
			}
			for _, h := range hosts {
				h.tap.set(nil)
				res, err := h.Result(t.Context(), "C1S1")
				if err != nil || res.Boards[1].Missing != isWithout {
					t.Fatalf("seed %d: %+v, %v", seed, res, err)
				}
				h.wantResult("C1S1", "Fish", "u0:3", "u1:2", "u2:1")
			}
		})
	}
}
