package board_test

import (
	"context"
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

// audited is the whole audit log, read in pages, "action board keys".
func (m *seat) audited(limit int) (lines []string) {
	m.t.Helper()
	for before := ""; ; {
		page, next, err := m.Audit(m.t.Context(), before, limit)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, e := range page {
			lines = append(lines, fmt.Sprintf("%s %s %s", e.Action, e.Board, strings.Join(e.Keys, "+")))
		}
		if next == "" {
			return lines
		}
		before = next
	}
}

func TestAuditIsNewestFirstInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.join(three()), f.join(three())
		a.fill()
		wanted := []string{}
		for i := range 7 {
			m := []*seat{a, b}[i%2]
			if _, err := m.Hide(t.Context(), mod, "Kills", fmt.Sprint("u", i), "ann"); err != nil {
				t.Fatal(err)
			}
			wanted = append([]string{fmt.Sprintf("hide Kills ann+u%d", i)}, wanted...)
			time.Sleep(time.Millisecond)
		}
		for _, limit := range []int{1, 3, 7, 0} {
			want(t, fmt.Sprint("pages of ", limit), a.audited(limit), wanted)
		}
		_, _, err := a.Audit(t.Context(), "", store.MaxPage+1)
		wantRefused(t, err, "count", board.ErrCount)
		_, _, err = a.Audit(t.Context(), "a/b", 1)
		wantRefused(t, err, "key", board.ErrName)
	})
}

// Nothing is done without a trace: when the entry cannot be stored the act does not begin,
// and when the act fails the entry is there.
func TestNothingIsDoneWithoutATrace(t *testing.T) {
	for name, act := range map[board.Action]func(ctx context.Context, m *seat) error{
		board.ActionHide:   func(ctx context.Context, m *seat) error { _, err := m.Hide(ctx, mod, "Kills", "ann"); return err },
		board.ActionShow:   func(ctx context.Context, m *seat) error { _, err := m.Show(ctx, mod, "Kills", "ann"); return err },
		board.ActionRemove: func(ctx context.Context, m *seat) error { _, err := m.RemoveBy(ctx, mod, "Kills", "ann"); return err },
		board.ActionBan:    func(ctx context.Context, m *seat) error { return m.Ban(ctx, mod, "ann") },
		board.ActionUnban:  func(ctx context.Context, m *seat) error { return m.Unban(ctx, mod, "ann") },
		board.ActionSeal:   func(ctx context.Context, m *seat) error { _, err := m.SealBy(ctx, mod, "Kills"); return err },
		board.ActionDrop:   func(ctx context.Context, m *seat) error { return m.DropBy(ctx, mod, "Kills") },
	} {
		t.Run(string(name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				a := f.join(three())
				a.fill()
				synctest.Wait()
				var writes []string
				onAudit := func(c faultstore.Call) bool {
					return len(c.Keys) > 0 && strings.HasPrefix(c.Keys[0], "boardaudit/") && c.Write
				}
				note := func(c faultstore.Call) faultstore.Fault {
					if c.Write && c.Part != faultstore.Bus && !onAudit(c) {
						writes = append(writes, c.String())
					}
					return faultstore.Fault{}
				}
				a.faults.SetRule(faultstore.First(note, faultstore.Nth(1, onAudit, faultstore.Fault{Kind: faultstore.FailBefore})))
				if err := act(t.Context(), a); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("without an entry: %v", err)
				}
				a.faults.SetRule(nil)
				want(t, "written without an entry", writes, nil)
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					if c.Write && !onAudit(c) {
						return faultstore.Fault{Kind: faultstore.FailBefore}
					}
					return faultstore.Fault{}
				})
				if err := act(t.Context(), a); err == nil {
					t.Error("an act whose every write fails")
				}
				a.faults.SetRule(nil)
				if got := a.audited(0); len(got) != 1 || !strings.HasPrefix(got[0], string(name)+" ") {
					t.Errorf("the trace of what failed: %v", got)
				}
				// An entry whose answer got lost is not stored twice.
				a.faults.SetRule(faultstore.Nth(1, onAudit, faultstore.Fault{Kind: faultstore.FailAfter}))
				if err := act(t.Context(), a); err != nil {
					t.Error(err)
				}
				a.faults.SetRule(nil)
				want(t, "entries", len(a.audited(0)), 2)
			})
		})
	}
}

func TestAuditIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.KeepAudit(10)
		a.fill()
		for i := range board.TrimEvery + 1 { // the last of them trims
			if _, err := a.Hide(t.Context(), mod, "Kills", fmt.Sprint("u", i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		got := a.audited(0)
		want(t, "entries", len(got), 10)
		want(t, "the newest", got[0], fmt.Sprint("hide Kills u", board.TrimEvery))
	})
}

func TestErasedKeysAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.fill()
		ctx := t.Context()
		_, err := a.Hide(ctx, mod, "Kills", "ann", "bob")
		_, err2 := a.Hide(ctx, mod, "Coins", "ann")
		_, err3 := a.RemoveBy(ctx, mod, "season/reef/Fish/1", "ann", "bob")
		if err := errors.Join(err, err2, err3, a.Ban(ctx, mod, "zoe")); err != nil {
			t.Fatal(err)
		}
		mine := func(board string) bool { return board != "Coins" }
		for range 2 {
			if err := a.EraseKey(ctx, "ann", mine); err != nil {
				t.Fatal(err)
			}
		}
		f.rest()
		want(t, "records of hides", f.stored("boardhide/"), []string{"ann", "bob"}) // Coins is somebody else's
		want(t, "by hand", f.byHand("ann"), []string{"Coins"})
		list, err := a.Hidden(ctx, "Kills", "", 0)
		if err != nil || len(list) != 2 || list[0].Key != "bob" || list[1].Key != "zoe" {
			t.Errorf("hidden on Kills: %+v, %v", list, err)
		}
		for _, line := range a.audited(0) {
			if strings.Contains(line, "ann") != strings.Contains(line, "Coins") {
				t.Errorf("the audit log: %s", line)
			}
		}
		page, _, err := a.Audit(ctx, "", 0)
		if err != nil || len(page) != 4 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, e := range page {
			if e.Board == "Kills" && (e.Erased != 1 || e.Reason != "") {
				t.Errorf("an entry with an erased key: %+v", e)
			}
		}

		// A ban outlives the person, without who and why.
		if err := errors.Join(a.Ban(ctx, mod, "ann"), a.EraseKey(ctx, "ann", func(string) bool { return true })); err != nil {
			t.Fatal(err)
		}
		f.rest()
		wantRefused(t, a.Submit("Kills", "ann", 1), "key", board.ErrBanned)
		bans, err := a.Bans(ctx, "", 1)
		if err != nil || len(bans) != 1 || bans[0].Key != "ann" || !bans[0].Erased || bans[0].Actor != "" || bans[0].Reason != "" || bans[0].At.IsZero() {
			t.Errorf("the ban: %+v, %v", bans, err)
		}
		f.agree(a, "ann")
		if err := a.Unban(ctx, mod, "ann"); err != nil {
			t.Fatal(err)
		}
		f.rest()
		want(t, "records at rest", f.stored("ban/"), []string{"zoe"})
	})
}

// Two erasures at once rewrite the same entry.
func TestErasuresAtOnceForgetBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.join(three()), f.join(three())
		a.fill()
		if _, err := a.Hide(t.Context(), mod, "Kills", "ann", "bob"); err != nil {
			t.Fatal(err)
		}
		all := func(string) bool { return true }
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Op == "commit" && strings.HasPrefix(c.Keys[0], "boardaudit/") {
				return faultstore.Fault{Delay: time.Second}
			}
			return faultstore.Fault{}
		})
		done := make(chan error, 1)
		go func() { done <- a.EraseKey(t.Context(), "ann", all) }()
		time.Sleep(time.Millisecond)
		if err := errors.Join(b.EraseKey(t.Context(), "bob", all), <-done); err != nil {
			t.Fatal(err)
		}
		want(t, "the audit log", a.audited(0), []string{"hide Kills "})
	})
}
