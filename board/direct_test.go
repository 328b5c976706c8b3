package board_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func TestDirectCallsTakeAnyBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil)
		ctx := t.Context()
		batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "u1", Score: 5}}}
		if _, err := r.Merge(ctx, "Other", batch); !errors.Is(err, store.ErrNoBoard) {
			t.Fatalf("Merge into a missing board: %v", err)
		}
		info, err := r.Create(ctx, "Other", store.BoardSpec{Order: store.Ascending, Generation: "g1"})
		if err != nil || info.Generation != "g1" {
			t.Fatalf("Create: %+v, %v", info, err)
		}
		changes, err := r.Merge(ctx, "Other", batch)
		if err != nil || len(changes) != 1 || changes[0].Effect != store.Created {
			t.Fatalf("Merge: %+v, %v", changes, err)
		}
		if info, err = r.Info(ctx, "Other"); err != nil || info.Count != 1 {
			t.Fatalf("Info: %+v, %v", info, err)
		}
		if n, err := r.Remove(ctx, "Other", "u1", "u2"); err != nil || n != 1 {
			t.Fatalf("Remove: %d, %v", n, err)
		}
		if info, err = r.Seal(ctx, "Other"); err != nil || !info.Sealed {
			t.Fatalf("Seal: %+v, %v", info, err)
		}
		if _, err := r.Merge(ctx, "Other", batch); !errors.Is(err, store.ErrSealed) {
			t.Fatalf("Merge into a sealed board: %v", err)
		}
		if err := r.Drop(ctx, "Other"); err != nil {
			t.Fatal(err)
		}
		for what, call := range map[string]func(name string) error{
			"merge":  func(name string) error { _, err := r.Merge(ctx, name, batch); return err },
			"create": func(name string) error { _, err := r.Create(ctx, name, store.BoardSpec{}); return err },
			"info":   func(name string) error { _, err := r.Info(ctx, name); return err },
			"remove": func(name string) error { _, err := r.Remove(ctx, name, "u1"); return err },
			"seal":   func(name string) error { _, err := r.Seal(ctx, name); return err },
			"drop":   func(name string) error { return r.Drop(ctx, name) },
		} {
			if err := call("a b"); !errors.Is(err, board.ErrName) { // case B17
				t.Errorf("%s of no name: %v", what, err)
			}
		}
	})
}

func TestDirectMergeIntoASealedBoardStopsSubmits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		if _, err := r.store.Boards.Seal(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		_, err := r.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "u1", Score: 5}}})
		if !errors.Is(err, store.ErrSealed) {
			t.Fatalf("Merge: %v", err)
		}
		wantRefused(t, r.Submit("Kills", "u1", 5), "board", store.ErrSealed)
	})
}

func TestRemoveTakesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 2)
		r.submit("Kills", "u0", 50)
		r.submit("Kills", "u1", 60)
		n, err := r.Remove(t.Context(), "Kills", "u0")
		if err != nil || n != 1 {
			t.Fatalf("Remove: %d, %v", n, err)
		}
		r.submit("Kills", "u0", 3) // after the removal: counts
		r.flush()
		want(t, "what is stored", r.stored("Kills"), []string{"u1=60", "u0=3"})
		want(t, "removed", r.Stats().Total.Removed, 1)
	})
}

func TestRemoveFromABoardThatWasNeverWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.submit("Kills", "u0", 50)
		if n, err := r.Remove(t.Context(), "Kills", "u0"); n != 0 || err != nil {
			t.Fatalf("Remove: %d, %v", n, err)
		}
		later(time.Minute)
		want(t, "writes", len(r.store.did("merge")), 0)
	})
}

