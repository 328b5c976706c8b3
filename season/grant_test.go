package season_test

import (
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

// prize pays 100 coins for a title, in the title's own transaction.
func prize(season.Title) []doc.Op { return []doc.Op{doc.Increment("/coins", 100)} }

// winSeasons has ada win n seasons and leaves them closed.
func winSeasons(t *testing.T, w *world, h *host, n int64) {
	t.Helper()
	for k := range n {
		w.until(time.Duration(k)*time.Hour + time.Second)
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
	}
}

// case S6.
func TestAwayForTenSeasonsAllTitlesOnTheNextLoad(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		// ada's profile wins from outside: ten seasons of one board entry each.
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		for k := range int64(10) {
			w.until(time.Duration(k)*time.Hour + time.Second)
			stands(t, w, h, k, "ada", "bob")
		}
		w.pastGrace(9)
		h.closeDue()
		before := len(h.titles())
		b := w.host("b", hostOptions{deps: season.Deps{Reward: prize}})
		ada := w.profiles.load("ada")
		set(t, ada, "/coins", 5)
		titles, err := b.Joined(t.Context(), ada)
		if err != nil || len(titles) != 10 || before != 0 {
			t.Fatalf("%d titles, %v", len(titles), err)
		}
		for k, title := range titles {
			if want := fmt.Sprintf("#1 SEA KING (S%d)", k+1); title.Text != want || title.Season != w.cfg.ID(int64(k)) {
				t.Errorf("title %d: %+v, want %s", k, title, want)
			}
		}
		if coins, _, _ := w.profiles.data("ada").Lookup("/coins"); !coins.Equal(doc.Int(1005)) {
			t.Fatalf("coins %v", coins)
		}
		if len(b.titles()) != 10 {
			t.Fatalf("told of %v", b.titles())
		}
		again, err := b.Joined(t.Context(), ada)
		if err != nil || len(again) != 0 || len(b.titles()) != 10 {
			t.Fatalf("again: %v, %v", again, err)
		}
	})
}

// stands puts players on a season's fish board, the first the best.
func stands(t *testing.T, w *world, h *host, k int64, keys ...string) {
	t.Helper()
	for i, key := range keys {
		helper := w.profiles.load(key + "~" + fmt.Sprint(k))
		h.play(helper, slices.Repeat([]string{"catch"}, len(keys)-i)...)
		h.window()
		h.leave(helper)
	}
	// The same entries under the players' own keys, as if they had played elsewhere.
	var entries []store.Submission
	for i, key := range keys {
		entries = append(entries, store.Submission{Key: key, Score: int64(100 * (len(keys) - i)), Stamp: store.Stamp{Epoch: 1 << 40}})
	}
	_, err := w.engine.Boards().Merge(t.Context(), season.BoardKey("reef", "Fish", w.cfg.ID(k)), store.Batch{Rule: store.Last, Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
}

// A new profile starts with the season it was made in, and owes nothing to earlier ones.
func TestANewProfileStartsWithItsOwnSeason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		winSeasons(t, w, h, 3)
		w.pastGrace(2)
		h.closeDue()
		stands := func(key string) {
			s := h.join(key)
			if titles, err := h.Joined(t.Context(), s); err != nil || len(titles) > 0 {
				t.Fatalf("%s: %v, %v", key, titles, err)
			}
			if s.commits() != 0 {
				t.Fatalf("%s: %d commits for nothing", key, s.commits())
			}
		}
		stands("new")
	})
}

