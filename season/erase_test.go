package season_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// traces lists the season records that name a player.
func (w *world) traces(key string) (found []string) {
	w.t.Helper()
	for rec, err := range w.engine.Records().Scan(w.t.Context(), store.Prefix("season/")) {
		if err != nil {
			w.t.Fatal(err)
		}
		if strings.Contains(string(rec.Value), `"`+key+`"`) {
			found = append(found, rec.Key)
		}
	}
	return found
}

// faceless is a shape with every alias as "?".
func faceless(t *testing.T, st *season.Standings, board string) string {
	t.Helper()
	words := strings.FieldsFunc(shape(t, st, board), func(r rune) bool { return r == ' ' || r == '|' })
	out := shape(t, st, board)
	for _, word := range words {
		if strings.HasPrefix(word, "erased-") {
			out = strings.ReplaceAll(out, word, "?")
		}
	}
	return out
}

// case B18, S18: who is erased leaves results and corrections; every place stays.
func TestAnErasedPlayerLeavesTheResults(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 6)
		other := w.host("other", hostOptions{})
		for _, r := range []season.Ruling{ruling("u1", "Fish"), ruling("u3")} {
			if _, err := h.Disqualify(t.Context(), "C1S1", r); err != nil {
				t.Fatal(err)
			}
		}
		want := func(h *host, fish, coins string) {
			t.Helper()
			st, err := h.Standings(t.Context(), "C1S1")
			if err != nil {
				t.Fatal(err)
			}
			if got := [2]string{faceless(t, st, "Fish"), faceless(t, st, "Coins")}; got != [2]string{fish, coins} {
				t.Errorf("standings %q, want %q and %q", got, fish, coins)
			}
		}
		time.Sleep(31 * time.Second) // what another node has of the index is that old at most
		for _, h := range []*host{h, other} {
			want(h, "u0 u2 u4||u1 u3", "u0 u1 u2|u4|u3")
		}
		for range 2 { // again is nothing more
			if err := h.EraseKey(t.Context(), "u1"); err != nil {
				t.Fatal(err)
			}
			want(h, "u0 u2 u4||? u3", "u0 ? u2|u4|u3")
		}
		if left := w.traces("u1"); len(left) > 0 {
			t.Errorf("u1 is still in %q", left)
		}
		time.Sleep(31 * time.Second) // other nodes look at the index again
		want(other, "u0 u2 u4||? u3", "u0 ? u2|u4|u3")
		before := w.raw("season/reef/C1S1/result")
		if err := h.EraseKey(t.Context(), "nobody"); err != nil || string(before) != string(w.raw("season/reef/C1S1/result")) {
			t.Errorf("nobody's erasure: %v, changed %v", err, string(before) != string(w.raw("season/reef/C1S1/result")))
		}
		list, err := h.Corrections(t.Context(), "C1S1")
		if err != nil || len(list) != 2 || !strings.HasPrefix(list[0].Key, "erased-") || list[0].Alias != "" || list[0].Reason == "cheated" || list[1].Reason != "cheated" {
			t.Errorf("corrections %+v, %v", list, err)
		}
	})
}

// Every write of an erasure is refused, lost, or lost after it was applied, in turn; the next
// erasure finishes it. At no time is somebody back who was disqualified.
func TestAnErasureIsCutAtEveryWrite(t *testing.T) {
	for _, f := range []fate{refuse, lose, applied} {
		for cut := range 8 {
			bubble(t, func(t *testing.T, w *world) {
				h := closedSeason(t, w, 5)
				if _, err := h.Disqualify(t.Context(), "C1S1", ruling("u1")); err != nil {
					t.Fatal(err)
				}
				right := func(h *host, when string) {
					t.Helper()
					st, err := h.Standings(t.Context(), "C1S1")
					if err != nil {
						t.Fatal(err)
					}
					got := faceless(t, st, "Fish")
					if got != "u0 u2 u3|u4|u1" && got != "u0 u2 u3|u4|?" {
						t.Errorf("%s: %s", when, got)
					}
				}
				puts := 0
				h.tap.set(func(call string) fate {
					if !strings.HasPrefix(call, "put ") {
						return pass
					}
					if puts++; puts-1 == cut {
						return f
					}
					return pass
				})
				err := h.EraseKey(t.Context(), "u1")
				h.tap.set(nil)
				right(h, fmt.Sprintf("write %d ended as %v, here", cut, f))
				right(w.host("fresh", hostOptions{}), "elsewhere")
				if err != nil {
					if err := h.EraseKey(t.Context(), "u1"); err != nil {
						t.Fatal(err)
					}
				}
				if left := w.traces("u1"); len(left) > 0 {
					t.Errorf("cut at write %d by %v: u1 is still in %q", cut, f, left)
				}
				right(w.host("fresh2", hostOptions{}), "at the end")
			})
		}
	}
}

