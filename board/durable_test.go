package board_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func sub(key string, score int64) store.Submission { return store.Submission{Key: key, Score: score} }

// durably submits in the background; got waits for the answer.
func (r *rig) durably(ctx context.Context, name string, entries ...store.Submission) (got func() error) {
	done := make(chan error, 1)
	go func() { done <- r.SubmitDurable(ctx, name, entries...) }()
	return func() error { return <-done }
}

// It waits for no window, and callers who come while one is written share the next.
func TestDurableBringsTheWindowForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: time.Hour, Boards: boards{"Kills": {}}})
		r.store.failAll("merge", fault{delay: 100 * time.Millisecond})
		r.submit("Kills", "idle", 1)
		first := r.durably(t.Context(), "Kills", sub("u0", 1))
		time.Sleep(10 * time.Millisecond)
		var rest []func() error
		for i := range 50 {
			rest = append(rest, r.durably(t.Context(), "Kills", sub(fmt.Sprintf("u%d", i%20), int64(100+i))))
		}
		if err := first(); err != nil {
			t.Fatal(err)
		}
		want(t, "stored when the first has its answer", len(r.stored("Kills")), 2)
		for _, got := range rest {
			if err := got(); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "times of the writes", r.store.at("merge"), []float64{0, 0.1})
		want(t, "stored", len(r.stored("Kills")), 21)
		later(3 * time.Hour)
		want(t, "writes in all", len(r.store.did("merge")), 2)
	})
}

// The answer is that of a write that covers the score, under each rule.
func TestDurableIsAnsweredByWhatCoversIt(t *testing.T) {
	for _, c := range []struct {
		what          string
		cfg           board.Config
		stored, waits int64
		durable       store.Submission
		want          string
	}{
		{"a better one is stored", board.Config{}, 9, 1, sub("u1", 5), "[u1=9]"},
		{"a better one waits", board.Config{}, 1, 9, sub("u1", 5), "[u1=9]"},
		{"smaller is better", board.Config{Order: store.Ascending}, 9, 7, sub("u1", 5), "[u1=5]"},
		{"the newest", board.Config{Rule: store.Last}, 9, 7, sub("u1", 5), "[u1=5]"},
		{"an older stamp", board.Config{Rule: store.Last}, 9, 7, store.Submission{Key: "u1", Score: 5, Stamp: store.Stamp{Revision: 1}}, "[u1=7]"},
		{"a newer stamp", board.Config{Rule: store.Last}, 9, 7, store.Submission{Key: "u1", Score: 5, Stamp: store.Stamp{Epoch: 1}}, "[u1=5]"},
		{"a sum", board.Config{Rule: store.Sum}, 9, 7, sub("u1", 5), "[u1=21]"},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{Boards: boards{"K": c.cfg}})
				r.submit("K", "u1", c.stored)
				r.flush()
				r.submit("K", "u1", c.waits)
				if err := r.SubmitDurable(t.Context(), "K", c.durable); err != nil {
					t.Fatal(err)
				}
				want(t, "stored", fmt.Sprint(r.stored("K")), c.want)
			})
		})
	}
}

// Each answer of the store is lost in turn, applied or not, early or late: the caller is
// answered only when the score is there, and a sum counts once.
func TestDurableWhateverAnswerIsLost(t *testing.T) {
	for _, rule := range []store.Rule{store.Best, store.Last, store.Sum} {
		for nth := range 4 {
			for what, f := range map[string]fault{"not done": notDone, "lost": lost, "vanished": vanish, "late": late} {
				t.Run(fmt.Sprintf("%v/%d/%s", rule, nth, what), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { durableWithFault(t, rule, nth, f) })
				})
			}
		}
	}
}

func durableWithFault(t *testing.T, rule store.Rule, nth int, f fault) {
	t.Helper()
	r := start(t, &board.Options{Boards: boards{"K": {Rule: rule}}})
	calls := 0
	r.store.setRule(func(c call) fault {
		if c.Op != "create" && c.Op != "merge" {
			return fault{}
		}
		if calls++; calls-1 == nth {
			return f
		}
		return fault{}
	})
	total := int64(0)
	for i := int64(1); i <= 4; i++ {
		total += i
		wanted := i
		if rule == store.Sum {
			wanted = total
		}
		if err := r.SubmitDurable(t.Context(), "K", sub("u1", i)); err != nil {
			t.Fatalf("submit %d: %v", i, err)
		}
		want(t, "stored when it is answered", r.stored("K"), []string{fmt.Sprintf("u1=%d", wanted)})
		r.store.land()
		want(t, "stored after what was late", r.stored("K"), []string{fmt.Sprintf("u1=%d", wanted)})
	}
}

func TestDurableRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"K": {Max: ptr(100)}}})
		ctx := t.Context()
		wantRefused(t, r.SubmitDurable(ctx, "Nope", sub("u1", 1)), "board", board.ErrUnknownBoard)
		wantRefused(t, r.SubmitDurable(ctx, "K", sub("a b", 1)), "key", board.ErrName)
		wantRefused(t, r.SubmitDurable(ctx, "K", store.Submission{Key: "u1", Meta: make([]byte, store.MaxMeta+1)}), "meta", store.ErrTooLarge)
		err := r.SubmitDurable(ctx, "K", sub("u1", 1), sub("u2", 101), sub("u3", 3))
		wantRefused(t, err, "entries[1].score", board.ErrLimit)
		want(t, "the others are stored", r.stored("K"), []string{"u3=3", "u1=1"})
		if err := r.SubmitDurable(ctx, "K"); err != nil {
			t.Errorf("no entries: %v", err)
		}
	})
}

func TestDurableOfASealedBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"K": {}}})
		r.submit("K", "u1", 1)
		r.flush()
		if _, err := r.store.Boards.Seal(t.Context(), "K"); err != nil {
			t.Fatal(err)
		}
		if err := r.SubmitDurable(t.Context(), "K", sub("u1", 5)); !errors.Is(err, store.ErrSealed) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("sealed: %v", err)
		}
		wantRefused(t, r.SubmitDurable(t.Context(), "K", sub("u1", 5)), "board", store.ErrSealed)
	})
}

// When the seal came after a write whose answer was lost, nobody knows.
func TestDurableOfABoardSealedAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"K": {}}})
		r.store.failNext("merge", lost)
		got := r.durably(t.Context(), "K", sub("u1", 5))
		synctest.Wait()
		if _, err := r.store.Boards.Seal(t.Context(), "K"); err != nil {
			t.Fatal(err)
		}
		if err := got(); !errors.Is(err, store.ErrSealed) || !errors.Is(err, store.ErrUnknown) {
			t.Errorf("got %v, want sealed and unknown", err)
		}
	})
}

func TestDurableSumThatOverflows(t *testing.T) {
	for what, f := range map[string]fault{"answered": {}, "the first answer is lost": lost} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{Boards: boards{"K": {Rule: store.Sum}}})
				if err := r.SubmitDurable(t.Context(), "K", sub("u1", math.MaxInt64-1)); err != nil {
					t.Fatal(err)
				}
				r.store.failNext("merge", f)
				err := r.SubmitDurable(t.Context(), "K", sub("u1", 5), sub("u2", 7))
				if !errors.Is(err, board.ErrOverflow) || errors.Is(err, store.ErrUnknown) != (f.err != nil) {
					t.Errorf("got %v", err)
				}
				want(t, "stored", r.stored("K"), []string{fmt.Sprintf("u1=%d", math.MaxInt64-1), "u2=7"})
			})
		})
	}
}

func TestDurableIsDroppedAfterMaxWriteAttempts(t *testing.T) {
	for what, c := range map[string]struct {
		faults  []fault
		unknown bool
	}{
		"not done":         {[]fault{notDone, notDone}, false},
		"once in doubt":    {[]fault{vanish, notDone}, true},
		"in doubt at last": {[]fault{notDone, vanish}, true},
	} {
		for _, rule := range []store.Rule{store.Best, store.Sum} {
			t.Run(fmt.Sprintf("%s/%v", what, rule), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := start(t, &board.Options{MaxWriteAttempts: 2, Boards: boards{"K": {Rule: rule}}})
					r.store.failNext("merge", c.faults...)
					err := r.SubmitDurable(t.Context(), "K", sub("u1", 5))
					if !errors.Is(err, board.ErrAttempts) || errors.Is(err, store.ErrUnknown) != c.unknown {
						t.Errorf("got %v, want unknown %v", err, c.unknown)
					}
				})
			})
		}
	}
}