// case S7: the node dies at every call and every save of a close and a join, in turn.
func TestACrashBetweenAnyTwoWritesGrantsOnce(t *testing.T) {
	for _, f := range []fate{refuse, lose, applied} {
		for n := int64(1); ; n++ {
			var calls atomic.Int64
			bubble(t, func(t *testing.T, w *world) {
				played := w.host("played", hostOptions{})
				s := played.join("ada")
				played.play(s, "catch")
				set(t, s, "/coins", 5)
				played.leaveStill(s)
				w.pastGrace(0)

				dies := w.host("dies", hostOptions{deps: season.Deps{Reward: prize}})
				cut := cutAt(n, f, &calls)
				dies.tap.set(cut)
				w.profiles.onSync(cut) // a save counts like a call
				_, _ = dies.CloseDue(t.Context())
				s = w.profiles.load("ada")
				_, _ = dies.Joined(t.Context(), s)
				_, _ = dies.Sweep(t.Context())
				dies.tap.set(func(string) fate { return refuse })
				w.profiles.onSync(nil)
				s.crash()

				b := w.host("b", hostOptions{deps: season.Deps{Reward: prize}})
				b.closeDue()
				b.wantResult("C1S1", "Fish", "ada:1")
				s = b.join("ada")
				s.crash()
				s = b.join("ada")
				v, err := b.View(s)
				if err != nil || len(v.Titles) != 1 || v.Titles[0].Text != "#1 SEA KING (S1)" || !v.Processed.Has(0) {
					t.Fatalf("cut at %d, fate %d: %+v, %v", n, f, v, err)
				}
				if coins, _, _ := w.profiles.data("ada").Lookup("/coins"); !coins.Equal(doc.Int(105)) {
					t.Fatalf("cut at %d, fate %d: coins %v", n, f, coins)
				}
				if told := append(dies.titles(), b.titles()...); len(told) > 1 || f == refuse && len(told) != 1 {
					t.Fatalf("cut at %d, fate %d: told %v", n, f, told)
				}
			})
			if calls.Load() < n {
				break
			}
		}
	}
}

// The title is in the profile's memory, the sync fails, and the sweep tells of it later, once.
func TestATitleIsToldWhenItIsStored(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		winSeasons(t, w, h, 1)
		w.pastGrace(0)
		h.closeDue()
		w.profiles.onSync(func(string) fate { return refuse })
		s := w.profiles.load("ada")
		if _, err := h.Joined(t.Context(), s); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("join: %v", err)
		}
		if _, err := h.Sweep(t.Context()); err == nil || len(h.titles()) > 0 {
			t.Fatalf("told of %v, %v", h.titles(), err)
		}
		w.profiles.onSync(nil)
		for range 2 {
			if _, err := h.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.titles(); !slices.Equal(got, []string{"ada Fish@C1S1"}) || h.Status().Titles != 1 {
			t.Fatalf("told of %v", got)
		}
	})
}

// A reward that the profile refuses keeps the title back, not half of it.
func TestARefusedRewardKeepsTheTitleBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{deps: season.Deps{Reward: prize}})
		winSeasons(t, w, h, 1)
		w.pastGrace(0)
		h.closeDue()
		s := w.profiles.load("ada")
		err := s.Change("operator", func(doc.Value) ([]doc.Op, error) {
			return []doc.Op{doc.Set("/coins", doc.MustString("none"))}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Joined(t.Context(), s); !errors.Is(err, doc.ErrWrongType) {
			t.Fatalf("join: %v", err)
		}
		if v, err := h.View(s); err != nil || len(v.Titles) > 0 || v.Processed.Has(0) {
			t.Fatalf("%+v, %v", v, err)
		}
		set(t, s, "/coins", 1)
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if coins, _, _ := s.Data().Lookup("/coins"); !coins.Equal(doc.Int(101)) || len(h.titles()) != 1 {
			t.Fatalf("coins %v, told %v", coins, h.titles())
		}
	})
}

// At most 50 results are looked up by a load; the loops do the rest.
func TestALongAbsenceIsProcessedInPortions(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Length = 10 * time.Minute
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.leaveStill(s)
		w.until(130*10*time.Minute + 6*time.Minute)
		h.closeDue()
		b := w.host("b", hostOptions{loops: true})
		synctest.Wait() // the loops have had their first look, at nobody
		read := countReads(b)
		ada := w.profiles.load("ada")
		titles, err := b.Joined(t.Context(), ada)
		if err != nil || len(titles) != 1 {
			t.Fatalf("%v, %v", titles, err)
		}
		if v, err := b.View(ada); err != nil || v.Processed.Through != 49 || read() > 4 {
			t.Fatalf("after the load: %+v, %d reads, %v", v.Processed, read(), err)
		}
		time.Sleep(70 * time.Second)
		if v, err := b.View(ada); err != nil || v.Processed.Through != 129 {
			t.Fatalf("in the background: %+v, %v", v.Processed, err)
		}
		// Everybody after the first costs nothing.
		before := read()
		eve := w.profiles.load("eve")
		eve.created = w.cfg.Epoch
		if _, err := b.Joined(t.Context(), eve); err != nil || read() != before {
			t.Fatalf("%d reads for eve, %v", read()-before, err)
		}
	})
}

