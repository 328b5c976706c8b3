package shoal_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// An old game without boards.
func unranked(o *shoal.Options) { o.Boards = nil }

// population stores players with kills, some without.
func population(t *testing.T, c *craft, n int) {
	t.Helper()
	for i := range n {
		s := c.load(fmt.Sprintf("u%04d", i))
		if i%10 != 0 {
			kill(t, s, i)
		}
		must(t, s.Release(t.Context()))
	}
}

func TestRefillOfAnOldGame(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		population(t, w.launch("old", unranked), 2500)
		c := w.launch("new", nil)
		var steps []shoal.Refill
		out, err := c.RefillBoard(t.Context(), "Now", func(r shoal.Refill) { steps = append(steps, r) })
		if err != nil || out != (shoal.Refill{Profiles: 2500, Scores: 2250}) {
			t.Fatalf("%+v, %v", out, err)
		}
		page, err := w.raw.Boards().Page(t.Context(), "Now", 0, 3, store.Ordinal)
		if err != nil || page.Total != 2250 || page.Entries[0].Key != "u2499" || page.Entries[0].Score != 2499 {
			t.Errorf("%+v, %v", page, err)
		}
		if len(steps) < 3 || steps[0].Scores != 1000 {
			t.Errorf("progress: %+v", steps)
		}
		before, err := w.raw.Boards().Info(t.Context(), "Now")
		must(t, err)
		_, err = c.RefillBoard(t.Context(), "Now", nil)
		must(t, err)
		if after, err := w.raw.Boards().Info(t.Context(), "Now"); err != nil || after != before {
			t.Errorf("again: %+v, %v; it was %+v", after, err, before)
		}

		if _, err := c.RefillBoard(t.Context(), "None", nil); !errors.Is(err, board.ErrUnknownBoard) {
			t.Errorf("a board that is not there: %v", err)
		}
		must(t, c.Boards().Define("Free", board.Config{}))
		if _, err := c.RefillBoard(t.Context(), "Free", nil); !errors.Is(err, shoal.ErrNotMirrored) {
			t.Errorf("a board that mirrors nothing: %v", err)
		}
	})
}

// What a game writes while the board is filled is newer than what the fill has read.
func TestRefillWhileTheGameRuns(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		population(t, w.launch("old", unranked), 1200)
		c := w.launch("new", nil)
		var s *profile.Session
		_, err := c.RefillBoard(t.Context(), "Now", func(shoal.Refill) {
			if s != nil {
				return
			}
			s = c.load("u1111")
			kill(t, s, 7)
			must(t, s.Save(t.Context()))
			must(t, c.Boards().FlushNow(t.Context()))
			if _, err := c.Set("players").Erase(t.Context(), "u0005", profile.Source{}, nil); err != nil {
				t.Fatal(err)
			}
		})
		must(t, err)
		got := w.on("Now")
		if page, err := w.raw.Boards().Scores(t.Context(), "Now", "u1111", "u0005"); err != nil || page["u1111"].Score != 7 || len(page) != 1 {
			t.Errorf("the played and the erased one: %v, %v", page, err)
		}
		if len(got) != 1000 {
			t.Errorf("%d entries on the page", len(got))
		}
	})
}

// An entry of a profile that is erased between its reading and its writing does not stay.
func TestRefillDoesNotBringTheErasedBack(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		old := w.launch("old", nil)
		population(t, old, 20)
		must(t, old.Boards().FlushNow(t.Context()))
		c := w.launch("new", nil)
		erased := false
		c.faults.SetRule(func(call faultstore.Call) faultstore.Fault {
			if call.Op == "merge" && call.Keys[0] == "Now" && !erased {
				erased = true
				return faultstore.Fault{Delay: 4 * time.Second}
			}
			return faultstore.Fault{}
		})
		go func() {
			time.Sleep(500 * time.Millisecond) // read by then, and not written
			if _, err := old.Set("players").Erase(t.Context(), "u0005", profile.Source{}, nil); err != nil {
				t.Error(err)
			}
		}()
		out, err := c.RefillBoard(t.Context(), "Now", nil)
		if err != nil || out.Removed != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		if _, there := w.on("Now")["u0005"]; there {
			t.Error("the erased player is on the board")
		}
	})
}

func TestRefillThroughFaults(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter} {
		for n := 1; n <= 8; n++ {
			inWaters(t, func(t *testing.T, w *waters) {
				population(t, w.launch("old", unranked), 30)
				c := w.launch("new", nil)
				c.faults.SetRule(faultstore.Nth(n, func(call faultstore.Call) bool { return call.Part == faultstore.Boards }, faultstore.Fault{Kind: kind}))
				_, err := c.RefillBoard(t.Context(), "Now", nil)
				if got := w.on("Now"); err != nil || len(got) != 27 || got["u0029"] != 29 {
					t.Errorf("%v %d: %v, %d entries", kind, n, err, len(got))
				}
			})
		}
	}
}

