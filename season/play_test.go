package season_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

// top is a board's page as "key:score".
func (h *host) top(board string) []string {
	h.w.t.Helper()
	time.Sleep(h.Config().CacheFor % time.Second)
	page, err := h.Top(h.w.t.Context(), board, 10)
	if err != nil {
		h.w.t.Fatalf("top of %s: %v", board, err)
	}
	var out []string
	for _, e := range page.Entries {
		out = append(out, fmt.Sprintf("%s:%d", e.Key, e.Score))
	}
	return out
}

// set changes a profile as an operator would.
func set(t *testing.T, s *session, path string, v int64) {
	t.Helper()
	err := s.Change("operator", func(doc.Value) ([]doc.Op, error) { return []doc.Op{doc.Set(path, doc.Int(v))}, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func TestCountersReachTheBoards(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		if got := h.top("Fish"); got != nil {
			t.Fatalf("before anybody played: %v", got)
		}
		ada, bob := h.join("ada"), h.join("bob")
		h.play(ada, "catch", "catch", "coins")
		h.play(bob, "catch")
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:2", "bob:1"}) {
			t.Fatalf("fish %v", got)
		}
		if got := h.top("Coins"); !slices.Equal(got, []string{"ada:10"}) {
			t.Fatalf("bob earned no coins, so he is not on that board: %v", got)
		}
		st, ok, err := h.Standing(t.Context(), "Fish", "bob")
		if err != nil || !ok || st.Rank != 2 {
			t.Fatalf("bob stands at %+v, %v, %v", st, ok, err)
		}
		if _, ok, err := h.Standing(t.Context(), "Fish", "eve"); ok || err != nil {
			t.Fatalf("eve stands: %v, %v", ok, err)
		}
		if _, err := h.Top(t.Context(), "Trees", 1); !errors.Is(err, season.ErrNoBoard) {
			t.Fatalf("a board that is not: %v", err)
		}
		merges := 0
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "merge") {
				merges++
			}
			return pass
		})
		h.window()
		if merges != 0 {
			t.Fatalf("nothing changed, %d merges", merges)
		}
	})
}

// An event may come between load and join: it counts, and join does not reset it.
func TestAnEventBeforeTheJoinCounts(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := w.profiles.load("ada")
		h.play(s, "catch")
		if _, err := h.Joined(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if v, err := h.View(s); err != nil || v.Stats["fish"] != 1 || v.Season != "C1S1" {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

func TestRecordRefusesWhatItCannotCount(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		if err := h.Record(s, season.Event{Name: "catch"}, season.Event{Name: "fly"}); !errors.Is(err, season.ErrUnknownEvent) {
			t.Fatalf("unknown event: %v", err)
		}
		if err := h.Record(s); err != nil {
			t.Fatalf("no event: %v", err)
		}
		if err := h.Record(w.profiles.load("no/key"), season.Event{Name: "catch"}); err == nil {
			t.Fatal("a key that is none is counted")
		}
		if s.commits() != 0 {
			t.Fatalf("%d commits of refused events", s.commits())
		}
		s.crash()
		if err := h.Record(s, season.Event{Name: "catch"}); !errors.Is(err, errLost) {
			t.Fatalf("a lost session: %v", err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := h.Record(s, season.Event{Name: "catch"}); !errors.Is(err, season.ErrClosed) {
			t.Fatalf("closed: %v", err)
		}
		if _, err := h.Joined(t.Context(), s); !errors.Is(err, season.ErrClosed) {
			t.Fatalf("closed: %v", err)
		}
		if _, err := h.CloseDue(t.Context()); !errors.Is(err, season.ErrClosed) {
			t.Fatalf("closed: %v", err)
		}
	})
}

// Boards show only what is stored: else the points of a lost session would stay for ever.
func TestBoardsShowOnlyWhatIsStored(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		h.window()
		h.play(s, "catch", "catch")
		w.profiles.onSync(func(string) fate { return refuse })
		if err := h.Window(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("window: %v", err)
		}
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("%v although it was never stored", got)
		}
		w.profiles.onSync(nil)
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:3"}) {
			t.Fatalf("after the sync: %v", got)
		}
		// What a session loses is not on the board, and the next one's smaller value is.
		h.play(s, "catch")
		s.crash()
		h.join("ada")
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:3"}) {
			t.Fatalf("after the crash: %v", got)
		}
	})
}

// A value that was set back by an operator is set back on the board.
func TestTheBoardFollowsTheProfileDown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch", "catch", "catch")
		h.window()
		set(t, s, "/seasons/reef/stats/fish", 1)
		h.play(s, "lose")
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("%v", got)
		}
	})
}

func TestAnUnknownMergeIsRepeated(t *testing.T) {
	for _, f := range []fate{refuse, lose, applied} {
		bubble(t, func(t *testing.T, w *world) {
			h := w.host("a", hostOptions{})
			s := h.join("ada")
			h.play(s, "catch")
			h.tap.set(func(call string) fate {
				if strings.HasPrefix(call, "merge") {
					return f
				}
				return pass
			})
			if err := h.Window(t.Context()); err == nil {
				t.Fatal("the window hides that nothing was answered")
			}
			h.play(s, "catch")
			h.tap.set(nil)
			h.window()
			if got := h.top("Fish"); !slices.Equal(got, []string{"ada:2"}) {
				t.Fatalf("fate %d: %v", f, got)
			}
			if st := h.Status(); st.Outbox != 0 || st.Players != 1 {
				t.Fatalf("%+v", st)
			}
		})
	}
}