// countReads counts reads of records.
func countReads(h *host) func() int {
	var mu sync.Mutex
	n := 0
	h.tap.set(func(call string) fate {
		if strings.HasPrefix(call, "get") {
			mu.Lock()
			defer mu.Unlock()
			n++
		}
		return pass
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// A thousand players who join at once cost one read of the results.
func TestAThousandJoinsShareOneRead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		winSeasons(t, w, h, 2)
		w.pastGrace(1)
		h.closeDue()
		b := w.host("b", hostOptions{})
		read := countReads(b)
		var wg sync.WaitGroup
		for i := range 1000 {
			s := w.profiles.load(fmt.Sprint("u", i))
			s.created = w.cfg.Epoch
			wg.Go(func() {
				if _, err := b.Joined(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var results int
		b.tap.set(func(call string) fate {
			if strings.Contains(call, "result") {
				results++
			}
			return pass
		})
		if _, err := b.Joined(t.Context(), w.profiles.load("late")); err != nil || results > 0 {
			t.Fatalf("%d reads of results for a late one, %v", results, err)
		}
		if read() > 4 {
			t.Fatalf("%d reads", read())
		}
	})
}

// While a season waits for its close, joins do not ask the store each time.
func TestNoResultYetIsRememberedForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		h.join("ada")
		w.until(time.Hour + time.Minute)
		h.join("bob")
		read := countReads(h)
		for i := range 50 {
			s := w.profiles.load(fmt.Sprint("u", i))
			s.created = w.cfg.Epoch
			if _, err := h.Joined(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if read() > 2 {
			t.Fatalf("%d reads for 50 joins", read())
		}
		// And when it closes they all hear of it.
		h.tap.set(nil)
		w.pastGrace(0)
		h.closeDue()
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := h.View(h.players("u7"))
		if err != nil || !v.Processed.Has(0) {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// A load does not fail because titles cannot be looked up: they come later.
func TestAJoinWithoutAStoreIsTakenUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		winSeasons(t, w, h, 1)
		w.pastGrace(0)
		h.closeDue()
		b := w.host("b", hostOptions{})
		b.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "get") {
				return refuse
			}
			return pass
		})
		s := w.profiles.load("ada")
		if _, err := b.Joined(t.Context(), s); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("join: %v", err)
		}
		b.play(s, "catch")
		b.tap.set(nil)
		if _, err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.titles(); !slices.Equal(got, []string{"ada Fish@C1S1"}) {
			t.Fatalf("told %v", got)
		}
		if v, err := b.View(s); err != nil || v.Stats["fish"] != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

// Only the best get titles; those below are the reserve.
func TestOnlyTheTopGetsTitles(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		for i := range 6 {
			s := h.join(fmt.Sprint("u", i))
			h.play(s, slices.Repeat([]string{"catch"}, 6-i)...)
		}
		h.window()
		w.pastGrace(0)
		h.closeDue()
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := h.titles(); !slices.Equal(got, []string{"u0 Fish@C1S1", "u1 Fish@C1S1", "u2 Fish@C1S1"}) {
			t.Fatalf("titles %v", got)
		}
		r, err := h.Result(t.Context(), "C1S1")
		if err != nil || len(r.Boards[0].Reserve) != 2 || r.Boards[0].Total != 6 {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := h.Result(t.Context(), "2026-08"); !errors.Is(err, season.ErrNoSeason) {
			t.Fatalf("an old id: %v", err)
		}
	})
}