// Exactly, or not at all: neither a save nor a refill rounds what a board cannot hold.
func TestAMirrorRoundsNothing(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		low := int64(-1000)
		c := w.launch("a", func(o *shoal.Options) {
			o.Boards = map[string]board.Config{
				"Time": {Rule: store.Last, Order: store.Ascending, Decimals: 2, Min: &low, From: &board.Source{Set: "players", Path: "/kills"}},
			}
		})
		for i, kills := range []any{1.25, 7, 0.1, 1.255, "12", 1e300, int64(1) << 62, -11, -10, true, nil, []any{1}, 3.50} {
			s := c.load(fmt.Sprintf("p%02d", i))
			kill(t, s, kills)
			must(t, s.Release(t.Context()))
		}
		must(t, c.Boards().FlushNow(t.Context()))
		want := map[string]int64{"p00": 125, "p01": 700, "p02": 10, "p08": -1000, "p12": 350}
		w.shows("Time", want)
		if got := c.Boards().Stats().Boards["Time"].Refused; got != 7 {
			t.Errorf("%d refused, 7 expected", got)
		}
		must(t, c.Boards().Drop(t.Context(), "Time"))
		out, err := c.RefillBoard(t.Context(), "Time", nil)
		if err != nil || out.Profiles != 13 || out.Scores != 5 || out.Problems != 7 || !strings.HasPrefix(out.First, "p03: ") {
			t.Errorf("%+v, %v", out, err)
		}
		w.shows("Time", want)
	})
}

// What this node writes without a session reaches the boards too: edits, imports.
func TestAMirrorOfWhatNobodyHolds(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		a := w.launch("a", nil)
		population(t, a, 2)
		must(t, a.Boards().FlushNow(t.Context()))
		if _, err := a.Set("players").Edit(t.Context(), "u0001", profile.Source{}, doc.Set("/kills", doc.Int(4))); err != nil {
			t.Fatal(err)
		}
		must(t, a.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"u0001": 4})

		var export bytes.Buffer
		_, err := a.Set("players").Export(t.Context(), &export, nil)
		must(t, err)
		if _, err := a.Set("players").Edit(t.Context(), "u0001", profile.Source{}, doc.Set("/kills", doc.Int(9))); err != nil {
			t.Fatal(err)
		}
		report, err := a.Set("players").Import(t.Context(), &export, &profile.ImportOptions{Overwrite: profile.Replace})
		if err != nil || report.Replaced != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		must(t, a.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"u0001": 4})
		w.honest()
	})
}

// A score that the queue had to give up is told again by the next save.
func TestAMirrorTellsAgainWhatWasGivenUp(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) { o.Flush.MaxWriteAttempts = 2 })
		s := c.load("ann")
		must(t, c.Boards().FlushNow(t.Context()))
		c.faults.Outage(faultstore.Boards, true)
		kill(t, s, 5)
		must(t, s.Save(t.Context()))
		time.Sleep(time.Minute)
		if got := c.Boards().Stats().Boards["Now"].Dropped; got != 1 {
			t.Fatalf("%d dropped", got)
		}
		c.faults.Outage(faultstore.Boards, false)
		_, err := s.Transact(profile.Source{}, doc.Set("/place", doc.Int(1)))
		must(t, err)
		must(t, s.Save(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 5})
	})
}

// Saves that change no score write no board.
func TestAMirrorIsQuietWhileNothingChanges(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", nil)
		s := c.load("ann")
		kill(t, s, 5)
		must(t, s.Save(t.Context()))
		before := c.Boards().Stats().Total.Submitted
		for i := range 20 {
			_, err := s.Transact(profile.Source{}, doc.Set("/place", doc.Int(int64(i))))
			must(t, err)
			must(t, s.Save(t.Context()))
		}
		if got := c.Boards().Stats().Total.Submitted; got != before || before != 2 {
			t.Errorf("%d submits, then %d", before, got)
		}
	})
}

// A player who is erased leaves the boards that mirror the set, whatever set is ranked.
func TestErasedPlayersLeaveTheirMirrors(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) { o.Ranked = "-" })
		population(t, c, 3)
		must(t, c.Boards().FlushNow(t.Context()))
		if _, err := c.Set("players").Erase(t.Context(), "u0001", profile.Source{}, nil); err != nil {
			t.Fatal(err)
		}
		w.shows("Now", map[string]int64{"u0002": 2})
		w.shows("Best", map[string]int64{"u0002": 2})
		s := c.load("u0001") // somebody new
		kill(t, s, 1)
		must(t, s.Release(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"u0001": 1, "u0002": 2})
	})
}