// The end of the context ends the waiting, not the writing.
func TestDurableWhoseCallerGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"K": {}}})
		r.store.failAll("merge", notDone)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := r.SubmitDurable(ctx, "K", sub("u1", 5), sub("u2", 5))
		var open *board.OpenError
		if !errors.As(err, &open) || store.OutcomeOf(err) != store.Unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		want(t, "the keys that are open", open.Keys, []string{"u1", "u2"})
		if !strings.Contains(err.Error(), "stays in the queue") {
			t.Errorf("the error says %q", err)
		}
		r.store.setRule(nil)
		later(time.Minute)
		want(t, "stored in the end", len(r.stored("K")), 2)
	})
}

func TestDurableAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: time.Hour, CloseTimeout: 2050 * time.Millisecond, Boards: boards{"K": {}, "L": {}}})
		r.store.setRule(func(c call) fault {
			switch {
			case c.Op == "merge" && c.Board == "K":
				return notDone
			case c.Op == "merge":
				return fault{delay: 100 * time.Millisecond}
			}
			return fault{}
		})
		fails := r.durably(t.Context(), "K", sub("u1", 5))
		synctest.Wait()
		written := r.durably(t.Context(), "L", sub("u1", 5))
		synctest.Wait()
		got, err := r.Close(t.Context())
		wantReport(t, got, err, board.Report{Remaining: 1, Failed: 8}, board.ErrDeadline)
		if err := fails(); !errors.Is(err, board.ErrClosed) || store.OutcomeOf(err) != store.Unknown || strings.Contains(err.Error(), "stays") {
			t.Errorf("what could not be written: %v", err)
		}
		if err := written(); err != nil {
			t.Errorf("what was written: %v", err)
		}
		wantRefused(t, r.SubmitDurable(t.Context(), "K", sub("u1", 5)), "service", board.ErrClosed)
	})
}

func TestDurableThatIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: -1, Boards: boards{"K": {}}})
		remove := r.durably(t.Context(), "K", sub("u1", 5))
		drop := r.durably(t.Context(), "K", sub("u2", 5))
		synctest.Wait()
		if _, err := r.Remove(t.Context(), "K", "u1"); err != nil {
			t.Fatal(err)
		}
		if err := r.Drop(t.Context(), "K"); err != nil {
			t.Fatal(err)
		}
		for _, got := range []func() error{remove, drop} {
			if err := got(); !errors.Is(err, board.ErrRemoved) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// What was removed after a write whose answer was lost may be there after all.
func TestDurableThatIsRemovedInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"K": {}}})
		r.store.failNext("merge", late)
		got := r.durably(t.Context(), "K", sub("u1", 5))
		synctest.Wait()
		if _, err := r.Remove(t.Context(), "K", "u1"); err != nil {
			t.Fatal(err)
		}
		if err := got(); !errors.Is(err, board.ErrRemoved) || store.OutcomeOf(err) != store.Unknown {
			t.Errorf("got %v", err)
		}
	})
}

// While the store is down it is not asked more often because somebody waits.
func TestDurableKeepsToTheRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: -1, Boards: boards{"K": {}, "Other": {}}})
		r.store.setRule(func(c call) fault {
			if c.Op == "merge" && c.Board == "K" {
				return notDone
			}
			return fault{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all []func() error
		for i := range 60 {
			all = append(all, r.durably(ctx, "K", sub("u1", int64(i))))
			if err := r.SubmitDurable(ctx, "Other", sub("u1", int64(i))); err != nil {
				t.Fatal(err)
			}
			later(time.Second)
		}
		for _, got := range all {
			if err := got(); err == nil {
				t.Error("answered that it is stored")
			}
		}
		n := 0
		for _, c := range r.store.did("merge") {
			if c.Board == "K" {
				n++
			}
		}
		if n > 9 {
			t.Errorf("%d writes in a minute of failures", n)
		}
		r.store.setRule(nil)
	})
}

