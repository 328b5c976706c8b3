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

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// seizure takes the prize of a title back.
func seizure(season.Title) []doc.Op { return []doc.Op{doc.Increment("/coins", -100)} }

// ear hears of corrections: "<key> <before>><after>" by rank.
type ear struct {
	mu struct {
		sync.Mutex
		heard []string
	}
}

func (e *ear) hear(_ context.Context, s season.Session, changes []season.TitleChange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range changes {
		e.mu.heard = append(e.mu.heard, fmt.Sprintf("%s %d>%d", s.Key(), c.Before.Rank, c.After.Rank))
	}
}

func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(slices.Values(e.mu.heard))
}

// purses gives everybody an empty purse, so that a reward has somewhere to go.
func purses(t *testing.T, w *world, n int) {
	t.Helper()
	for i := range n {
		s := w.profiles.load(fmt.Sprint("u", i))
		set(t, s, "/coins", 0)
		s.release()
	}
}

// oneBoard is a closed season of one board, three titles, five places, and empty purses.
func oneBoard(t *testing.T, w *world, n int) *host {
	t.Helper()
	w.cfg.Boards = w.cfg.Boards[:1]
	h := closedSeason(t, w, n)
	purses(t, w, n)
	return h
}

func (w *world) coins(key string) int64 {
	w.t.Helper()
	v, _, _ := w.profiles.data(key).Lookup("/coins")
	n, _ := v.AsInt()
	return n
}

// titleOf is the text of the only title that a stored profile has, "" for none.
func (w *world) titleOf(key string) string {
	w.t.Helper()
	titles, _, _ := w.profiles.data(key).Lookup("/seasons/reef/titles")
	var out string
	for _, v := range titles.Members() {
		text, _ := v.Member("text")
		s, _ := text.AsString()
		out += s
	}
	return out
}

func (h *host) rule(id string, c season.Correction) {
	h.w.t.Helper()
	act := h.Disqualify
	if c.Reinstates {
		act = h.Reinstate
	}
	if _, err := act(h.w.t.Context(), id, c.Ruling); err != nil {
		h.w.t.Fatalf("%+v: %v", c, err)
	}
}

// visit loads a profile, and leaves again.
func (h *host) visit(key string) {
	h.w.t.Helper()
	s := h.join(key)
	h.leaveStill(s)
}

func TestTheWinnerIsDisqualifiedBeforeAndAfterHavingLoaded(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		bubble(t, func(t *testing.T, w *world) {
			oneBoard(t, w, 5)
			var e ear
			deps := season.Deps{Reward: prize, OnCorrected: e.hear}
			if revoke {
				deps.Revoke = seizure
			}
			h := w.host("b", hostOptions{deps: deps})
			h.visit("u1") // has loaded; u0 has not
			h.rule("C1S1", out("u0"))
			h.rule("C1S1", out("u1"))
			for i := range 5 {
				h.visit(fmt.Sprint("u", i))
			}
			kept := int64(100)
			if revoke {
				kept = 0
			}
			for key, want := range map[string]struct {
				title string
				coins int64
			}{
				"u0": {"", 0}, "u1": {"", kept}, "u2": {"#1 SEA KING (S1)", 100}, "u3": {"#2 SEA KING (S1)", 100}, "u4": {"#3 SEA KING (S1)", 100},
			} {
				if got := w.titleOf(key); got != want.title || w.coins(key) != want.coins {
					t.Errorf("revoke %v: %s has %q and %d, want %+v", revoke, key, got, w.coins(key), want)
				}
			}
			if got := e.all(); !slices.Equal(got, []string{"u1 2>0"}) {
				t.Errorf("heard %v", got)
			}
		})
	}
}

