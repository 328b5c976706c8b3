package season_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
)

func TestWhoClosedASeason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := closedSeason(t, w, 3)
		at := time.Now()
		time.Sleep(time.Hour)
		b := w.host("b", hostOptions{})
		rec, err := b.ClosedBy(t.Context(), "C1S1")
		if err != nil || rec.Season != "C1S1" || !strings.HasPrefix(rec.Node, "played-") || !rec.Time.Equal(at) || len(rec.Waiver.Boards) > 0 {
			t.Fatalf("%+v, %v", rec, err)
		}
		res, err := h.Result(t.Context(), "C1S1")
		if err != nil || len(rec.Boards) != 2 || rec.Boards["Fish"] != res.Boards[0].Digest || rec.Boards["Coins"] != res.Boards[1].Digest {
			t.Fatalf("%+v, %+v, %v", rec, res, err)
		}
		read := countReads(b)
		if again, err := b.ClosedBy(t.Context(), "C1S1"); err != nil || again.Node != rec.Node || read() > 0 {
			t.Fatalf("%+v, %d reads, %v", again, read(), err)
		}
		if _, err := b.ClosedBy(t.Context(), "C1S4"); !errors.Is(err, season.ErrNoResult) {
			t.Fatal(err)
		}
		if _, err := b.ClosedBy(t.Context(), "2026-08"); !errors.Is(err, season.ErrNoSeason) {
			t.Fatal(err)
		}
		w.put("season/reef/C1S1/close", `{"format":2}`)
		if _, err := h.ClosedBy(t.Context(), "C1S1"); !errors.Is(err, season.ErrNewerFormat) {
			t.Fatal(err)
		}
	})
}

// The record is the winner's, whatever becomes of answers: it comes with the result.
func TestTheCloseRecordIsTheWinners(t *testing.T) {
	for _, f := range []fate{lose, applied} {
		bubble(t, func(t *testing.T, w *world) {
			played(t, w)
			a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
			a.tap.set(func(call string) fate {
				if call == "put season/reef/C1S1/result" {
					return f
				}
				return pass
			})
			_, _ = a.CloseDue(t.Context())
			b.closeDue()
			a.tap.set(nil)
			a.closeDue()
			want := map[fate]string{lose: "b-", applied: "a-"}[f]
			if rec, err := b.ClosedBy(t.Context(), "C1S1"); err != nil || !strings.HasPrefix(rec.Node, want) {
				t.Fatalf("fate %d: %+v, %v", f, rec, err)
			}
		})
	}
}

func ids(list []*season.Result) (out []string) {
	for _, r := range list {
		out = append(out, r.Season)
	}
	return out
}

func TestResultsByPages(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		if list, err := h.Results(t.Context(), "", 10); err != nil || len(list) != 0 || w.raw("season/reef/first") != nil {
			t.Fatalf("before anything: %v, %v", ids(list), err)
		}
		w.until(2*time.Hour + time.Second) // the set's first season is C1S3
		s := h.join("ada")
		for k := range int64(6) {
			w.until(time.Duration(k+2)*time.Hour + time.Second)
			h.play(s, "catch")
			h.window()
		}
		w.pastGrace(6)
		h.tap.set(func(call string) fate { // C1S5 waits
			if strings.Contains(call, "/C1S5") && !strings.HasPrefix(call, "get") {
				return refuse
			}
			return pass
		})
		_, _ = h.CloseDue(t.Context())
		b := w.host("b", hostOptions{})
		for _, c := range []struct {
			before string
			limit  int
			want   []string
		}{
			{"", 3, []string{"C1S7", "C1S6", "C1S4"}},
			{"C1S4", 3, []string{"C1S3"}},
			{"C1S3", 3, nil},
			{"C1S6", 1, []string{"C1S4"}},
			{"", 100, []string{"C1S7", "C1S6", "C1S4", "C1S3"}},
			{"C9S9", 0, []string{"C1S7"}},
			{"C1S1", 5, nil},
		} {
			if list, err := b.Results(t.Context(), c.before, c.limit); err != nil || !slices.Equal(ids(list), c.want) {
				t.Errorf("before %q, %d: %v, %v, want %v", c.before, c.limit, ids(list), err, c.want)
			}
		}
		if _, err := b.Results(t.Context(), "2026-08", 5); !errors.Is(err, season.ErrNoSeason) {
			t.Error(err)
		}
	})
}

// A page, its standings and its records, asked for by a thousand, cost a few reads.
func TestAPageOfResultsIsReadOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		closedSeason(t, w, 3).rule("C1S1", out("u0"))
		b := w.host("b", hostOptions{})
		read := countReads(b)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				list, err := b.Results(t.Context(), "", 10)
				if err != nil || len(list) != 1 {
					t.Errorf("%v, %v", ids(list), err)
					return
				}
				st, err := b.Standings(t.Context(), "C1S1")
				if err != nil || shape(t, st, "Fish") != "u1 u2||u0" {
					t.Errorf("%+v, %v", st, err)
				}
			})
		}
		wg.Wait()
		if got := read(); got > 4 {
			t.Fatalf("%d reads", got)
		}
	})
}
