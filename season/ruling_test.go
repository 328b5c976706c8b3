package season_test

import (
	"encoding/json"
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

// Every call of a ruling refused, lost, applied and lost, or hanging, in turn: repeated, there is
// one correction, and the index promises no less.
func TestARulingWhoseAnswersAreLost(t *testing.T) {
	for _, f := range []fate{refuse, lose, applied, hang} {
		for n := int64(1); ; n++ {
			var calls atomic.Int64
			bubble(t, func(t *testing.T, w *world) {
				closedSeason(t, w, 5).rule("C1S1", out("u4"))
				h := w.host("a", hostOptions{})
				h.tap.set(func(call string) fate {
					if call != "now" && calls.Add(1) == n {
						return f
					}
					return pass
				})
				_, err := h.Disqualify(t.Context(), "C1S1", ruling("u0"))
				h.tap.set(nil)
				list, listErr := h.Corrections(t.Context(), "C1S1")
				if listErr != nil || len(list) > 2 || err == nil && len(list) != 2 {
					t.Fatalf("fate %d of call %d: %v: %d corrections, %v", f, n, err, len(list), listErr)
				}
				if err != nil && store.OutcomeOf(err) == store.NotDone && len(list) != 1 {
					t.Fatalf("fate %d of call %d: not done, and yet stored: %v", f, n, err)
				}
				st, err := h.Disqualify(t.Context(), "C1S1", ruling("u0"))
				if err != nil || shape(t, st, "Fish") != "u1 u2 u3||u0 u4" || st.Corrections != 2 {
					t.Fatalf("fate %d of call %d: %+v, %v", f, n, st, err)
				}
				if got := string(w.raw("season/reef/corrected")); got != `{"format":1,"seasons":{"C1S1":2}}` {
					t.Fatalf("index %s", got)
				}
			})
			if calls.Load() < n {
				break
			}
		}
	}
}

// A write whose answer is lost and that arrives later is fenced, or is the one that counts.
func TestALateRulingCountsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 5)
		late := make(chan struct{})
		var held atomic.Bool
		h.tap.set(func(call string) fate {
			if call == "put season/reef/C1S1/corrections" && held.CompareAndSwap(false, true) {
				<-late // on its way, and slow
			}
			return pass
		})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := h.Disqualify(t.Context(), "C1S1", ruling("u0")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		b := w.host("b", hostOptions{})
		b.rule("C1S1", out("u0"))
		b.rule("C1S1", out("u1"))
		close(late)
		wg.Wait()
		if list, err := h.Corrections(t.Context(), "C1S1"); err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
	})
}

// Ten operators at once, on ten nodes with failing stores: every ruling counts, once.
func TestTenOperatorsAtOnce(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T, w *world) {
			w.cfg.Top, w.cfg.Keep = 10, 20
			closedSeason(t, w, 12)
			var wg sync.WaitGroup
			hosts := make([]*host, 10)
			for i := range hosts {
				hosts[i] = w.host(fmt.Sprint("n", i), hostOptions{})
				hosts[i].tap.set(randomFaults(seed*100+uint64(i), 0.2))
			}
			for i, h := range hosts {
				wg.Go(func() {
					for range 100 {
						_, err1 := h.Disqualify(t.Context(), "C1S1", ruling("u0"))
						_, err2 := h.Disqualify(t.Context(), "C1S1", ruling(fmt.Sprint("u", i+1)))
						if err1 == nil && err2 == nil {
							return
						}
						time.Sleep(time.Second)
					}
					t.Errorf("seed %d: n%d never got through", seed, i)
				})
			}
			wg.Wait()
			hosts[0].tap.set(nil)
			list, err := hosts[0].Corrections(t.Context(), "C1S1")
			if err != nil || len(list) != 11 {
				t.Fatalf("seed %d: %d corrections, %v", seed, len(list), err)
			}
			time.Sleep(31 * time.Second)
			for _, h := range hosts {
				h.tap.set(nil)
				st, err := h.Standings(t.Context(), "C1S1")
				if err != nil || shape(t, st, "Fish") != "u11||u0 u1 u2 u3 u4 u5 u6 u7 u8 u9 u10" {
					t.Fatalf("seed %d: %+v, %v", seed, st, err)
				}
			}
		})
	}
}

func TestASeasonTakesSoManyCorrections(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 5)
		c, err := json.Marshal(out("u0"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(back("u0"))
		if err != nil {
			t.Fatal(err)
		}
		list := make([]string, 0, season.MaxCorrections)
		for i := range season.MaxCorrections - 1 {
			list = append(list, string([][]byte{c, b}[i%2]))
		}
		full := fmt.Sprintf(`{"format":1,"season":"C1S1","list":[%s]}`, strings.Join(list, ","))
		w.put("season/reef/C1S1/corrections", full)
		w.put("season/reef/corrected", fmt.Sprintf(`{"format":1,"seasons":{"C1S1":%d}}`, len(list)))
		r := ruling("u1")
		r.Reason = strings.Repeat(`<"`, 512) // the longest in every way
		if _, err := h.Disqualify(t.Context(), "C1S1", r); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Disqualify(t.Context(), "C1S1", r); err != nil {
			t.Fatalf("what is ruled already: %v", err)
		}
		for _, act := range []func() error{
			func() error { _, err := h.Disqualify(t.Context(), "C1S1", ruling("u2")); return err },
			func() error { _, err := h.Foresee(t.Context(), "C1S1", out("u2")); return err },
		} {
			if err := act(); !errors.Is(err, season.ErrCorrections) {
				t.Fatalf("one more: %v", err)
			}
		}
		if got := string(w.raw("season/reef/corrected")); got != `{"format":1,"seasons":{"C1S1":1000}}` {
			t.Fatalf("index %s", got)
		}
		// Every character that JSON makes longer, a thousand times: it still fits into a record.
		if n := 1000 * (2*(1024+128) + 128 + 32*67 + 200); n > store.MaxValue {
			t.Fatalf("%d bytes", n)
		}
	})
}