// What the last holder of an erased player has in its queue does not bring the entry back.
func TestAnErasedPlayerIsNotBroughtBackByAQueue(t *testing.T) {
	for _, lag := range []time.Duration{0, 300 * time.Millisecond, 950 * time.Millisecond} {
		inWaters(t, func(t *testing.T, w *waters) {
			old, c := w.launch("old", nil), w.launch("new", nil)
			time.Sleep(3 * time.Second)
			s := old.load("ann")
			kill(t, s, 8)
			must(t, s.Save(t.Context()))
			time.Sleep(lag)
			if out, err := c.Set("players").Erase(t.Context(), "ann", profile.Source{}, nil); err != nil || !out.Done {
				t.Fatalf("%+v, %v", out, err)
			}
			time.Sleep(time.Minute)
			w.shows("Now", map[string]int64{})
			w.shows("Best", map[string]int64{})
		})
	}
}

// Boards are the fleet's: a set that writes nowhere, or knows no form, is mirrored by none.
func TestOnlyLiveSetsAreMirrored(t *testing.T) {
	for name, set := range map[string]*profile.Options{
		"memory": {Mode: profile.Memory}, "copy": {Mode: profile.Copy}, "as stored": {AsStored: true},
	} {
		st, err := shoal.Open(t.Context(), "memory:")
		must(t, err)
		_, err = shoal.Start(t.Context(), st, &shoal.Options{Sets: map[string]*profile.Options{"players": set}, Boards: mirrored()})
		if err == nil || !strings.Contains(err.Error(), "Boards[Best].From.Set") || !strings.Contains(err.Error(), "Boards[Now].From.Set") {
			t.Errorf("%s: %v", name, err)
		}
		_, err = shoal.Start(t.Context(), st, &shoal.Options{Sets: map[string]*profile.Options{"guilds": nil}, Boards: mirrored()})
		if err == nil || !strings.Contains(err.Error(), `got "players"`) {
			t.Errorf("another set: %v", err)
		}
		must(t, st.Close(t.Context()))
	}
}

// A set in an older form is mirrored in the one that the game knows.
func TestAMirrorSeesTheGamesForm(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		old := w.launch("old", unranked)
		s := old.load("ann")
		_, err := s.Transact(profile.Source{}, doc.Set("/k", doc.Int(6)))
		must(t, err)
		must(t, s.Release(t.Context()))
		rename := func(from, to string) func(doc.Value) (doc.Value, error) {
			return func(v doc.Value) (doc.Value, error) {
				k, ok := v.Member(from)
				if !ok {
					return v, nil
				}
				return doc.Apply(v, doc.Unset("/"+from), doc.Set("/"+to, k))
			}
		}
		c := w.launch("new", func(o *shoal.Options) {
			o.Sets["players"] = &profile.Options{WriteVersion: 1, Migrations: []profile.Migration{{To: 2, Up: rename("k", "kills"), Down: rename("kills", "k")}}}
		})
		_, err = c.RefillBoard(t.Context(), "Now", nil)
		must(t, err)
		w.shows("Now", map[string]int64{"ann": 6})
		s = c.load("ann")
		kill(t, s, 8)
		must(t, s.Save(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 8})
		if got := w.on("Best"); !maps.Equal(got, map[string]int64{"ann": 8}) {
			t.Errorf("best: %v", got)
		}
	})
}

// A sealed board cannot be refilled, and says so, instead of calling every profile a problem.
func TestRefillOfASealedBoard(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", nil)
		population(t, c, 3)
		must(t, c.Boards().FlushNow(t.Context()))
		_, err := c.Boards().Seal(t.Context(), "Now")
		must(t, err)
		if out, err := c.RefillBoard(t.Context(), "Now", nil); !errors.Is(err, store.ErrSealed) || out.Problems != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// The wait for other nodes' queues does not make an erasure impossible.
func TestAnErasureIsNotOutwaited(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) {
			o.Sets["players"] = &profile.Options{LoadTimeout: 8 * time.Second}
			o.Flush.FlushEvery = 10 * time.Second
		})
		population(t, c, 3)
		out, err := c.Set("players").Erase(t.Context(), "u0001", profile.Source{}, nil)
		if err != nil || !out.Done {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// A member that the template has brought in counts as soon as the profile is opened, as it
// does for a refill.
func TestAMirrorSeesTheTemplate(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		old := w.launch("old", unranked)
		must(t, old.load("ann").Release(t.Context()))
		c := w.launch("new", func(o *shoal.Options) {
			o.Sets["players"] = &profile.Options{Template: doc.Must(map[string]any{"kills": 3})}
			o.Boards["All"] = board.Config{Rule: store.Last, From: &board.Source{Set: "players", Path: "/kills", Missing: new(int64)}}
		})
		_, err := c.RefillBoard(t.Context(), "All", nil)
		must(t, err)
		w.shows("All", map[string]int64{"ann": 3})
		_ = c.load("ann")
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("All", map[string]int64{"ann": 3})
	})
}
