package season_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
)

// ruling is one that says everything that is needed.
func ruling(key string, boards ...string) season.Ruling {
	return season.Ruling{Key: key, Boards: boards, By: "ops", Reason: "cheated"}
}

// closedSeason is a first season with n players u0, u1, … from the best down, closed.
func closedSeason(t *testing.T, w *world, n int) *host {
	t.Helper()
	h := w.host("played", hostOptions{})
	for i := range n {
		s := h.join(fmt.Sprint("u", i))
		h.play(s, slices.Repeat([]string{"catch", "coins"}, n-i)...)
		h.leaveStill(s)
	}
	w.pastGrace(0)
	h.closeDue()
	return h
}

// shape is a board's standings as "a b c | d e | x", titles, reserve and disqualified.
func shape(t *testing.T, st *season.Standings, board string) string {
	t.Helper()
	for _, b := range st.Boards {
		if b.Board != board {
			continue
		}
		rank := 0
		var parts []string
		for _, list := range [][]season.Placed{b.Top, b.Reserve} {
			var keys []string
			for _, p := range list {
				rank++
				if p.Rank != rank {
					t.Errorf("%s has rank %d at position %d", p.Key, p.Rank, rank)
				}
				keys = append(keys, p.Key)
			}
			parts = append(parts, strings.Join(keys, " "))
		}
		var out []string
		for _, p := range b.Disqualified {
			out = append(out, p.Key)
		}
		return strings.Join(append(parts, strings.Join(out, " ")), "|")
	}
	t.Fatalf("no board %s", board)
	return ""
}

func TestADisqualificationMovesTheOthersUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 6)
		before := w.raw("season/reef/C1S1/result")
		for _, step := range []struct {
			ruling       season.Ruling
			back         bool
			fish, coins  string
			corrections  int
			nothingToAdd bool
		}{
			{ruling: ruling("u1", "Fish"), fish: "u0 u2 u3|u4|u1", coins: "u0 u1 u2|u3 u4|", corrections: 1},
			{ruling: ruling("u1", "Fish"), fish: "u0 u2 u3|u4|u1", coins: "u0 u1 u2|u3 u4|", corrections: 1},
			{ruling: ruling("u1"), fish: "u0 u2 u3|u4|u1", coins: "u0 u2 u3|u4|u1", corrections: 2},
			{ruling: ruling("u4"), fish: "u0 u2 u3||u1 u4", coins: "u0 u2 u3||u1 u4", corrections: 3},
			{ruling: ruling("u0", "Fish"), fish: "u2 u3||u0 u1 u4", coins: "u0 u2 u3||u1 u4", corrections: 4},
			{ruling: ruling("u1", "Coins"), back: true, fish: "u2 u3||u0 u1 u4", coins: "u0 u1 u2|u3|u4", corrections: 5},
			{ruling: ruling("u2"), back: true, fish: "u2 u3||u0 u1 u4", coins: "u0 u1 u2|u3|u4", corrections: 5},
			{ruling: ruling("u0"), back: true, fish: "u0 u2 u3||u1 u4", coins: "u0 u1 u2|u3|u4", corrections: 6},
		} {
			act := h.Disqualify
			if step.back {
				act = h.Reinstate
			}
			foreseen, err := h.Foresee(t.Context(), "C1S1", season.Correction{Reinstates: step.back, Ruling: step.ruling})
			if err != nil {
				t.Fatal(err)
			}
			st, err := act(t.Context(), "C1S1", step.ruling)
			if err != nil {
				t.Fatalf("%+v: %v", step.ruling, err)
			}
			later, err := h.Standings(t.Context(), "C1S1")
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range []*season.Standings{foreseen, st, later} {
				if f, c := shape(t, st, "Fish"), shape(t, st, "Coins"); f != step.fish || c != step.coins || st.Corrections != step.corrections {
					t.Fatalf("%+v: %s, %s, %d corrections; want %s, %s, %d", step.ruling, f, c, st.Corrections, step.fish, step.coins, step.corrections)
				}
			}
		}
		if got := w.raw("season/reef/C1S1/result"); string(got) != string(before) {
			t.Fatalf("the result changed to %s", got)
		}
		list, err := h.Corrections(t.Context(), "C1S1")
		if err != nil || len(list) != 6 || list[0].Key != "u1" || !list[4].Reinstates || list[0].Time.IsZero() || list[0].By != "ops" {
			t.Fatalf("%+v, %v", list, err)
		}
	})
}

func TestARulingThatCannotBe(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 6)
		w.until(2*time.Hour + time.Minute)
		long := strings.Repeat("x", 1025)
		for _, bad := range []struct {
			id   string
			r    season.Ruling
			want error
		}{
			{"C1S1", season.Ruling{Key: "u0", Reason: "x"}, season.ErrRuling},
			{"C1S1", season.Ruling{Key: "u0", By: "x"}, season.ErrRuling},
			{"C1S1", season.Ruling{Key: "u0", By: long[:129], Reason: "x"}, season.ErrRuling},
			{"C1S1", season.Ruling{Key: "u0", By: "x", Reason: long}, season.ErrRuling},
			{"C1S1", season.Ruling{Key: "u0", By: "x", Reason: "a\x00b"}, season.ErrRuling},
			{"C1S1", season.Ruling{Key: "u0", By: "x", Reason: "\xff"}, season.ErrRuling},
			{"C1S1", season.Ruling{Key: "", By: "x", Reason: "x"}, season.ErrRuling},
			{"C1S1", ruling("u5"), season.ErrNoPlace},
			{"C1S1", ruling("nobody"), season.ErrNoPlace},
			{"C1S1", ruling("u0", "Streak"), season.ErrNoBoard},
			{"C1S2", ruling("u0"), season.ErrNoResult},
			{"2026-08", ruling("u0"), season.ErrNoSeason},
		} {
			if _, err := h.Disqualify(t.Context(), bad.id, bad.r); !errors.Is(err, bad.want) {
				t.Errorf("%s %+v: %v, want %v", bad.id, bad.r, err, bad.want)
			}
			if _, err := h.Foresee(t.Context(), bad.id, season.Correction{Ruling: bad.r}); !errors.Is(err, bad.want) {
				t.Errorf("foreseen %s %+v: %v, want %v", bad.id, bad.r, err, bad.want)
			}
		}
		for _, key := range []string{"corrected", "C1S1/corrections", "C1S2/corrections"} {
			if data := w.raw("season/reef/" + key); data != nil {
				t.Errorf("%s was written: %s", key, data)
			}
		}
	})
}