// What is stored, byte for byte.
func TestTheStoredFormsOfCorrections(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 2)
		h.rule("C1S1", season.Correction{Ruling: season.Ruling{Key: "u0", Boards: []string{"Fish"}, By: "ops", Reason: "a<b & \"c\""}})
		h.rule("C1S1", back("u0"))
		at := w.cfg.End(0).Add(300 * time.Second).Format(time.RFC3339Nano)
		want := `{"format":1,"season":"C1S1","list":[` +
			`{"time":"` + at + `","key":"u0","boards":["Fish"],"by":"ops","reason":"a<b & \"c\""},` +
			`{"time":"` + at + `","reinstates":true,"key":"u0","by":"ops","reason":"cheated"}]}`
		if got := string(w.raw("season/reef/C1S1/corrections")); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		if got := string(w.raw("season/reef/corrected")); got != `{"format":1,"seasons":{"C1S1":2}}` {
			t.Errorf("index %s", got)
		}
	})
}

// Records of a newer release, and garbage, are left alone: a ruling is refused, and titles wait.
func TestForeignCorrectionsAreLeftAlone(t *testing.T) {
	for key, values := range map[string][]string{
		"season/reef/corrected": {`{"format":2,"seasons":{}}`, `{"seasons":{}}`, `[]`, `{"format":1,"seasons":[]}`},
		"season/reef/C1S1/corrections": {
			`{"format":2,"season":"C1S1"}`, `{"season":"C1S1"}`, `{"format":1,"season":"C1S2","list":[]}`, `"none"`,
		},
	} {
		for _, value := range values {
			bubble(t, func(t *testing.T, w *world) {
				closedSeason(t, w, 5)
				if strings.HasSuffix(key, "corrections") {
					w.put("season/reef/corrected", `{"format":1,"seasons":{"C1S1":1}}`)
				}
				w.put(key, value)
				h := w.host("b", hostOptions{})
				isNewer := strings.Contains(value, `"format":2`)
				_, err := h.Disqualify(t.Context(), "C1S1", ruling("u0"))
				if err == nil || errors.Is(err, season.ErrNewerFormat) != isNewer {
					t.Errorf("%s: ruling: %v", value, err)
				}
				if _, err := h.Standings(t.Context(), "C1S1"); err == nil {
					t.Errorf("%s: standings of what cannot be read", value)
				}
				if titles, err := h.Joined(t.Context(), w.profiles.load("u0")); err == nil || len(titles) > 0 {
					t.Errorf("%s: %v, %v", value, titles, err)
				}
				if got := string(w.raw(key)); got != value {
					t.Errorf("%s became %s", value, got)
				}
				if ids := h.closeDue(); len(ids) != 0 {
					t.Errorf("closed %v", ids)
				}
				w.pastGrace(1) // and seasons go on being closed
				if ids := h.closeDue(); !slices.Equal(ids, []string{"C1S2"}) {
					t.Errorf("%s: closed %v", value, ids)
				}
			})
		}
	}
}

// A ruling on another node, while this one still believes that there is no result.
func TestARulingRightAfterTheClose(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		h.join("u0")
		h.play(h.players("u0"), "catch")
		h.window()
		w.pastGrace(0)
		b := w.host("b", hostOptions{})
		if _, err := b.Disqualify(t.Context(), "C1S1", ruling("u0")); !errors.Is(err, season.ErrNoResult) {
			t.Fatalf("before: %v", err)
		}
		if _, err := b.Result(t.Context(), "C1S1"); !errors.Is(err, season.ErrNoResult) {
			t.Fatal(err)
		}
		// While it is being closed: the boards are sealed, the result is not written.
		h.tap.set(func(call string) fate {
			if call == "put season/reef/C1S1/result" {
				if _, err := b.Disqualify(t.Context(), "C1S1", ruling("u0")); !errors.Is(err, season.ErrNoResult) {
					t.Errorf("meanwhile: %v", err)
				}
			}
			return pass
		})
		h.closeDue()
		if _, err := b.Disqualify(t.Context(), "C1S1", ruling("u0")); err != nil {
			t.Fatalf("after: %v", err)
		}
	})
}

func TestACorrectionAfterTheEndOfTheService(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 2)
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Disqualify(t.Context(), "C1S1", ruling("u0")); !errors.Is(err, season.ErrClosed) {
			t.Fatal(err)
		}
		if _, err := h.CloseWithout(t.Context(), "C1S1", season.Waiver{}); !errors.Is(err, season.ErrClosed) {
			t.Fatal(err)
		}
	})
}