// Nothing is given twice; with Revoke it is taken back and given again.
func TestWhoIsReinstatedGetsTheTitleBack(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		bubble(t, func(t *testing.T, w *world) {
			oneBoard(t, w, 5)
			var e ear
			deps := season.Deps{Reward: prize, OnCorrected: e.hear}
			if revoke {
				deps.Revoke = seizure
			}
			h := w.host("b", hostOptions{deps: deps})
			everybody := func() {
				for i := range 5 {
					h.visit(fmt.Sprint("u", i))
				}
			}
			everybody()
			for range 3 {
				h.rule("C1S1", out("u0"))
				everybody()
				if w.titleOf("u0") != "" || w.titleOf("u3") != "#3 SEA KING (S1)" || w.coins("u0") != map[bool]int64{false: 100, true: 0}[revoke] {
					t.Fatalf("revoke %v: u0 has %q and %d, u3 %q", revoke, w.titleOf("u0"), w.coins("u0"), w.titleOf("u3"))
				}
				h.rule("C1S1", back("u0"))
				everybody()
				if w.titleOf("u0") != "#1 SEA KING (S1)" || w.titleOf("u3") != "" || w.coins("u0") != 100 || w.titleOf("u4") != "" {
					t.Fatalf("revoke %v: u0 has %q and %d, u3 %q", revoke, w.titleOf("u0"), w.coins("u0"), w.titleOf("u3"))
				}
			}
			if got := w.coins("u3"); got != map[bool]int64{false: 100, true: 0}[revoke] {
				t.Errorf("revoke %v: u3 has %d coins", revoke, got)
			}
			if got := h.titles(); !slices.Equal(got, []string{"u0 Fish@C1S1", "u1 Fish@C1S1", "u2 Fish@C1S1", "u3 Fish@C1S1"}) {
				t.Errorf("revoke %v: told of %v, each once", revoke, got)
			}
			if got := len(e.all()); got != 3*8 { // u0 to u3, out and back
				t.Errorf("revoke %v: heard %v", revoke, e.all())
			}
		})
	}
}

// A player who was away while the ranks moved, more than once, gets what is right now.
func TestAwayWhileTheRanksMove(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		var e ear
		b := w.host("b", hostOptions{deps: season.Deps{Reward: prize, OnCorrected: e.hear}})
		b.visit("u2")
		b.visit("u4")
		for _, c := range []season.Correction{out("u0"), out("u1"), back("u0"), out("u3")} {
			h.rule("C1S1", c)
			time.Sleep(time.Minute)
		}
		b.visit("u2")
		b.visit("u4")
		if w.titleOf("u2") != "#2 SEA KING (S1)" || w.titleOf("u4") != "#3 SEA KING (S1)" || w.coins("u2") != 100 || w.coins("u4") != 100 {
			t.Fatalf("u2 %q %d, u4 %q %d", w.titleOf("u2"), w.coins("u2"), w.titleOf("u4"), w.coins("u4"))
		}
		if got := e.all(); !slices.Equal(got, []string{"u2 3>2", "u4 0>3"}) {
			t.Fatalf("heard %v", got)
		}
		if got := b.titles(); !slices.Equal(got, []string{"u2 Fish@C1S1", "u4 Fish@C1S1"}) {
			t.Fatalf("told %v", got)
		}
	})
}

// A correction reaches those who are online: here at once, elsewhere when the loop has read the
// index, CloseEvery apart.
func TestACorrectionReachesThoseWhoAreOnline(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		oneBoard(t, w, 5)
		var here, there ear
		a := w.host("a", hostOptions{loops: true, deps: season.Deps{OnCorrected: here.hear}})
		b := w.host("b", hostOptions{loops: true, deps: season.Deps{OnCorrected: there.hear}})
		a.join("u1")
		b.join("u2")
		time.Sleep(10 * time.Minute)
		a.rule("C1S1", out("u0"))
		time.Sleep(time.Second)
		if got := here.all(); !slices.Equal(got, []string{"u1 2>1"}) {
			t.Fatalf("on the node of the ruling: %v", got)
		}
		time.Sleep(a.Config().CloseEvery)
		if got := there.all(); !slices.Equal(got, []string{"u2 3>2"}) {
			t.Fatalf("elsewhere: %v", got)
		}
	})
}