// With a Backend, what fails is tried once in FlushEvery, however often others hurry.
func TestDurableOnABackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := submitShelf{newShelf()}
		r := shelved(t, b, board.Options{MaxWriteAttempts: 4, Boards: boards{"K": {}}})
		b.onPut = func(_ context.Context, w put) error {
			if w.Key == "bad" {
				return errShut
			}
			return nil
		}
		bad := r.durably(t.Context(), "K", sub("bad", 1))
		for i := range 100 {
			if err := r.SubmitDurable(t.Context(), "K", sub("good", int64(i))); err != nil {
				t.Fatal(err)
			}
			later(100 * time.Millisecond)
		}
		if err := bad(); !errors.Is(err, board.ErrAttempts) {
			t.Errorf("the bad one: %v", err)
		}
		times := []float64{}
		for _, w := range b.puts() {
			if w.Key == "bad" {
				times = append(times, w.At)
			}
		}
		want(t, "attempts", times, []float64{0, 15, 30, 45})
	})
}

// With a negative FlushEvery it waits for FlushNow.
func TestDurableWithoutWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: -1, Boards: boards{"K": {}}})
		got := r.durably(t.Context(), "K", sub("u1", 5))
		later(time.Hour)
		want(t, "stored", r.stored("K"), []string{})
		r.flush()
		if err := got(); err != nil {
			t.Fatal(err)
		}
	})
}

// More than a window takes: the next follows at once.
func TestDurableBeyondOneWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: time.Hour, WritesPerFlush: 10, Boards: boards{"K": {}}})
		var entries []store.Submission
		for i := range 95 {
			entries = append(entries, sub(fmt.Sprintf("u%d", i), int64(i)))
		}
		if err := r.SubmitDurable(t.Context(), "K", entries...); err != nil {
			t.Fatal(err)
		}
		want(t, "writes", len(r.store.did("merge")), 10)
		want(t, "stored", len(r.stored("K")), 95)
		want(t, "time", time.Since(r.store.start), 0)
	})
}

// A budget that is spent is not asked again and again.
func TestDurableWithoutBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		r := start(t, &board.Options{Budget: func() int { looks++; return looks / 10 }, Boards: boards{"K": {}}})
		if err := r.SubmitDurable(t.Context(), "K", sub("u1", 1)); err != nil {
			t.Fatal(err)
		}
		want(t, "time", time.Since(r.store.start), 9*time.Second)
	})
}

// The list of who waits with a value is bounded by who still waits.
func TestThoseWhoHaveGoneAreForgotten(t *testing.T) {
	var l board.Tickets
	most := 0
	for i := range 10_000 {
		most = max(most, l.Join(i%1000 == 0))
	}
	if most > 64 {
		t.Errorf("%d are listed for 10 who wait", most)
	}
	want(t, "told", l.Settle(), 10)
}

// Many at once, through failures and lost answers: each sum counts once, and what was
// answered is there.
func TestDurableFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: -1, Boards: boards{"Coins": {Rule: store.Sum}, "Kills": {}}})
		n := 0
		faults := []fault{{}, lost, {}, notDone, {}, vanish, late}
		r.store.setRule(func(c call) fault {
			if c.Op != "merge" {
				return fault{}
			}
			n++
			f := faults[n%len(faults)]
			f.delay = time.Duration(n%5) * 10 * time.Millisecond
			return f
		})
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for i := range 25 {
					key := fmt.Sprintf("u%d", (g+i)%5)
					score := int64(g*100 + i)
					if err := errors.Join(
						r.SubmitDurable(t.Context(), "Coins", sub(key, 1)),
						r.SubmitDurable(t.Context(), "Kills", sub(key, score)),
					); err != nil {
						t.Error(err)
					}
					r.store.land()
					if got := score2(r, "Kills", key); got < score {
						t.Errorf("%s: %d was acknowledged, %d is stored", key, score, got)
					}
				}
			})
		}
		wg.Wait()
		sum := int64(0)
		for i := range 5 {
			sum += score2(r, "Coins", fmt.Sprintf("u%d", i))
		}
		want(t, "the sum", sum, 16*25)
	})
}

// score2 is what is stored of a key.
func score2(r *rig, name, key string) int64 {
	got, err := r.store.Boards.Scores(context.WithoutCancel(r.t.Context()), name, key)
	if err != nil {
		r.t.Error(err)
	}
	return got[key].Score
}