// The same in a season without corrections: what an erasure that was cut left in the record of
// corrections is found by the next one, though no index speaks of it.
func TestAnErasureWithoutCorrectionsIsCutAtEveryWrite(t *testing.T) {
	for _, f := range []fate{refuse, lose, applied} {
		for cut := range 6 {
			bubble(t, func(t *testing.T, w *world) {
				h := closedSeason(t, w, 5)
				puts := 0
				h.tap.set(func(call string) fate {
					if !strings.HasPrefix(call, "put ") {
						return pass
					}
					if puts++; puts-1 == cut {
						return f
					}
					return pass
				})
				err := h.EraseKey(t.Context(), "u1")
				h.tap.set(nil)
				if err != nil {
					err = w.host("other", hostOptions{}).EraseKey(t.Context(), "u1")
				}
				if left := w.traces("u1"); err != nil || len(left) > 0 {
					t.Errorf("cut at write %d by %v: u1 is still in %q, %v", cut, f, left, err)
				}
			})
		}
	}
}

// A closer clears a result of a player who was erased beside it, and dies at one of its writes:
// the next one finishes that before the season counts as closed.
func TestAClosersErasureIsCutAtEveryWrite(t *testing.T) {
	for cut := range 7 {
		bubble(t, func(t *testing.T, w *world) {
			h, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
			for i := range 3 {
				s := h.join(fmt.Sprint("u", i))
				h.play(s, slices.Repeat([]string{"catch"}, 3-i)...)
				h.leaveStill(s)
			}
			w.pastGrace(0)
			erased, puts := false, 0
			h.tap.set(func(call string) fate {
				switch {
				case !strings.HasPrefix(call, "put "):
					return pass
				case strings.HasPrefix(call, "put season/reef/C1S1/result") && !erased:
					erased = true
					if err := b.EraseKey(context.Background(), "u1"); err != nil {
						t.Error(err)
					}
					return pass
				case !erased:
					return pass
				}
				if puts++; puts-1 >= cut {
					return refuse // it is gone from here on
				}
				return pass
			})
			_, _ = h.CloseDue(t.Context())
			h.tap.set(func(string) fate { return refuse })
			w.host("c", hostOptions{}).closeDue()
			if left := w.traces("u1"); !erased || len(left) > 0 {
				t.Errorf("dead from write %d on: erased %v, and u1 is still in %q", cut, erased, left)
			}
		})
	}
}

// A closer has read the boards when a player is erased, and creates its result afterwards.
func TestAnErasureBesideACloseFindsItsWay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		b := w.host("b", hostOptions{})
		for i := range 4 {
			s := h.join(fmt.Sprint("u", i))
			h.play(s, slices.Repeat([]string{"catch"}, 4-i)...)
			h.leaveStill(s)
		}
		w.pastGrace(0)
		erased := false
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "put season/reef/C1S1/result") && !erased {
				erased = true
				for _, board := range []string{"Fish", "Coins"} { // as the facade does first
					_, _ = w.engine.Boards().Erase(context.Background(), season.BoardKey("reef", board, "C1S1"), "u1")
				}
				if err := b.EraseKey(context.Background(), "u1"); err != nil {
					t.Error(err)
				}
			}
			return pass
		})
		h.closeDue()
		if left := w.traces("u1"); !erased || len(left) > 0 {
			t.Errorf("erased %v, and u1 is still in %q", erased, left)
		}
		st, err := h.Standings(t.Context(), "C1S1")
		if err != nil || faceless(t, st, "Fish") != "u0 ? u2|u3|" {
			t.Errorf("%s, %v", faceless(t, st, "Fish"), err)
		}
		// What was noted is let go of with the next note: its season is closed.
		w.until(2*time.Hour + time.Minute)
		if err := b.EraseKey(t.Context(), "u2"); err != nil {
			t.Fatal(err)
		}
		if notes := string(w.raw("season/reef/erasing")); strings.Count(notes, "digest") != 1 {
			t.Errorf("noted: %s", notes)
		}
	})
}
