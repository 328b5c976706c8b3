package season_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// A node has just looked for the result of the season that ended, and found none, when
// another one closes it: those who are online get their titles with the next step all the
// same, and the game hears of the close.
func TestAJustMissedResultIsFoundWhenTheSeasonIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{loops: true}), w.host("b", hostOptions{})
		ada := a.join("ada")
		a.play(ada, "catch")
		w.until(time.Hour + time.Minute)
		stopped := a.tap // a's passes wait until b has closed the season
		stopped.set(func(call string) fate {
			if call == "now" {
				return refuse
			}
			return pass
		})
		w.pastGrace(0)
		late := w.profiles.load("late")
		late.created = w.cfg.Epoch
		if _, err := a.Joined(t.Context(), late); err != nil { // looks for the result of C1S1: there is none yet
			t.Fatal(err)
		}
		b.closeDue()
		stopped.set(nil)
		time.Sleep(40 * time.Second)
		if got := a.titles(); !slices.Equal(got, []string{"ada Fish@C1S1"}) {
			t.Errorf("titles %v", got)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.mu.closed) != 1 || a.mu.closed[0].ID != "C1S1" {
			t.Errorf("heard of %+v", a.mu.closed)
		}
	})
}

// The nodes that are there before a set is begun, with an old epoch, hear of its closes.
func TestAYoungSetHearsOfItsCloses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Epoch = w.cfg.Epoch.Add(-1000 * time.Hour)
		a, b := w.host("a", hostOptions{loops: true}), w.host("b", hostOptions{loops: true})
		time.Sleep(2 * time.Minute) // both have looked, and there was no set
		s := a.join("ada")
		a.play(s, "catch")
		time.Sleep(time.Hour + 10*time.Minute)
		for name, h := range map[string]*host{"a": a, "b": b} {
			h.mu.Lock()
			if len(h.mu.closed) != 1 || h.mu.closed[0].K != 1000 {
				t.Errorf("%s heard of %+v", name, h.mu.closed)
			}
			h.mu.Unlock()
		}
	})
}

// A release turns a board's order around while the season runs. The season's board stays as it
// is, and so does what its result says of it; the other boards go on.
func TestABoardOfARunningSeasonKeepsItsOrder(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		old := w.host("old", hostOptions{})
		ada := old.join("ada")
		old.play(ada, "catch", "catch", "coins")
		old.leaveStill(ada)
		w.cfg.Boards = slices.Clone(w.cfg.Boards)
		w.cfg.Boards[0].Order = store.Ascending
		h := w.host("new", hostOptions{})
		bob := h.join("bob")
		h.play(bob, "catch", "coins", "coins")
		h.window()
		w.pastGrace(0)
		h.closeDue()
		h.wantResult("C1S1", "Fish", "ada:2", "bob:1")
		h.wantResult("C1S1", "Coins", "bob:20", "ada:10")
		r, err := h.Result(t.Context(), "C1S1")
		if err != nil || r.Boards[0].Order != "descending" {
			t.Errorf("%+v, %v", r.Boards[0], err)
		}
		h.play(bob, "catch") // from the next season on the order is the new one
		cyd := h.join("cyd")
		h.play(cyd, "catch", "catch")
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"bob:1", "cyd:2"}) {
			t.Errorf("the next season: %v", got)
		}
	})
}

// Two releases with other boards, other Top and other Keep close at once: there is one result,
// and what both grant is what it says.
func TestClosersOfTwoReleasesAgree(t *testing.T) {
	for _, first := range []int{0, 1} {
		bubble(t, func(t *testing.T, w *world) {
			old := w.host("old", hostOptions{})
			for i, key := range []string{"ada", "bob", "cyd", "dan"} {
				s := old.join(key)
				old.play(s, slices.Repeat([]string{"catch", "coins"}, 4-i)...)
			}
			old.window()
			cfg := w.cfg
			w.cfg.Boards = []season.Board{cfg.Boards[0], {Name: "Streak", Stat: "bestStreak"}}
			w.cfg.Boards[0].Title = "FISH KING"
			w.cfg.Top, w.cfg.Keep = 1, 2
			h := w.host("new", hostOptions{})
			w.pastGrace(0)
			hosts := []*host{old, h}
			hosts[first].closeDue()
			result := string(w.raw("season/reef/C1S1/result"))
			hosts[1-first].closeDue()
			if now := string(w.raw("season/reef/C1S1/result")); now != result {
				t.Fatalf("the result was %s, is %s", result, now)
			}
			r, err := hosts[1-first].Result(t.Context(), "C1S1")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := old.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			eve := h.w.profiles.load("eve") // somebody who was not there
			if _, err := h.Joined(t.Context(), eve); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, b := range r.Boards {
				for _, p := range b.Top {
					want = append(want, p.Key+" "+season.TitleKey(b.Board, "C1S1"))
				}
			}
			slices.Sort(want)
			if got := old.titles(); !slices.Equal(got, want) || len(h.titles()) > 0 {
				t.Fatalf("titles %v and %v, want %v", got, h.titles(), want)
			}
		})
	}
}