func TestRemoveThatIsNotDoneGivesBack(t *testing.T) {
	for what, c := range map[string]struct {
		fault fault
		err   error
		want  []string
	}{
		"not done": {notDone, store.ErrUnavailable, []string{"u0=50", "u1=1"}},
		"unknown":  {vanish, store.ErrUnknown, []string{"u0=2", "u1=1"}},
		"applied":  {lost, store.ErrUnknown, []string{"u1=1"}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{Boards: boards{"Kills": {}}})
				r.fill("Kills", 2)
				r.submit("Kills", "u0", 50)
				later(500 * time.Millisecond)
				c.fault.delay = 2 * time.Second // a window runs meanwhile, and finds nothing
				r.store.failNext("remove", c.fault)
				if _, err := r.Remove(t.Context(), "Kills", "u0"); !errors.Is(err, c.err) {
					t.Fatalf("Remove: %v, want %v", err, c.err)
				}
				later(time.Minute) // what was given back is written without another submit
				want(t, "what is stored", r.stored("Kills"), c.want)
			})
		})
	}
}

func TestRemoveWaitsForAWriteOfTheKey(t *testing.T) {
	for what, f := range map[string]fault{"that lands": {}, "that fails": notDone, "whose answer is lost": lost} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{Boards: boards{"Kills": {}}})
				r.fill("Kills", 1)
				gate := make(chan struct{})
				f.block = gate
				r.store.failNext("merge", f)
				r.submit("Kills", "u0", 50)
				later(time.Second)
				removed := make(chan error, 1)
				go func() {
					_, err := r.Remove(t.Context(), "Kills", "u0")
					removed <- err
				}()
				synctest.Wait()
				want(t, "removals before the write has ended", len(r.store.did("remove")), 0)
				// A key that is not under way need not wait.
				if _, err := r.Remove(t.Context(), "Kills", "other"); err != nil {
					t.Fatal(err)
				}
				short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				if _, err := r.Remove(short, "Kills", "u0"); !errors.Is(err, store.ErrUnavailable) {
					t.Fatalf("a removal that cannot wait: %v, want ErrUnavailable", err)
				}
				close(gate)
				if err := <-removed; err != nil {
					t.Fatal(err)
				}
				later(time.Minute)
				want(t, "what is stored", r.stored("Kills"), []string{})
			})
		})
	}
}

func TestRemoveSettlesUnknownSumsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		r.store.failNext("merge", late, notDone)
		r.submit("Coins", "u1", 5)
		r.submit("Coins", "u2", 6)
		r.flushFails()
		if _, err := r.Remove(t.Context(), "Coins", "u1"); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Remove while the sums cannot be written: %v, want ErrUnavailable", err)
		}
		want(t, "removals", len(r.store.did("remove")), 0)
		if n, err := r.Remove(t.Context(), "Coins", "u1"); err != nil || n != 1 {
			t.Fatalf("Remove: %d, %v", n, err)
		}
		r.store.land() // the first call, counted already
		want(t, "what is stored", r.stored("Coins"), []string{"u2=6"})
	})
}

func TestDropTakesWhatWaits(t *testing.T) {
	for _, rule := range []store.Rule{store.Best, store.Sum} {
		t.Run(rule.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{Boards: boards{"Kills": {Rule: rule}}})
				r.fill("Kills", 2)
				r.store.failNext("merge", vanish)
				r.submit("Kills", "u1", 9)
				r.flushFails()
				r.submit("Kills", "u2", 10)
				if err := r.Drop(t.Context(), "Kills"); err != nil {
					t.Fatal(err)
				}
				later(time.Minute)
				if _, err := r.Info(t.Context(), "Kills"); !errors.Is(err, store.ErrNoBoard) {
					t.Fatalf("the dropped board came back: %v", err)
				}
				want(t, "removed", r.Stats().Total.Removed, 2)
				r.submit("Kills", "u3", 1)
				r.flush()
				want(t, "what is stored", r.stored("Kills"), []string{"u3=1"})
			})
		})
	}
}