// The reset is in the event's own transaction, owed goes to the old season's boards, and
// leaves the profile when the season has its result, not before.
func TestOwedValuesReachTheOldBoards(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch", "catch")
		w.until(time.Hour + time.Second)
		h.play(s, "catch") // no window before: the old values are nowhere but here
		if s.commits() != 3 {
			t.Fatalf("%d commits, want the reset inside the event's", s.commits())
		}
		h.window()
		v, err := h.View(s)
		if err != nil || v.Season != "C1S2" || v.Stats["fish"] != 1 || v.Owed["C1S1"]["fish"] != 2 {
			t.Fatalf("%+v, %v", v, err)
		}
		w.pastGrace(0)
		h.closeDue()
		h.wantResult("C1S1", "Fish", "ada:2")
		if _, err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, err = h.View(s); err != nil || v.Owed != nil || v.Stats["fish"] != 1 {
			t.Fatalf("after the close: %+v, %v", v, err)
		}
		if len(h.refused()) > 0 {
			t.Fatalf("refused %v", h.refused())
		}
	})
}

// The profile moves from a fast node to a slow one: nothing is reset twice.
func TestABlockNeverGoesBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		w.profiles.put("ada", parse(t, `{"seasons":{"reef":{"season":"C1S4","stats":{"fish":7}}}}`), time.Now())
		s := h.join("ada")
		h.play(s, "catch")
		h.window()
		if v, err := h.View(s); err != nil || v.Season != "C1S4" || v.Stats["fish"] != 8 {
			t.Fatalf("%+v, %v", v, err)
		}
		if got := h.top("Fish"); got != nil {
			t.Fatalf("the current board has %v", got)
		}
		w.until(3*time.Hour + 1)
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:8"}) {
			t.Fatalf("its own season's board has %v", got)
		}
	})
}

func TestLeavingWritesTheLastValues(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		s := h.join("ada")
		h.play(s, "catch")
		start := time.Now()
		h.leave(s)
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) || time.Since(start) > time.Second {
			t.Fatalf("after the leave: %v, took %v", got, time.Since(start))
		}
		// An unchanged player costs nothing, and neither does one who was never seen.
		h.tap.set(func(call string) fate { t.Errorf("call %s", call); return pass })
		idle := w.profiles.load("idle")
		h.leave(idle)
		h.tap.set(nil)
	})
}

// A stuck store holds a leave up for 5 s at most, and the value still arrives.
func TestLeavingIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		s := h.join("ada")
		h.play(s, "catch")
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "merge") {
				return refuse
			}
			return pass
		})
		start := time.Now()
		h.leave(s)
		if took := time.Since(start); took != 4500*time.Millisecond {
			t.Fatalf("left after %v, want 4.5s: a hook has 5", took)
		}
		h.tap.set(nil)
		time.Sleep(31 * time.Second)
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("after the next window: %v", got)
		}
	})
}

// A session that is handed over waits for no board. What it stored is sent with the next
// window, and never over what the next holder has sent.
func TestAHandedOverSessionSendsWhatItStored(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.host("a", hostOptions{}), w.host("b", hostOptions{})
		for _, key := range []string{"ada", "bob"} {
			s := a.join(key)
			a.play(s, "catch")
			s.release()
		}
		next := b.join("bob")
		b.play(next, "catch")
		b.window()
		if got := b.top("Fish"); !slices.Equal(got, []string{"bob:2"}) {
			t.Fatalf("after the next holder's window: %v", got)
		}
		a.window()
		if got := a.top("Fish"); !slices.Equal(got, []string{"bob:2", "ada:1"}) {
			t.Fatalf("after the old holder's window: %v", got)
		}
		if a.Status().Players != 0 || a.Status().Outbox != 0 {
			t.Errorf("left behind: %+v", a.Status())
		}
	})
}

// A leave whose sync fails is healed by the next load.
func TestAMissedLeaveIsHealedByTheNextLoad(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		h.play(s, "catch")
		w.profiles.onSync(func(string) fate { return refuse })
		h.leave(s) // the release saves all the same
		w.profiles.onSync(nil)
		h.window()
		if got := h.top("Fish"); got != nil || h.Status().Missed != 1 {
			t.Fatalf("%v, missed %d", got, h.Status().Missed)
		}
		h.join("ada")
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("after the next load: %v", got)
		}
	})
}

func TestTheLoopsFlushEvery30Seconds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		s := h.join("ada")
		h.play(s, "catch")
		w.until(29 * time.Second)
		if got := h.top("Fish"); got != nil {
			t.Fatalf("before the window: %v", got)
		}
		w.until(31 * time.Second)
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("after the window: %v", got)
		}
	})
}

