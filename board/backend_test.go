package board_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

func TestBackendIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := startNode(t, newScript(), nil)
		_, err := board.New(n, &board.Options{Backend: newShelf()})
		if err == nil || !strings.Contains(err.Error(), "Backend: Submit or Set expected") {
			t.Errorf("a Backend that cannot write: %v", err)
		}
		_, err = board.New(n, &board.Options{Backend: submitShelf{newShelf()}, Boards: boards{"Coins": {Rule: store.Sum}}})
		wantRefused(t, err, "Rule", store.ErrUnsupported)
		svc, err := board.New(n, &board.Options{Backend: setShelf{newShelf()}, Boards: boards{"Kills": {}}})
		if err != nil {
			t.Fatal(err)
		}
		wantRefused(t, svc.Define("Coins", board.Config{Rule: store.Sum}), "Rule", store.ErrUnsupported)
		if _, err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The numbers of the contract: windows of 30 writes 15 s after the first score, pages of a
// minute.
func TestBackendDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{Boards: boards{"Kills": {}}})
		for i := range 70 {
			r.submit("Kills", fmt.Sprintf("u%d", i), int64(i))
		}
		later(time.Minute)
		times := map[float64]int{}
		for _, w := range b.puts() {
			times[w.At]++
		}
		want(t, "writes by time", times, map[float64]int{15: 30, 30: 30, 45: 10})
		for range 3 {
			r.top("Kills", 3)
			later(25 * time.Second)
		}
		want(t, "reads", b.asked(), []int{100})
	})
}

// An idle service has no timer, with a Backend too.
func TestIdleServiceOnABackendWakesForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := submitShelf{newShelf()}, &countingClock{Clock: clock.System()}
		s, err := board.NewOn(board.Host{ID: "n", Clock: c, Now: time.Now, Logger: discard()}, &board.Options{Backend: b, CallTimeout: -1, Boards: boards{"Kills": {}}})
		if err != nil {
			t.Fatal(err)
		}
		later(time.Hour)
		want(t, "timers of an idle service", c.timers.Load(), 0)
		for i := range 5 {
			if err := s.Submit("Kills", "u1", int64(i)); err != nil {
				t.Fatal(err)
			}
			later(time.Second)
		}
		later(time.Hour)
		want(t, "timers of one window", c.timers.Load(), 1)
		want(t, "writes", b.tried(), []string{"Kills/u1=4"})
		if _, err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The keep-best rule arrives as data; where the Backend only updates, the update answers nil
// when what is stored is as good.
func TestBackendRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := boards{"Kills": {}, "Time": {Order: store.Ascending}, "Now": {Rule: store.Last}}
		submits, sets := submitShelf{newShelf()}, setShelf{newShelf()}
		for _, r := range []*rig{shelved(t, submits, board.Options{Boards: cfg}), shelved(t, sets, board.Options{Boards: cfg})} {
			for _, score := range []int64{5, 3, 9, 9, 4} {
				for _, name := range []string{"Kills", "Time", "Now"} {
					r.submit(name, "u1", score)
				}
				r.flush()
			}
			want(t, "the pages", [][]string{r.top("Kills", 1), r.top("Time", 1), r.top("Now", 1)}, [][]string{{"u1=9"}, {"u1=3"}, {"u1=4"}})
		}
		for _, w := range submits.puts() {
			if w.KeepBest != (w.Board != "Now") || w.Ascending != (w.Board == "Time") {
				t.Errorf("submitted as %+v", w)
			}
		}
		// A put of 0 is an update that was left alone.
		want(t, "updates", sets.tried(), []string{
			"Kills/u1=5", "Now/u1=5", "Time/u1=5",
			"Kills/u1=0", "Now/u1=3", "Time/u1=3",
			"Kills/u1=9", "Now/u1=9", "Time/u1=0",
			"Kills/u1=0", "Now/u1=0", "Time/u1=0",
			"Kills/u1=0", "Now/u1=4", "Time/u1=0",
		})
	})
}

func TestSubmitIsPreferredToSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		r := shelved(t, bothShelf{submitShelf{s}, setShelf{s}, s}, board.Options{Boards: boards{"Kills": {}}})
		r.submit("Kills", "u1", 5)
		r.flush()
		if w := s.puts(); len(w) != 1 || !w[0].KeepBest {
			t.Errorf("written by %+v, want one Submit", w)
		}
	})
}

