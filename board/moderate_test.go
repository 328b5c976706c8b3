package board_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

func TestHiddenEntriesKeepTheirScores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.fill()
		n, err := a.Hide(t.Context(), mod, "Kills", "ann", "zoe", "ann")
		if err != nil || n != 2 {
			t.Fatalf("Hide: %d, %v; 2 expected", n, err)
		}
		want(t, "shown", f.shown("Kills"), []string{"bob"})
		want(t, "shown elsewhere", f.shown("Coins"), []string{"ann", "bob"})
		a.submit("Kills", "ann", 20)
		a.submit("Kills", "zoe", 30)
		a.flush()
		want(t, "after more scores", f.shown("Kills"), []string{"bob"})
		list, err := a.Hidden(t.Context(), "Kills", "", 0)
		if err != nil || len(list) != 2 || list[0].Score != 20 || list[1].Key != "zoe" {
			t.Errorf("Hidden: %+v, %v", list, err)
		}
		if list, err := a.Hidden(t.Context(), "Kills", "ann", 1); err != nil || len(list) != 1 || list[0].Key != "zoe" {
			t.Errorf("Hidden after ann: %+v, %v", list, err)
		}
		if n, err := a.Hide(t.Context(), mod, "Kills", "ann"); err != nil || n != 0 {
			t.Errorf("Hide again: %d, %v", n, err)
		}
		if n, err := a.Show(t.Context(), mod, "Kills", "ann", "bob"); err != nil || n != 1 {
			t.Errorf("Show: %d, %v; 1 expected", n, err)
		}
		want(t, "shown again", f.shown("Kills"), []string{"ann", "bob"})
		f.rest()
		want(t, "what is left of hides", f.stored("boardhide/"), []string{"zoe"})
	})
}

func TestModerationRefusesWhatMakesNoSense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.fill()
		ctx := t.Context()
		many := make([]string, store.MaxPage+1)
		for i := range many {
			many[i] = fmt.Sprint("u", i)
		}
		hide := func(by board.Moderator, name string, keys ...string) error {
			_, err := a.Hide(ctx, by, name, keys...)
			return err
		}
		for _, c := range []struct {
			err    error
			field  string
			reason error
		}{
			{hide(board.Moderator{}, "Kills", "ann"), "actor", board.ErrName},
			{hide(board.Moderator{Actor: strings.Repeat("a", 129)}, "Kills", "ann"), "actor", board.ErrName},
			{hide(board.Moderator{Actor: "mod", Reason: strings.Repeat("a", 1001)}, "Kills", "ann"), "reason", board.ErrName},
			{hide(mod, "Kills", "a b"), "key", board.ErrName},
			{hide(mod, "Kills"), "keys", board.ErrCount},
			{hide(mod, "Kills", many...), "keys", board.ErrCount},
			{hide(mod, "/", "ann"), "board", board.ErrName},
			{a.Ban(ctx, mod), "keys", board.ErrCount},
			{a.Ban(ctx, board.Moderator{}, "ann"), "actor", board.ErrName},
			{a.Unban(ctx, mod, many...), "keys", board.ErrCount},
			{a.DropBy(ctx, board.Moderator{}, "Kills"), "actor", board.ErrName},
		} {
			wantRefused(t, c.err, c.field, c.reason)
		}
		if err := hide(mod, "Nothing", "ann"); !errors.Is(err, store.ErrNoBoard) {
			t.Errorf("a board that is missing: %v", err)
		}
		want(t, "audited", len(f.stored("boardaudit/")), 0)
	})
}

func TestSealedBoardsStayAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.fill()
		if _, err := a.SealBy(t.Context(), mod, "Kills"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Hide(t.Context(), mod, "Kills", "ann"); !errors.Is(err, store.ErrSealed) {
			t.Errorf("Hide on a sealed board: %v", err)
		}
		if err := a.Ban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		want(t, "sealed", f.shown("Kills"), []string{"ann", "bob"})
		want(t, "open", f.shown("Coins"), []string{"bob"})
		f.rest()
	})
}

func TestEntriesAreRemovedWithATrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.fill()
		a.submit("Kills", "ann", 99) // waits
		if n, err := a.RemoveBy(t.Context(), mod, "Kills", "ann", "zoe"); err != nil || n != 1 {
			t.Fatalf("RemoveBy: %d, %v", n, err)
		}
		a.flush()
		want(t, "shown", f.shown("Kills"), []string{"bob"})
		if err := a.DropBy(t.Context(), mod, "Coins"); err != nil {
			t.Fatal(err)
		}
		want(t, "dropped", f.shown("Coins"), []string{})
		page, next, err := a.Audit(t.Context(), "", 0)
		if err != nil || next != "" || len(page) != 2 {
			t.Fatalf("Audit: %+v, %q, %v", page, next, err)
		}
		if e := page[0]; e.Action != board.ActionDrop || e.Board != "Coins" {
			t.Errorf("the newest: %+v", e)
		}
		e := page[1]
		if e.Action != board.ActionRemove || e.Actor != "mod" || e.Reason != "cheats" || len(e.Keys) != 2 || len(e.Entries) != 1 || e.Entries[0].Score != 10 {
			t.Errorf("the removal: %+v", e)
		}
	})
}

// case B18: on a node that hears messages the page goes at once, on one that does not within
// its window.
func TestModeratedEntriesLeaveCachedPages(t *testing.T) {
	for name, act := range map[string]func(a *seat) error{
		"hide":   func(a *seat) error { _, err := a.Hide(a.t.Context(), mod, "Kills", "ann"); return err },
		"ban":    func(a *seat) error { return a.Ban(a.t.Context(), mod, "ann") },
		"remove": func(a *seat) error { _, err := a.RemoveBy(a.t.Context(), mod, "Kills", "ann"); return err },
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { leavesPages(t, act) }) })
	}
}

func leavesPages(t *testing.T, act func(*seat) error) {
	t.Helper()
	f := newFleet(t)
	o := func() *board.Options {
		o := three()
		o.Boards["Kills"] = board.Config{CacheFor: 10 * time.Second}
		return o
	}
	here, there, deaf := f.join(o()), f.join(o()), f.join(o())
	here.fill()
	synctest.Wait()
	deaf.faults.Outage(faultstore.Bus, true)
	all := []*seat{here, there, deaf}
	top := func(m *seat) []string {
		t.Helper()
		p, err := m.Top(t.Context(), "Kills", 10)
		if err != nil {
			t.Fatal(err)
		}
		return rows(p)
	}
	for _, m := range all {
		want(t, "before", top(m), []string{"ann=10", "bob=5"})
	}
	if err := act(here); err != nil {
		t.Fatal(err)
	}
	want(t, "here, at once", top(here), []string{"bob=5"})
	synctest.Wait()
	want(t, "on a node that was told", top(there), []string{"bob=5"})
	want(t, "on a node that was not told", top(deaf), []string{"ann=10", "bob=5"})
	time.Sleep(10 * time.Second)
	synctest.Wait()
	want(t, "there, a window later", top(deaf), []string{"bob=5"})
}