// The index promises a correction whose write has not landed. Whoever is looked at meanwhile is
// looked at again when it has, online or not.
func TestAPromiseWithoutARecord(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		h.tap.set(func(call string) fate {
			if call == "put season/reef/C1S1/corrections" {
				return refuse
			}
			return pass
		})
		if _, err := h.Disqualify(t.Context(), "C1S1", ruling("u0")); !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		if got := string(w.raw("season/reef/corrected")); got != `{"format":1,"seasons":{"C1S1":1}}` {
			t.Fatalf("index %s", got)
		}
		var e ear
		b := w.host("b", hostOptions{loops: true, deps: season.Deps{OnCorrected: e.hear}})
		b.visit("u1")
		b.join("u2")
		st, err := b.Standings(t.Context(), "C1S1")
		if err != nil || shape(t, st, "Fish") != "u0 u1 u2|u3 u4|" || w.titleOf("u1") != "#2 SEA KING (S1)" {
			t.Fatalf("%+v, %v", st, err)
		}
		synctest.Wait() // the loops have begun, and look again in a minute
		var reads atomic.Int64
		b.tap.set(func(call string) fate { // the loops look at boards meanwhile
			if strings.HasPrefix(call, "get ") && !strings.HasSuffix(call, "/boards") {
				reads.Add(1)
			}
			return pass
		})
		for range 20 {
			b.visit("u1")
		}
		if got := reads.Load(); got > 0 {
			t.Errorf("%d reads for 20 loads", got)
		}
		time.Sleep(20 * time.Minute) // the loops have looked again, and found nothing
		h.tap.set(nil)
		h.rule("C1S1", out("u0"))
		if got := string(w.raw("season/reef/corrected")); got != `{"format":1,"seasons":{"C1S1":1}}` {
			t.Fatalf("index %s", got)
		}
		time.Sleep(b.Config().CloseEvery + time.Minute)
		if got := e.all(); !slices.Equal(got, []string{"u2 3>2"}) {
			t.Fatalf("online: %v", got)
		}
		b.visit("u1")
		if got := w.titleOf("u1"); got != "#1 SEA KING (S1)" {
			t.Fatalf("u1 has %q", got)
		}
	})
}

// Two nodes know different things: the one that knows less shows older standings for at most
// 30 s, and never takes back what the other has corrected.
func TestANodeThatKnowsLessTakesNothingBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := oneBoard(t, w, 5)
		b := w.host("b", hostOptions{deps: season.Deps{Reward: prize}})
		a.rule("C1S1", out("u4"))
		b.visit("u2")
		a.rule("C1S1", out("u0"))
		a.visit("u2")
		b.visit("u2")
		if got := w.titleOf("u2"); got != "#2 SEA KING (S1)" {
			t.Fatalf("u2 has %q", got)
		}
		if st, err := b.Standings(t.Context(), "C1S1"); err != nil || st.Corrections != 1 {
			t.Fatalf("%+v, %v: expected to know less", st, err)
		}
		if st, err := a.Standings(t.Context(), "C1S1"); err != nil || st.Corrections != 2 {
			t.Fatalf("%+v, %v", st, err)
		}
		time.Sleep(31 * time.Second)
		if st, err := b.Standings(t.Context(), "C1S1"); err != nil || st.Corrections != 2 {
			t.Fatalf("%+v, %v", st, err)
		}
		if list, err := b.Corrections(t.Context(), "C1S1"); err != nil || len(list) != 2 {
			t.Fatalf("%+v, %v", list, err)
		}
		if w.coins("u2") != 100 {
			t.Fatalf("u2 has %d coins", w.coins("u2"))
		}
	})
}

// case S7, of corrections: the node dies at every call and every save in turn, while titles are
// granted and corrected.
func TestACrashBetweenAnyTwoWritesCorrectsOnce(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		for _, f := range []fate{refuse, lose, applied} {
			for n := int64(1); ; n++ {
				var calls atomic.Int64
				bubble(t, func(t *testing.T, w *world) {
					oneBoard(t, w, 5)
					var e ear
					deps := season.Deps{Reward: prize, OnCorrected: e.hear}
					if revoke {
						deps.Revoke = seizure
					}
					first := w.host("first", hostOptions{deps: deps})
					for _, key := range []string{"u0", "u1", "u3"} {
						first.visit(key)
					}
					first.rule("C1S1", out("u0"))

					dies := w.host("dies", hostOptions{deps: deps})
					cut := cutAt(n, f, &calls)
					dies.tap.set(cut)
					w.profiles.onSync(cut)
					var sessions []*session
					for _, key := range []string{"u0", "u1", "u3"} {
						s := w.profiles.load(key)
						_, _ = dies.Joined(t.Context(), s)
						sessions = append(sessions, s)
					}
					_, _ = dies.Sweep(t.Context())
					dies.tap.set(func(string) fate { return refuse })
					w.profiles.onSync(nil)
					for _, s := range sessions {
						s.crash()
					}

					b := w.host("b", hostOptions{deps: deps})
					for range 2 {
						for _, key := range []string{"u0", "u1", "u3"} {
							b.visit(key)
						}
					}
					what := fmt.Sprintf("revoke %v, cut at %d, fate %d", revoke, n, f)
					if w.titleOf("u0") != "" || w.titleOf("u1") != "#1 SEA KING (S1)" || w.titleOf("u3") != "#3 SEA KING (S1)" {
						t.Fatalf("%s: %q, %q, %q", what, w.titleOf("u0"), w.titleOf("u1"), w.titleOf("u3"))
					}
					if got := w.coins("u0"); got != map[bool]int64{false: 100, true: 0}[revoke] || w.coins("u1") != 100 || w.coins("u3") != 100 {
						t.Fatalf("%s: coins %d, %d, %d", what, got, w.coins("u1"), w.coins("u3"))
					}
					heard := e.all()
					if len(slices.Compact(slices.Clone(heard))) != len(heard) {
						t.Fatalf("%s: told twice: %v", what, heard)
					}
					if f == refuse && !slices.Equal(heard, []string{"u0 1>0", "u1 2>1", "u3 0>3"}) {
						t.Fatalf("%s: heard %v", what, heard)
					}
				})
				if calls.Load() < n {
					break
				}
			}
		}
	}
}