// One key of each board in turn, in the order of names, from the board after the one written
// last.
func TestBackendWindowsRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{WritesPerFlush: 4, Boards: boards{"A": {}, "B": {}, "C": {}}})
		window := func() (names string) {
			r.flush()
			for _, w := range b.puts() {
				names += w.Board
			}
			return names
		}
		for i := range 20 {
			r.submit("A", fmt.Sprintf("u%d", i), 1)
		}
		r.submit("B", "u1", 1)
		r.submit("C", "u1", 1)
		r.submit("C", "u2", 1)
		want(t, "the first window", window(), "ABCA")
		want(t, "the second, after A", window(), "CAAA")
		r.submit("B", "u3", 1)
		want(t, "the third: a quiet board comes at once", window(), "BAAA")
	})
}

// Each key that waits has one attempt in a window. What is submitted meanwhile, for a key that
// was written or a new one, waits for the next; a key that has not had its turn is written as
// it is then.
func TestBackendTriesEachKeyOncePerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{Boards: boards{"A": {}, "Z": {}}})
		r.submit("A", "u1", 1)
		r.submit("A", "u2", 1)
		r.submit("Z", "u1", 1)
		once := sync.Once{}
		b.onPut = func(_ context.Context, w put) error {
			once.Do(func() {
				for _, key := range []string{"u1", "u2", "u3"} {
					r.submit("A", key, 7)
				}
				r.submit("Z", "u1", 7)
			})
			if w.Board == "Z" {
				return errShut
			}
			return nil
		}
		r.flushFails()
		got := b.puts()
		first, second := got[0].Key, "u1"
		if first == "u1" {
			second = "u2"
		}
		want(t, "the first window", fmt.Sprint(got), fmt.Sprintf("[A/%s=1 Z/u1=7 A/%s=7]", first, second))
		b.onPut = nil
		r.flush()
		want(t, "how many the second has", len(b.puts()), 3)
		for _, key := range []string{"u1", "u2", "u3"} {
			if v, _ := b.get("A", key); v != 7 {
				t.Errorf("%s: %d", key, v)
			}
		}
		r.flush()
		want(t, "the third window", b.tried(), []string{})
	})
}

// A failed write waits again, merged with what is newer: the better of the two, or the newest.
func TestBackendFailureMergesWithWhatIsNewer(t *testing.T) {
	for _, c := range []struct {
		what         string
		cfg          board.Config
		first, newer int64
		want         int64
	}{
		{"best, newer is better", board.Config{}, 5, 7, 7},
		{"best, newer is worse", board.Config{}, 5, 3, 5},
		{"smaller is better, newer is better", board.Config{Order: store.Ascending}, 5, 3, 3},
		{"smaller is better, newer is worse", board.Config{Order: store.Ascending}, 5, 7, 5},
		{"last", board.Config{Rule: store.Last}, 5, 3, 3},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := submitShelf{newShelf()}
				r := shelved(t, b, board.Options{Boards: boards{"K": c.cfg}})
				b.onPut = func(context.Context, put) error {
					r.submit("K", "u1", c.newer) // while it is written
					return errBackend
				}
				r.submit("K", "u1", c.first)
				r.flushFails()
				b.onPut = nil
				r.flush()
				want(t, "the writes", b.tried(), []string{fmt.Sprintf("K/u1=%d", c.first), fmt.Sprintf("K/u1=%d", c.want)})
				want(t, "what waits", r.Stats().Total.Queued, 0)
			})
		})
	}
}

func TestBackendDropsAfterMaxWriteAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{MaxWriteAttempts: 3, Boards: boards{"K": {}}})
		var told []board.Refusal
		r.OnRefused(func(v board.Refusal) { told = append(told, v) })
		b.onPut = func(_ context.Context, w put) error {
			if w.Key == "bad" || w.Key == "flaky" && w.Score < 3 {
				return errShut
			}
			return nil
		}
		r.submit("K", "bad", 1)
		r.submit("K", "good", 1)
		r.submit("K", "flaky", 1)
		for range 2 {
			r.flushFails()
		}
		r.submit("K", "flaky", 3) // written at last: its failures are forgotten
		r.flushFails()
		want(t, "the values told of", len(told), 1)
		if told[0].Values[0].Key != "bad" || !errors.Is(told[0].Err, board.ErrAttempts) || !errors.Is(told[0].Err, store.ErrUnavailable) || told[0].Unknown {
			t.Errorf("told %+v", told[0])
		}
		b.onPut = func(context.Context, put) error { return errShut }
		r.submit("K", "flaky", 5)
		for range 2 {
			r.flushFails()
		}
		c := r.Stats().Total
		want(t, "written, failed, dropped, waiting", []any{c.Written, c.Failed, c.Dropped, c.Queued}, []any{uint64(2), uint64(7), uint64(1), 1})
		b.onPut = nil
	})
}

