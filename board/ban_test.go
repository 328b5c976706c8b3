package board_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

func TestBannedKeysAreHiddenAndRefusedEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.join(three()), f.join(three())
		a.fill()
		synctest.Wait()
		b.submit("Kills", "ann", 50) // waits on another node
		if err := a.Ban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, name := range a.Boards() {
			want(t, name, f.shown(name), []string{"bob"})
		}
		for _, m := range []*seat{a, b} {
			wantRefused(t, m.Submit("Kills", "ann", 1), "key", board.ErrBanned)
			m.submit("Kills", "bob", 6)
			m.flush()
			if n := m.Stats().Boards["Kills"].Refused; n < 1 {
				t.Errorf("refused: %d", n)
			}
		}
		want(t, "reported", b.refusals(), []string{"Kills/ann: board: banned"})
		want(t, "purged", b.Moderation().Purged, 1)
		list, err := b.Bans(t.Context(), "", 0)
		if err != nil || len(list) != 1 || list[0].Key != "ann" || list[0].Actor != "mod" || list[0].Reason != "cheats" || list[0].ID == "" || !list[0].At.Equal(time.Now()) {
			t.Fatalf("Bans: %+v, %v", list, err)
		}
		f.rest()

		if err := b.Unban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want(t, "shown again", f.shown("Coins"), []string{"ann", "bob"})
		a.submit("Kills", "ann", 70)
		a.flush()
		want(t, "taken again", f.shown("Kills"), []string{"ann", "bob"})
		f.rest()
		want(t, "records at rest", f.stored("ban/"), []string{})
	})
}

func TestBansAndHidesDoNotUndoEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.join(three()), f.join(three())
		a.fill()
		ctx := t.Context()
		check := func(what string, err error, shown ...string) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			got := []string{}
			for _, name := range a.Boards() {
				if slices.Contains(f.shown(name), "ann") {
					got = append(got, name)
				}
			}
			want(t, what, got, append([]string{}, shown...))
		}
		hide := func(m *seat, name string) error { _, err := m.Hide(ctx, mod, name, "ann"); return err }
		show := func(m *seat, name string) error { _, err := m.Show(ctx, mod, name, "ann"); return err }
		check("hidden before the ban", hide(a, "Kills"), "Coins", "season/reef/Fish/1")
		check("banned", b.Ban(ctx, mod, "ann"))
		check("hidden meanwhile", hide(b, "Coins"))
		check("unbanned", a.Unban(ctx, mod, "ann"), "season/reef/Fish/1")
		check("banned again", a.Ban(ctx, mod, "ann"))
		check("shown meanwhile", show(a, "Kills"))
		f.rest()
		check("unbanned again", b.Unban(ctx, mod, "ann"), "Kills", "season/reef/Fish/1")
		check("the last one", show(b, "Coins"), "Coins", "Kills", "season/reef/Fish/1")
		f.rest()
		want(t, "records at rest", append(f.stored("ban/"), f.stored("boardhide/")...), []string{})
	})
}

// A board that is made anew begins without hides; a ban holds there all the same.
func TestBoardsMadeAnewBeginWithoutHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.fill()
		if _, err := a.Hide(t.Context(), mod, "Kills", "ann"); err != nil {
			t.Fatal(err)
		}
		if err := a.Drop(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		a.submit("Kills", "ann", 10)
		a.flush()
		want(t, "made anew", f.shown("Kills"), []string{"ann"})
		if err := errors.Join(a.Ban(t.Context(), mod, "ann"), a.Unban(t.Context(), mod, "ann")); err != nil {
			t.Fatal(err)
		}
		want(t, "after a ban", f.shown("Kills"), []string{"ann"})
	})
}

// A service that was there before the ban and hears no message knows within a minute.
func TestBansAreLearnedWithoutMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		o := three()
		o.FlushEvery = time.Second
		a, deaf := f.join(three()), f.join(o)
		a.fill()
		synctest.Wait()
		deaf.faults.Outage(faultstore.Bus, true)
		if err := a.Ban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		if err := deaf.Submit("Kills", "ann", 30); err != nil {
			t.Fatalf("it cannot know yet: %v", err)
		}
		time.Sleep(2 * time.Second)
		want(t, "what it writes is hidden", f.shown("Kills"), []string{"bob"})
		for i := range 61 {
			deaf.submit("Coins", "bob", int64(i))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		wantRefused(t, deaf.Submit("Kills", "ann", 31), "key", board.ErrBanned)
	})
}