// A save that fails holds the news back, and the sweep tells it once.
func TestACorrectionIsToldWhenItIsStored(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		oneBoard(t, w, 5)
		var e ear
		h := w.host("b", hostOptions{deps: season.Deps{OnCorrected: e.hear}})
		h.join("u1")
		h.join("u3")
		w.profiles.onSync(func(string) fate { return lose })
		h.rule("C1S1", out("u0"))
		for range 2 {
			if _, err := h.Sweep(t.Context()); !errors.Is(err, store.ErrUnknown) || len(e.all()) > 0 {
				t.Fatalf("told of %v, %v", e.all(), err)
			}
		}
		w.profiles.onSync(nil)
		for range 2 {
			if _, err := h.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.all(); !slices.Equal(got, []string{"u1 2>1", "u3 0>3"}) {
			t.Fatalf("told of %v", got)
		}
		if got := h.titles(); !slices.Equal(got, []string{"u1 Fish@C1S1", "u3 Fish@C1S1"}) {
			t.Fatalf("told of %v", got)
		}
	})
}

// Whoever has no place in a result is never written for its corrections, and costs no read.
func TestCorrectionsCostTheOthersNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 7)
		h.visit("u6") // sixth places and below are not in the result
		h.rule("C1S1", out("u0"))
		b := w.host("b", hostOptions{})
		b.visit("u1")
		read := countReads(b)
		s := b.join("u6")
		if _, err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.commits() != 0 || read() != 0 {
			t.Fatalf("%d commits, %d reads", s.commits(), read())
		}
		if st, err := b.Standings(t.Context(), "C1S1"); err != nil || read() != 0 || shape(t, st, "Fish") != "u1 u2 u3|u4|u0" {
			t.Fatalf("%d reads, %v", read(), err)
		}
	})
}

// While the index or the corrections cannot be read, nobody is granted what may be wrong.
func TestWithoutCorrectionsTitlesWait(t *testing.T) {
	for _, broken := range []string{"season/reef/corrected", "season/reef/C1S1/corrections"} {
		bubble(t, func(t *testing.T, w *world) {
			oneBoard(t, w, 5).rule("C1S1", out("u0"))
			b := w.host("b", hostOptions{})
			var down atomic.Bool
			down.Store(true)
			b.tap.set(func(call string) fate {
				if down.Load() && (call == "get "+broken || strings.HasSuffix(broken, "corrected") && call == "get season/reef/first") {
					return refuse
				}
				return pass
			})
			s := w.profiles.load("u0")
			if titles, err := b.Joined(t.Context(), s); !errors.Is(err, store.ErrUnavailable) || len(titles) > 0 {
				t.Fatalf("%s: %v, %v", broken, titles, err)
			}
			down.Store(false)
			if _, err := b.Sweep(t.Context()); err != nil || w.titleOf("u0") != "" {
				t.Fatalf("%s: %v, %q", broken, err, w.titleOf("u0"))
			}
			if v, err := b.View(s); err != nil || !v.Processed.Has(0) {
				t.Fatalf("%+v, %v", v, err)
			}
		})
	}
}