// A write that may have been applied is told of as unknown, even when the last answer was
// that it was not.
func TestDroppedAfterAnUnknownOutcomeIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{MaxWriteAttempts: 2, Boards: boards{"K": {}}})
		var told []board.Refusal
		r.OnRefused(func(v board.Refusal) { told = append(told, v) })
		fails := []error{errBackend, errShut}
		b.onPut = func(context.Context, put) error {
			err := fails[0]
			fails = fails[1:]
			return err
		}
		r.submit("K", "u1", 1)
		r.flushFails()
		r.flushFails()
		if len(told) != 1 || !told[0].Unknown {
			t.Errorf("told %+v", told)
		}
		b.onPut = nil
	})
}

// Keys that the Backend never takes do not hold up others, however small the windows.
func TestBadKeysDoNotStarveOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{FlushEvery: time.Second, WritesPerFlush: 3, MaxWriteAttempts: -1, Boards: boards{"K": {}}})
		b.onPut = func(_ context.Context, w put) error {
			if strings.HasPrefix(w.Key, "bad") {
				return errBackend
			}
			return nil
		}
		for i := range 30 {
			r.submit("K", fmt.Sprintf("bad%d", i), 1)
		}
		later(20 * time.Second)
		for i := range 30 {
			r.submit("K", fmt.Sprintf("good%d", i), 1)
		}
		later(40 * time.Second)
		want(t, "written", r.Stats().Total.Written, 30)
		if oldest := r.Stats().Total.Oldest; oldest < 59*time.Second {
			t.Errorf("the oldest waits since %v, want a minute", oldest)
		}
		b.onPut = nil
	})
}

func TestBackendBudgetCapsAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := func() int { return 2 }
		b := richShelf{submitShelf{newShelf()}, func() int { return budget() }}
		r := shelved(t, b, board.Options{WritesPerFlush: 3, Boards: boards{"K": {}}})
		for i := range 10 {
			r.submit("K", fmt.Sprintf("u%d", i), 1)
		}
		r.flush()
		want(t, "a budget of 2", len(b.puts()), 2)
		budget = func() int { return 100 }
		r.flush()
		want(t, "a budget of 100", len(b.puts()), 3)
		budget = func() int { return -1 }
		r.flush()
		want(t, "a budget below nothing", len(b.puts()), 0)
		budget = func() int { panic("no") }
		var p *board.PanicError
		if err := r.FlushNow(t.Context()); !errors.As(err, &p) || p.Op != "budget" {
			t.Errorf("a budget that panics: %v", err)
		}
		want(t, "writes then", len(b.puts()), 0)
		budget = func() int { return 100 }
		for range 2 {
			r.flush()
		}
		want(t, "in the end", r.Stats().Total.Written, 10)
	})
}

// A panic is an error of its write, and wedges nothing.
func TestPanicOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, b := range []interface {
			board.Backend
			tried() []string
		}{submitShelf{newShelf()}, setShelf{newShelf()}} {
			r := shelved(t, b, board.Options{Boards: boards{"K": {}}})
			var s *shelf
			switch b := b.(type) {
			case submitShelf:
				s = b.shelf
			case setShelf:
				s = b.shelf
			}
			s.onPut = func(_ context.Context, w put) error {
				if w.Key == "u1" {
					panic("boom")
				}
				return nil
			}
			r.submit("K", "u1", 1)
			r.submit("K", "u2", 2)
			var p *board.PanicError
			if err := r.FlushNow(t.Context()); !errors.As(err, &p) || p.Value != "boom" || store.OutcomeOf(err) != store.Unknown {
				t.Fatalf("FlushNow: %v", err)
			}
			s.onPut = nil
			r.flush()
			want(t, "the page", r.top("K", 5), []string{"u2=2", "u1=1"})
		}
	})
}

func TestBackendRefusesMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shelved(t, submitShelf{newShelf()}, board.Options{Boards: boards{"K": {}}})
		wantRefused(t, r.SubmitEntry("K", store.Submission{Key: "u1", Score: 1, Meta: []byte("x")}), "meta", store.ErrUnsupported)
		if err := r.SubmitEntry("K", store.Submission{Key: "u1", Score: 1}); err != nil {
			t.Fatal(err)
		}
	})
}

// Calls that go to the store at once.
func TestBackendDirectCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setShelf{newShelf()}
		r := shelved(t, b, board.Options{Boards: boards{"K": {}}})
		ctx := t.Context()
		batch := func(scores ...int64) store.Batch {
			out := store.Batch{Rule: store.Best}
			for i, v := range scores {
				out.Entries = append(out.Entries, store.Submission{Key: fmt.Sprintf("u%d", i), Score: v})
			}
			return out
		}
		changes, err := r.Merge(ctx, "K", batch(5, 0, -1))
		want(t, "changes", changes, []store.Change{{Effect: store.Created, New: 5}, {Effect: store.Created}, {Effect: store.Created, New: -1}})
		if err != nil {
			t.Fatal(err)
		}
		changes, _ = r.Merge(ctx, "K", batch(6, -1))
		want(t, "changes", changes, []store.Change{{Effect: store.Changed, Old: 5, New: 6}, {Effect: store.Kept}})
		b.onPut = func(_ context.Context, w put) error {
			if w.Key == "u1" {
				return errShut
			}
			return nil
		}
		if _, err := r.Merge(ctx, "K", batch(7, 7)); store.OutcomeOf(err) != store.Unknown {
			t.Errorf("the second key failed: %v, want an unknown outcome", err)
		}
		b.onPut = nil
		twice := batch(1)
		twice.Entries = append(twice.Entries, twice.Entries[0])
		for what, bad := range map[string]store.Batch{
			"a key twice": twice,
			"a sum":       {Rule: store.Sum, Source: "s", N: 1, Entries: batch(1).Entries},
			"metadata":    {Rule: store.Best, Entries: []store.Submission{{Key: "u1", Meta: []byte("x")}}},
			"a bad key":   {Rule: store.Best, Entries: []store.Submission{{Key: "a b"}}},
		} {
			_, err := r.Merge(ctx, "K", bad)
			var refused *board.RefusedError
			if store.OutcomeOf(err) != store.NotDone && !errors.As(err, &refused) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := r.Merge(ctx, "Elsewhere", batch(1)); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("a board that is not defined: %v", err)
		}
	})
}

// A removal is not for a Backend: what waits stays.
func TestBackendCannotRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{Boards: boards{"K": {}}})
		r.submit("K", "u1", 1)
		ctx := t.Context()
		_, removed := r.Remove(ctx, "K", "u1")
		_, sealed := r.Seal(ctx, "K")
		for what, err := range map[string]error{"Remove": removed, "Seal": sealed, "Drop": r.Drop(ctx, "K")} {
			if !errors.Is(err, store.ErrUnsupported) {
				t.Errorf("%s: %v", what, err)
			}
		}
		want(t, "what waits", r.Stats().Total.Queued, 1)
		r.flush()
		want(t, "the writes", b.tried(), []string{"K/u1=1"})
	})
}

// What is submitted before the list of bans is known is taken out before the first write.
func TestBackendIsNotWrittenForTheBanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, svc := startNode(t, newScript(), nil)
		if err := svc.Ban(t.Context(), board.Moderator{Actor: "ann", Reason: "cheats"}, "u1"); err != nil {
			t.Fatal(err)
		}
		b := submitShelf{newShelf()}
		other, err := board.New(n, &board.Options{Backend: b, Boards: boards{"K": {}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = other.Submit("K", "u1", 1) // accepted or not
		if err := errors.Join(other.Submit("K", "u2", 1), other.FlushNow(t.Context())); err != nil {
			t.Fatal(err)
		}
		want(t, "the writes", b.tried(), []string{"K/u2=1"})
		wantRefused(t, other.Submit("K", "u1", 1), "key", board.ErrBanned)
		if _, err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