// A block far ahead of time, from a store whose clock was wrong for a while: it is the
// player's season, as it never goes back; nobody else notices.
func TestABlockFarAheadHarmsNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		h := w.host("a", hostOptions{loops: true})
		ada := h.join("ada")
		h.play(ada, "catch")
		w.profiles.put("far", parse(t, `{"seasons":{"reef":{"season":"C50S1","stats":{"fish":900},"owed":{"C60S1":{"fish":800}}}}}`), time.Now())
		far := h.join("far")
		h.play(far, "catch")
		time.Sleep(time.Minute)
		if v, err := h.View(far); err != nil || v.Season != "C50S1" || v.Stats["fish"] != 901 {
			t.Fatalf("%+v, %v", v, err)
		}
		var reads atomic.Int64
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "page season/reef/Fish/C1S1") {
				reads.Add(1)
			}
			return pass
		})
		for range 20 { // somebody looks at far's card, and others at the board
			if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
				t.Fatalf("%v", got)
			}
			if _, err := h.Card(t.Context(), far); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := reads.Load(); n > 1 {
			t.Errorf("the board was read %d times in 20 s", n)
		}
		w.until(time.Hour + 6*time.Minute)
		h.wantResult("C1S1", "Fish", "ada:1")
		if st := h.Status(); st.Through != 0 || st.Outbox != 0 || len(st.Waiting) != 0 {
			t.Errorf("%+v", st)
		}
		if v, err := h.View(far); err != nil || v.Processed.Through != 0 {
			t.Errorf("the closed season is not processed for far: %+v, %v", v.Processed, err)
		}
	})
}

// A processed mark as a client in another language writes it back: 2 is 2.0 there.
func TestAProcessedMarkOfFloats(t *testing.T) {
	rules, err := season.NewRules("reef", season.Reef())
	if err != nil {
		t.Fatal(err)
	}
	data := parse(t, `{"seasons":{"reef":{"season":"C1S9","stats":{},"processed":{"through":1.0,"extra":[3.0,5]}}}}`)
	v, err := rules.View(data, 8, 0)
	if err != nil || v.Processed.Through != 1 || !slices.Equal(v.Processed.Extra, []int64{3, 5}) {
		t.Errorf("%+v, %v", v.Processed, err)
	}
}

// Processed marks that nothing of ours has written neither panic nor grant anything twice.
func TestHostileProcessedMarks(t *testing.T) {
	for _, mark := range []string{
		`{"through":9223372036854775807}`, `{"through":-9223372036854775808}`, `{"through":9223372036854775806,"extra":[9223372036854775807]}`,
		`{"through":-1,"extra":[0,0,0,-7,1e300,"1",null]}`, `{"through":-1,"extra":{"a":1}}`, `{"through":"2"}`, `{"extra":[1]}`, `[]`, `7`, `null`,
	} {
		bubble(t, func(t *testing.T, w *world) {
			h := w.host("a", hostOptions{loops: true})
			w.profiles.put("ada", parse(t, `{"coins":0,"seasons":{"reef":{"season":"C1S1","stats":{"fish":3},"processed":`+mark+`}}}`), time.Now())
			ada := h.join("ada")
			h.play(ada, "catch")
			w.until(2*time.Hour + 6*time.Minute)
			h.wantResult("C1S1", "Fish", "ada:4")
			v, err := h.View(ada)
			if err != nil || len(v.Titles) > 1 || len(h.titles()) != len(v.Titles) {
				t.Errorf("%s: %+v, %v; told %v", mark, v, err, h.titles())
			}
		})
	}
}