func TestDropThatIsNotDoneGivesBack(t *testing.T) {
	for _, rule := range []store.Rule{store.Best, store.Sum} {
		t.Run(rule.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{Boards: boards{"Kills": {Rule: rule}}})
				r.submit("Kills", "u1", 1)
				r.flush()
				r.store.failNext("merge", lost) // known to the store, not to us
				r.submit("Kills", "u1", 4)
				r.flushFails()
				r.submit("Kills", "u2", 5)
				gate := make(chan struct{})
				r.store.failNext("drop", fault{block: gate, err: notDone.err})
				dropped := make(chan error, 1)
				go func() { dropped <- r.Drop(t.Context(), "Kills") }()
				synctest.Wait()
				r.submit("Kills", "u3", 2)
				later(time.Minute) // no window runs while the drop is under way
				want(t, "writes", len(r.store.did("merge")), 2)
				if all := r.Stats().Total; all.Queued+all.InFlight != 3 {
					t.Fatalf("%d values wait, want 3", all.Queued+all.InFlight)
				}
				close(gate)
				if err := <-dropped; !errors.Is(err, store.ErrUnavailable) {
					t.Fatalf("Drop: %v", err)
				}
				later(time.Minute)
				if rule == store.Sum {
					want(t, "what is stored", r.stored("Kills"), []string{"u1=5", "u2=5", "u3=2"})
				} else {
					want(t, "what is stored", r.stored("Kills"), []string{"u2=5", "u1=4", "u3=2"})
				}
			})
		})
	}
}

func TestDropWaitsForAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		gate := make(chan struct{})
		r.store.failNext("merge", fault{block: gate})
		r.submit("Kills", "u0", 50)
		later(time.Second)
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := r.Drop(short, "Kills"); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("a drop that cannot wait: %v, want ErrUnavailable", err)
		}
		dropped := make(chan error, 1)
		go func() { dropped <- r.Drop(t.Context(), "Kills") }()
		synctest.Wait()
		close(gate)
		if err := <-dropped; err != nil {
			t.Fatal(err)
		}
		later(time.Minute)
		if _, err := r.Info(t.Context(), "Kills"); !errors.Is(err, store.ErrNoBoard) {
			t.Fatalf("the dropped board came back: %v", err)
		}
	})
}

// After a drop the stored board is looked at anew: another node may have made it otherwise.
func TestBoardMadeOtherwiseAfterADrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		if err := r.Drop(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Boards.Create(t.Context(), "Kills", store.BoardSpec{Order: store.Ascending, Generation: "g"}); err != nil {
			t.Fatal(err)
		}
		r.submit("Kills", "u1", 1)
		if err := r.FlushNow(t.Context()); !errors.Is(err, board.ErrOrder) {
			t.Fatalf("FlushNow: %v, want ErrOrder", err)
		}
	})
}

func TestDropEndsASeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		if _, err := r.Seal(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Remove(t.Context(), "Kills", "u0"); !errors.Is(err, store.ErrSealed) {
			t.Fatalf("Remove from a sealed board: %v", err)
		}
		if err := r.Drop(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		r.submit("Kills", "u1", 1)
		r.flush()
		want(t, "what is stored", r.stored("Kills"), []string{"u1=1"})
	})
}

func TestAffects(t *testing.T) {
	page := store.Page{Info: store.BoardInfo{Order: store.Ascending}, Entries: []store.Standing{
		{Entry: store.Entry{Key: "a", Score: 10}}, {Entry: store.Entry{Key: "b", Score: 20}},
	}}
	one := func(key string, effect store.Effect, score int64) (store.Batch, []store.Change) {
		return store.Batch{Entries: []store.Submission{{Key: key}}}, []store.Change{{Effect: effect, New: score}}
	}
	for _, c := range []struct {
		what   string
		size   int
		key    string
		effect store.Effect
		score  int64
		want   bool
	}{
		{"a key of the page", 2, "b", store.Changed, 99, true},
		{"a better one", 2, "c", store.Created, 19, true},
		{"one as good as the last", 2, "c", store.Created, 20, false},
		{"a worse one", 2, "c", store.Changed, 21, false},
		{"a worse one where there is room", 3, "c", store.Created, 21, true},
		{"nothing changed", 2, "b", store.Kept, 20, false},
		{"it left the range", 2, "b", store.Overflow, 20, false},
	} {
		batch, changes := one(c.key, c.effect, c.score)
		if got := board.Affects(page, c.size, batch, changes); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
