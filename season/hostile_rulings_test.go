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
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// wantFish compares how the only board of the first season stands on a node, aliases as "?".
func (h *host) wantFish(want string) {
	h.w.t.Helper()
	st, err := h.Standings(h.w.t.Context(), "C1S1")
	if err != nil {
		h.w.t.Errorf("standings: %v", err)
		return
	}
	if got := faceless(h.w.t, st, "Fish"); got != want {
		h.w.t.Errorf("stands %q, want %q", got, want)
	}
}

// A node has the result in memory since before an erasure, and reads the corrections after it:
// they speak of an alias that its result does not have. Whoever was disqualified stays out, and
// no title is computed from the two.
func TestAResultOlderThanItsCorrectionsIsReadAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		h.rule("C1S1", out("u0"))
		b := w.host("b", hostOptions{})
		b.closeDue() // has the index
		if _, err := b.Result(t.Context(), "C1S1"); err != nil {
			t.Fatal(err)
		}
		if err := h.EraseKey(t.Context(), "u0"); err != nil {
			t.Fatal(err)
		}
		b.wantFish("u1 u2 u3|u4|?")
		b.visit("u1")
		if got := w.titleOf("u1"); got != "#1 SEA KING (S1)" {
			t.Errorf("u1 has %q", got)
		}
	})
}

// A read of a result is answered late: meanwhile a player was erased, and the node has heard of
// it. What the read found is not kept.
func TestALateReadBringsNobodyBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		b := w.host("b", hostOptions{})
		late := make(chan struct{})
		var held atomic.Bool
		after := func(call string) {
			if call == "get season/reef/C1S1/result" && held.CompareAndSwap(false, true) {
				<-late
			}
		}
		b.tap.after.Store(&after)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Result(t.Context(), "C1S1"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if err := h.EraseKey(t.Context(), "u0"); err != nil {
			t.Fatal(err)
		}
		b.closeDue() // hears of the erasure
		close(late)
		wg.Wait()
		if r, err := b.Result(t.Context(), "C1S1"); err != nil || standings(r, "Fish")[0] == "u0:5" {
			t.Errorf("%v, %v", standings(r, "Fish"), err)
		}
	})
}

// A ruling about somebody who was erased just before, by a node that has the result in memory.
func TestARulingAfterAnErasureFindsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		b := w.host("b", hostOptions{})
		b.wantFish("u0 u1 u2|u3 u4|")
		if err := h.EraseKey(t.Context(), "u0"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Disqualify(t.Context(), "C1S1", ruling("u0")); !errors.Is(err, season.ErrNoPlace) {
			t.Errorf("ruled: %v", err)
		}
		if left := w.traces("u0"); len(left) > 0 {
			t.Errorf("u0 is in %q", left)
		}
	})
}

// A ruling comes before every write of an erasure in turn, and an erasure before every write of a
// ruling: the ruling counts, or finds nobody; of who was erased nothing is left.
func TestARulingBesideAnErasure(t *testing.T) {
	for _, first := range []string{"ruling", "erasure"} {
		for n := int64(1); ; n++ {
			var puts atomic.Int64
			bubble(t, func(t *testing.T, w *world) {
				oneBoard(t, w, 5).rule("C1S1", out("u4"))
				eraser, ruler := w.host("eraser", hostOptions{}), w.host("ruler", hostOptions{})
				ruler.wantFish("u0 u1 u2|u3|u4")
				erase := func() error { return eraser.EraseKey(t.Context(), "u0") }
				rule := func() error { _, err := ruler.Disqualify(t.Context(), "C1S1", ruling("u0")); return err }
				outer, inner, tap := erase, rule, eraser.tap
				if first == "ruling" {
					outer, inner, tap = rule, erase, ruler.tap
				}
				var innerErr error
				tap.set(func(call string) fate {
					if strings.HasPrefix(call, "put ") && puts.Add(1) == n {
						innerErr = inner()
					}
					return pass
				})
				outerErr := outer()
				ruled, erased := innerErr, outerErr
				if first == "ruling" {
					ruled, erased = outerErr, innerErr
				}
				what := fmt.Sprintf("%s cut at write %d: ruled %v, erased %v", first, n, ruled, erased)
				if erased != nil || ruled != nil && !errors.Is(ruled, season.ErrNoPlace) {
					t.Error(what)
				}
				want := "? u1 u2|u3|u4"
				if ruled == nil {
					want = "u1 u2 u3||? u4"
				}
				if puts.Load() < n {
					return
				}
				if left := w.traces("u0"); len(left) > 0 {
					t.Errorf("%s: u0 is in %q", what, left)
				}
				w.host("fresh", hostOptions{}).wantFish(want)
				time.Sleep(31 * time.Second)
				ruler.wantFish(want)
			})
			if puts.Load() < n {
				break
			}
		}
	}
}