// The fast store forgets what a session had synced, and another node takes it over: the board
// follows the profile, although the session before had come further.
func TestTheNewerSessionsValuesWin(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		ada := a.join("ada")
		a.play(ada, "catch")
		a.window()
		saved := *w.profiles.mu.byKey["ada"]
		a.play(ada, slices.Repeat([]string{"catch"}, 9)...)
		a.window()
		if got := a.top("Fish"); !slices.Equal(got, []string{"ada:10"}) {
			t.Fatalf("before: %v", got)
		}
		*w.profiles.mu.byKey["ada"] = saved
		ada.crash()
		ada = b.join("ada")
		b.play(ada, "catch")
		b.window()
		a.window() // has nothing more to say
		if got := b.top("Fish"); !slices.Equal(got, []string{"ada:2"}) {
			t.Fatalf("after: %v", got)
		}
	})
}

// An operator closes without boards while the request budget of the boards is used up: nobody
// has looked at them, so they are not known to be broken.
func TestAShortBudgetBreaksNoBoard(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.dueSeason(3)
		h := w.host("a", hostOptions{limits: perMinute(600, 2)})
		for range 600 { // somebody else wants it all
			go func() { _ = h.node.Pass(t.Context(), node.ClassLoad, node.KindOrderedRead) }()
		}
		closed, err := h.CloseWithout(t.Context(), "C1S1", season.Waiver{Boards: []string{"Fish", "Coins"}, By: "op", Note: "they do not answer"})
		if err == nil || !errors.Is(err, node.ErrBudget) || w.raw("season/reef/C1S1/result") != nil {
			t.Fatalf("closed %+v, %v: %s", closed, err, w.raw("season/reef/C1S1/result"))
		}
	})
}

// Every callback of the game panics at a season's end: the node lives on, and what is stored is
// right. A reward that panics keeps its title back until it is mended.
func TestCallbacksThatPanic(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		old := w.host("old", hostOptions{})
		ada, bob := old.join("ada"), old.join("bob")
		old.play(ada, "catch")
		old.play(bob, "coins")
		old.leaveStill(ada)
		var broken atomic.Bool
		broken.Store(true)
		h := w.host("a", hostOptions{})
		s, err := season.New(h.node, "reef", w.cfg, season.Deps{
			Profiles: w.profiles,
			Reward: func(t season.Title) []doc.Op {
				if broken.Load() && t.Board == "Fish" {
					panic("no such prize")
				}
				return prize(t)
			},
			OnTitle:   func(context.Context, season.Session, []season.Title) { panic("told") },
			OnClosed:  func(season.Closed, *season.Result) { panic("closed") },
			OnRefused: func(season.Refused) { panic("refused") },
		})
		if err != nil {
			t.Fatal(err)
		}
		ada = w.profiles.load("ada")
		set(t, ada, "/coins", 0)
		if _, err := s.Joined(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		old.leaveStill(bob)
		bob = w.profiles.load("bob")
		set(t, bob, "/coins", 0)
		if _, err := s.Joined(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		w.until(time.Hour + 10*time.Minute)
		h.wantResult("C1S1", "Fish", "ada:1")
		for _, mended := range []bool{false, true} {
			if mended {
				broken.Store(false)
				time.Sleep(10 * time.Minute)
			}
			va, errA := s.View(ada)
			vb, errB := s.View(bob)
			if errA != nil || errB != nil || len(vb.Titles) != 1 || len(va.Titles) != 1 != !mended || va.Processed.Has(0) != mended {
				t.Fatalf("mended %v: ada %+v, bob %+v, %v, %v", mended, va, vb, errA, errB)
			}
		}
		if coins(ada.Data()) != 100 || coins(bob.Data()) != 100 || s.Status().Panics < 4 {
			t.Fatalf("%d and %d coins, %d panics", coins(ada.Data()), coins(bob.Data()), s.Status().Panics)
		}
	})
}

// A block that claims to have seen fewer corrections than none, of seasons that nobody closed,
// keeps no node busy and nobody from their titles.
func TestHostileCorrectedMarks(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		marks := make([]string, 80)
		for i := range marks {
			marks[i] = fmt.Sprintf(`"%s":-1`, w.cfg.ID(int64(100+i)))
		}
		w.profiles.put("eve", parse(t, `{"seasons":{"reef":{"season":"C1S1","stats":{"fish":1},"corrected":{`+strings.Join(marks, ",")+`}}}}`), time.Now())
		eve := h.join("eve")
		h.play(eve, "catch")
		w.until(2 * time.Minute)
		read := countReads(h)
		time.Sleep(30 * time.Minute)
		if n := read(); n > 60 {
			t.Errorf("%d reads in half an hour", n)
		}
		w.until(time.Hour + 6*time.Minute)
		if v, err := h.View(eve); err != nil || !slices.Equal(held(v), []string{"Fish@C1S1"}) {
			t.Errorf("%+v, %v", v, err)
		}
	})
}