// A reward that cannot be taken back keeps the correction back, not half of it.
func TestARefusedRevocationKeepsTheCorrectionBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		oneBoard(t, w, 5)
		strict := func(season.Title) []doc.Op { return []doc.Op{doc.Increment("/coins", -100).AtLeast(doc.Int(0))} }
		h := w.host("b", hostOptions{deps: season.Deps{Reward: prize, Revoke: strict}})
		s := h.join("u0")
		set(t, s, "/coins", 10)
		h.rule("C1S1", out("u0"))
		if _, err := h.Sweep(t.Context()); err == nil {
			t.Fatal("no error")
		}
		if v, err := h.View(s); err != nil || len(v.Titles) != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		set(t, s, "/coins", 150)
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err := h.View(s); err != nil || len(v.Titles) != 0 || w.coins("u0") != 50 {
			t.Fatalf("%+v, %v, %d coins", v, err, w.coins("u0"))
		}
	})
}

// One reward that the profile refuses keeps its own season back, and nothing else.
func TestARefusedRewardKeepsOnlyItsOwnSeasonBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		winSeasons(t, w, h, 3)
		w.pastGrace(2)
		h.closeDue()
		odd := func(title season.Title) []doc.Op {
			if title.Season == "C1S2" {
				return []doc.Op{doc.Increment("/gems", 1).AtMost(doc.Int(0))}
			}
			return prize(title)
		}
		b := w.host("b", hostOptions{deps: season.Deps{Reward: odd}})
		ada := w.profiles.load("ada")
		set(t, ada, "/coins", 0)
		set(t, ada, "/gems", 0)
		for range 2 {
			_, err := b.Joined(t.Context(), ada)
			if !errors.Is(err, doc.ErrBounds) || w.coins("ada") != 200 {
				t.Fatalf("%v, %d coins", err, w.coins("ada"))
			}
			if v, err := b.View(ada); err != nil || len(v.Titles) != 2 || v.Processed.Has(1) || !v.Processed.Has(2) {
				t.Fatalf("%+v, %v", v, err)
			}
		}
		if got := b.titles(); !slices.Equal(got, []string{"ada Fish@C1S1", "ada Fish@C1S3"}) {
			t.Fatalf("told %v", got)
		}
		set(t, ada, "/gems", -1)
		if titles, err := b.Joined(t.Context(), ada); err != nil || len(titles) != 1 || titles[0].Season != "C1S2" {
			t.Fatalf("%v, %v", titles, err)
		}
		if v, err := b.View(ada); err != nil || len(v.Titles) != 3 || v.Processed.Through != 2 || v.Processed.Extra != nil {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// Corrections of several seasons come in one transaction; more than a look takes, in portions.
func TestCorrectionsOfManySeasons(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const n = 60
		w.cfg.Boards = w.cfg.Boards[:1]
		w.cfg.Length = 10 * time.Minute
		h := w.host("a", hostOptions{})
		ada, bob := h.join("ada"), h.join("bob")
		for k := range n {
			w.until(time.Duration(k)*w.cfg.Length + time.Second)
			h.play(ada, "catch", "catch")
			h.play(bob, "catch")
			h.window()
		}
		w.pastGrace(n - 1)
		h.closeDue()
		h.leaveStill(ada)
		h.leaveStill(bob)
		for range 2 {
			h.visit("bob")
		}
		for k := range int64(n) {
			h.rule(w.cfg.ID(k), out("ada"))
		}
		if got := string(w.raw("season/reef/corrected")); strings.Count(got, ":1") != n+1 { // and the format
			t.Fatalf("index %s", got)
		}
		var e ear
		b := w.host("b", hostOptions{deps: season.Deps{OnCorrected: e.hear}})
		bob = w.profiles.load("bob")
		if _, err := b.Joined(t.Context(), bob); err != nil || bob.commits() > 1 || len(e.all()) != 50 {
			t.Fatalf("%d commits, heard of %d, %v", bob.commits(), len(e.all()), err)
		}
		if more, err := b.Sweep(t.Context()); err != nil || more {
			t.Fatalf("more %v, %v", more, err)
		}
		v, err := b.View(bob)
		if err != nil || len(v.Titles) != n || len(e.all()) != n {
			t.Fatalf("%d titles, heard of %d, %v", len(v.Titles), len(e.all()), err)
		}
		for _, title := range v.Titles {
			if title.Rank != 1 || title.Corrections != 1 {
				t.Fatalf("%+v", title)
			}
		}
		b.visit("ada")
		if w.titleOf("ada") != "" {
			t.Fatalf("ada has %s", w.titleOf("ada"))
		}
	})
}