// The answer to a ruling is lost, and before the node looks again another takes the ruling back:
// it is not made a second time.
func TestARulingIsNotMadeTwice(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		b := w.host("b", hostOptions{})
		lost := false
		h.tap.set(func(call string) fate {
			switch {
			case call == "put season/reef/C1S1/corrections" && !lost:
				lost = true
				return applied
			case call == "get season/reef/C1S1/corrections" && lost:
				b.rule("C1S1", back("u0"))
			}
			return pass
		})
		if _, err := h.Disqualify(t.Context(), "C1S1", ruling("u0")); err != nil {
			t.Fatal(err)
		}
		if list, err := b.Corrections(t.Context(), "C1S1"); err != nil || len(list) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
		b.wantFish("u0 u1 u2|u3 u4|")
	})
}

// A ruling that may be stored is never told to be not done: its answer was lost, and then the
// store was away; or the next try was refused while the first is still on its way.
func TestARulingThatMayBeStoredIsUnknown(t *testing.T) {
	for name, then := range map[string]func(call string) fate{
		"nothing can be read": func(call string) fate {
			if strings.HasPrefix(call, "get ") {
				return refuse
			}
			return pass
		},
		"the next try is refused": func(call string) fate {
			if strings.HasPrefix(call, "put ") {
				return refuse
			}
			return pass
		},
	} {
		bubble(t, func(t *testing.T, w *world) {
			h := oneBoard(t, w, 5)
			var lost atomic.Bool // the node reads its clock meanwhile
			h.tap.set(func(call string) fate {
				switch {
				case lost.Load():
					return then(call)
				case call == "put season/reef/C1S1/corrections":
					lost.Store(true)
					return lose
				}
				return pass
			})
			_, err := h.Disqualify(t.Context(), "C1S1", ruling("u0"))
			if store.OutcomeOf(err) != store.Unknown {
				t.Errorf("%s: %s: %v", name, store.OutcomeOf(err), err)
			}
		})
	}
}

// A promise without a record is looked after across an erasure, so that those who are online hear
// of a write that lands after it.
func TestAPromiseOutlivesAnErasure(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		late := make(chan struct{})
		var held atomic.Bool
		h.tap.set(func(call string) fate {
			if call == "put season/reef/C1S1/corrections" && held.CompareAndSwap(false, true) {
				<-late
			}
			return pass
		})
		var wg sync.WaitGroup
		wg.Go(func() { h.rule("C1S1", out("u0")) })
		synctest.Wait()
		var e ear
		b := w.host("b", hostOptions{deps: season.Deps{OnCorrected: e.hear}})
		b.join("u1")
		if _, err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.host("c", hostOptions{}).EraseKey(t.Context(), "u4"); err != nil {
			t.Fatal(err)
		}
		b.closeDue() // hears of the erasure
		close(late)
		wg.Wait()
		time.Sleep(31 * time.Second)
		if err := b.LookAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := e.all(); !slices.Equal(got, []string{"u1 2>1"}) {
			t.Errorf("heard %v", got)
		}
	})
}