// A service reads the bans before its first write of each board, though it has never had a
// message; and without the durable store it does not write a board for the first time.
func TestBansAreReadBeforeTheFirstWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, deaf := f.join(three()), f.join(three())
		synctest.Wait()
		deaf.faults.Outage(faultstore.Bus, true)
		if err := a.Ban(t.Context(), mod, "ann"); err != nil { // there is no board yet
			t.Fatal(err)
		}
		deaf.submit("Kills", "ann", 30)
		deaf.submit("Kills", "bob", 30)
		deaf.faults.Outage(faultstore.Durable, true)
		if err := deaf.FlushNow(t.Context()); err == nil {
			t.Error("a first write without a look at the bans")
		}
		want(t, "nothing is written", f.shown("Kills"), []string{})
		deaf.faults.Outage(faultstore.Durable, false)
		deaf.flush()
		want(t, "what was on its way is hidden", f.shown("Kills"), []string{"bob"})
		wantRefused(t, deaf.Submit("Coins", "ann", 30), "key", board.ErrBanned)
	})
}

// The calls that do not go through the queue hide what they write for a banned key.
func TestDirectMergesOfBannedKeysAreHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		if err := a.Ban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Kills", "Undefined"} {
			for round := range 2 {
				if _, err := a.Create(t.Context(), name, store.BoardSpec{Order: store.Descending, Generation: fmt.Sprint("g", round)}); err != nil {
					t.Fatal(err)
				}
				batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "ann", Score: 1}, {Key: "bob", Score: 1}}}
				for range 2 {
					if _, err := a.Merge(t.Context(), name, batch); err != nil {
						t.Fatal(err)
					}
				}
				want(t, name, f.shown(name), []string{"bob"})
				if err := a.Drop(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestBansAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.MostBans(2)
		if err := a.Ban(t.Context(), mod, "a", "b"); err != nil {
			t.Fatal(err)
		}
		if err := a.Ban(t.Context(), mod, "a", "b"); err != nil {
			t.Errorf("who is banned already: %v", err)
		}
		wantRefused(t, a.Ban(t.Context(), mod, "a", "c"), "keys", board.ErrFull)
		if err := errors.Join(a.Unban(t.Context(), mod, "a"), a.Ban(t.Context(), mod, "c")); err != nil {
			t.Errorf("one for another: %v", err)
		}
		list, err := a.Bans(t.Context(), "b", 1)
		if err != nil || len(list) != 1 || list[0].Key != "c" {
			t.Errorf("Bans after b: %+v, %v", list, err)
		}
	})
}

// Boards whose hidden keys are full are named; the others follow.
func TestFullBoardsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.join(three())
		a.fill()
		for i := range store.MaxHidden / store.MaxPage {
			keys := make([]string, store.MaxPage)
			for j := range keys {
				keys[j] = fmt.Sprintf("x%d-%d", i, j)
			}
			keys = keys[:len(keys)-i/9] // one place is left
			if _, err := f.plain.Boards.Hide(t.Context(), "Kills", true, keys...); err != nil {
				t.Fatal(err)
			}
		}
		err := a.Ban(t.Context(), mod, "ann", "bob")
		if !errors.Is(err, store.ErrTooLarge) {
			t.Fatalf("Ban: %v", err)
		}
		want(t, "the others", f.shown("Coins"), []string{})
		if got := f.shown("Kills"); len(got) != 1 {
			t.Errorf("on the full one are shown: %v; one expected", got)
		}
		wantRefused(t, a.Submit("Kills", "bob", 1), "key", board.ErrBanned)
		f.rest()
	})
}

// plainRecords cannot write two records at once.
type plainRecords struct{ store.Records }

func (p plainRecords) Abilities() store.Abilities {
	a := p.Records.Abilities()
	a.MultiKey = false
	return a
}

func (p plainRecords) Commit(ctx context.Context, txs ...store.Tx) []error {
	for _, tx := range txs {
		if len(tx) > 1 {
			return slices.Repeat([]error{store.ErrUnsupported}, len(txs))
		}
	}
	return p.Records.Commit(ctx, txs...)
}

func TestStoresWithoutTransactionsModerateToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.joinOn(plainRecords{f.engine.Records()}, three()), f.join(three())
		a.fill()
		_, err := a.Hide(t.Context(), mod, "Kills", "ann")
		if err := errors.Join(err, a.Ban(t.Context(), mod, "ann")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantRefused(t, b.Submit("Kills", "ann", 1), "key", board.ErrBanned)
		if err := a.Unban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		want(t, "Coins", f.shown("Coins"), []string{"ann", "bob"})
		want(t, "Kills", f.shown("Kills"), []string{"bob"})
		if _, err := a.Show(t.Context(), mod, "Kills", "ann"); err != nil {
			t.Fatal(err)
		}
		_, _ = b.Close(t.Context()) // so that it is this one that tidies
		f.rest()
		want(t, "records at rest", append(f.stored("ban/"), f.stored("boardhide/")...), []string{})
	})
}