// The changed values of the old season are flushed at the boundary, not 30 s later.
func TestTheBoundaryFlushesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.FlushEvery = 4*time.Minute + 30*time.Second // no window is due near the boundary
		h := w.host("a", hostOptions{loops: true})
		s := h.join("ada")
		w.until(time.Hour - time.Second)
		h.play(s, "catch")
		w.until(time.Hour + 11*time.Second)
		page, err := w.engine.Boards().Page(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), 0, 5, store.Ordinal)
		if err != nil || len(page.Entries) != 1 {
			t.Fatalf("ten seconds after the boundary: %+v, %v", page.Entries, err)
		}
	})
}

func TestClosingWritesWhatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		ada, bob := h.join("ada"), h.join("bob")
		h.play(ada, "catch")
		h.play(bob, "catch")
		h.leave(bob)
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := w.engine.Boards().Page(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), 0, 5, store.Ordinal)
		if err != nil || len(page.Entries) != 2 {
			t.Fatalf("%+v, %v", page.Entries, err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatalf("a second close: %v", err)
		}
	})
}

func TestClosingIsBoundedAndSaysWhatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		h.play(h.join("ada"), "catch")
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "merge") {
				return lose
			}
			return pass
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 values not written") {
			t.Fatalf("close: %v", err)
		}
	})
}

// A call that hangs holds up nothing for longer than its own deadline.
func TestAHangingStoreIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		h.play(h.join("ada"), "catch", "coins")
		h.tap.set(func(call string) fate {
			if strings.HasPrefix(call, "merge season/reef/Fish") {
				return hang
			}
			return pass
		})
		start := time.Now()
		if err := h.Window(t.Context()); !errors.Is(err, store.ErrUnknown) || time.Since(start) > time.Minute {
			t.Fatalf("window: %v after %v", err, time.Since(start))
		}
		if got := h.top("Coins"); !slices.Equal(got, []string{"ada:10"}) {
			t.Fatalf("the other board: %v", got)
		}
		h.tap.set(nil)
		h.window()
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("later: %v", got)
		}
	})
}

// A set that was begun with another calendar is left alone, and says so.
func TestAnotherCalendarIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		h.play(h.join("ada"), "catch")
		w.cfg.Length = 2 * time.Hour
		b := w.host("b", hostOptions{})
		if _, err := b.CloseDue(t.Context()); !errors.Is(err, season.ErrCalendar) {
			t.Fatalf("close: %v", err)
		}
		s := w.profiles.load("bob")
		if _, err := b.Joined(t.Context(), s); !errors.Is(err, season.ErrCalendar) {
			t.Fatalf("join: %v", err)
		}
		if c := w.host("c", hostOptions{loops: true}); true {
			synctest.Wait() // the loop has had its first look
			if err := c.Record(s, season.Event{Name: "catch"}); !errors.Is(err, season.ErrCalendar) {
				t.Fatalf("record without a join: %v", err)
			}
		}
		if err := b.Record(s, season.Event{Name: "catch"}); !errors.Is(err, season.ErrCalendar) || s.commits() != 0 {
			t.Fatalf("record: %v", err)
		}
		_, top := b.Top(t.Context(), "Fish", 1)
		_, leaders := b.Leaders(t.Context(), "Fish", 1)
		_, _, standing := b.Standing(t.Context(), "Fish", "ada")
		_, card := b.CardOf(t.Context(), "bob", s.Data(), s.created)
		_, view := b.ViewOf(s.Data(), s.created)
		for i, err := range []error{top, leaders, standing, card, view} {
			if !errors.Is(err, season.ErrCalendar) {
				t.Errorf("read %d goes by a calendar that is not the set's: %v", i, err)
			}
		}
	})
}

// The node closes its seasons after the sessions and before the boards.
func TestTheNodeClosesItsSeasons(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		h.play(h.join("ada"), "catch")
		report, err := h.node.Close(t.Context())
		if err != nil || !report.Complete() {
			t.Fatalf("%+v, %v", report, err)
		}
		page, err := w.engine.Boards().Page(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), 0, 5, store.Ordinal)
		if err != nil || len(page.Entries) != 1 {
			t.Fatalf("%+v, %v", page.Entries, err)
		}
		if err := h.Record(w.profiles.load("bob"), season.Event{Name: "catch"}); !errors.Is(err, season.ErrClosed) {
			t.Fatalf("afterwards: %v", err)
		}
	})
}

// A look at a session that has ended, by somebody who still has it, takes nothing from the one
// that has come after it.
func TestASessionThatHasEndedTakesNoPlace(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{loops: true})
		old := h.join("ada")
		h.leave(old)
		now := h.join("ada")
		h.play(now, "catch")
		if _, err := h.View(old); err != nil {
			t.Fatal(err)
		}
		watch := h.follow(old)
		if _, err := watch.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := watch.Next(t.Context()); !errors.Is(err, season.ErrEnded) {
			t.Fatal(err)
		}
		h.leave(now)
		if got := h.top("Fish"); !slices.Equal(got, []string{"ada:1"}) {
			t.Fatalf("the last values were not written: %v", got)
		}
	})
}