// A season is closed without a board while somebody is erased, by a node that dies right after:
// whoever closes next forgets the player.
func TestAnErasureBesideACloseWithout(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		played := w.host("played", hostOptions{})
		for i := range 4 {
			s := played.join(fmt.Sprint("u", i))
			played.play(s, slices.Repeat([]string{"catch", "coins"}, 4-i)...)
			played.leaveStill(s)
		}
		w.pastGrace(0)
		dies, b := w.host("dies", hostOptions{}), w.host("b", hostOptions{})
		coins := season.BoardKey("reef", "Coins", "C1S1")
		dies.tap.set(func(call string) fate {
			switch {
			case call == "put season/reef/C1S1/result":
				if _, err := w.engine.Boards().Erase(context.Background(), season.BoardKey("reef", "Fish", "C1S1"), "u1"); err != nil {
					t.Error(err)
				}
				if err := b.EraseKey(context.Background(), "u1"); err != nil {
					t.Error(err)
				}
			case strings.HasSuffix(call, " "+coins):
				return refuse
			}
			return pass
		})
		waiver := season.Waiver{Boards: []string{"Coins"}, By: "ops", Note: "the disk"}
		if c, err := dies.CloseWithout(t.Context(), "C1S1", waiver); err != nil || !c.Here {
			t.Fatalf("%+v, %v", c, err)
		}
		b.closeDue()
		if left := w.traces("u1"); len(left) > 0 {
			t.Errorf("u1 is still in %q", left)
		}
		b.wantFish("u0 ? u2|u3|")
	})
}

// FuzzRecords reads what may be stored by anybody: nothing panics, what can be read is written
// again as it was understood, and no standings name somebody twice or leave a rank out.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		`{"format":1,"season":"C1S1","list":[{"key":"a","alias":"b","boards":["Fish","Fish",""]},{"key":"a","reinstates":true}],"erasing":{"c":"d"}}`,
		`{"format":1,"season":"C1S1","list":null,"erasing":null}`, `{"format":1,"seasons":{"C1S1":-1,"":9},"erased":-3}`,
		`{"format":1,"list":[{"digest":"","k":-1},{"digest":"","k":9}]}`, `{"format":1,"season":"C1S1","boards":null,"waiver":{}}`, `null`, `[]`, `{}`, ``,
	} {
		f.Add([]byte(seed))
	}
	r := fishResult(f, 0, "a", "b", "c", "d", "e")
	f.Fuzz(func(t *testing.T, data []byte) {
		if again, err := season.Reread("C1S1", data); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		list, err := season.DecodeCorrections("C1S1", data)
		if err != nil {
			return
		}
		st, seen := season.StandingsOf(r, list), map[string]bool{}
		for _, places := range [][]season.Placed{st.Boards[0].Top, st.Boards[0].Reserve, st.Boards[0].Disqualified} {
			for _, p := range places {
				if seen[p.Key] {
					t.Fatalf("%s: %s has two places", data, p.Key)
				}
				seen[p.Key] = true
			}
		}
		if len(seen) != 5 {
			t.Fatalf("%s: %v", data, seen)
		}
	})
}

// A ruling names each board once, and no more than a season can have.
func TestARulingNamesEachBoardOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		for _, boards := range [][]string{{"Fish", "Fish"}, slices.Repeat([]string{"Fish"}, 10_000)} {
			if _, err := h.Disqualify(t.Context(), "C1S1", ruling("u0", boards...)); !errors.Is(err, season.ErrRuling) {
				t.Errorf("%d boards: %v", len(boards), err)
			}
		}
	})
}

// Records that say that they are of another season, as after a copy by hand, are not believed.
func TestRecordsOfAnotherSeasonAreNotBelieved(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		closed := string(w.raw("season/reef/C1S1/close"))
		w.put("season/reef/C1S1/close", strings.ReplaceAll(closed, "C1S1", "C1S2"))
		if by, err := w.host("b", hostOptions{}).ClosedBy(t.Context(), "C1S1"); err == nil {
			t.Errorf("closed by %+v", by)
		}
		w.put("season/reef/C1S1/close", `{}`)
		if by, err := w.host("c", hostOptions{}).ClosedBy(t.Context(), "C1S1"); err == nil {
			t.Errorf("closed by %+v", by)
		}
		w.put("season/reef/C1S1/close", closed)
		w.put("season/reef/C1S2/result", string(w.raw("season/reef/C1S1/result")))
		w.pastGrace(1)
		if got, err := h.CloseDue(t.Context()); err == nil {
			t.Errorf("closed %+v by the result of another season", got)
		}
		w.put("season/reef/C1S2/result", strings.Replace(string(w.raw("season/reef/C1S1/result")), `"k":0`, `"k":1`, 1))
		if r, err := w.host("d", hostOptions{}).Result(t.Context(), "C1S2"); err == nil {
			t.Errorf("result %+v", r)
		}
	})
}
