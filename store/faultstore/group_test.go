package faultstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// byKey gives each transaction the fault of its first key.
func byKey(faults map[string]faultstore.Fault) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		if c.Op != "commit" {
			return faultstore.Fault{}
		}
		return faults[c.Keys[0]]
	}
}

// commitKeys commits one transaction for each key and returns the outcomes.
func commitKeys(ctx context.Context, r store.Records, keys ...string) []store.Outcome {
	txs := make([]store.Tx, len(keys))
	for i, key := range keys {
		txs[i] = put(key)
	}
	var outcomes []store.Outcome
	for _, err := range r.Commit(ctx, txs...) {
		outcomes = append(outcomes, store.OutcomeOf(err))
	}
	return outcomes
}

func TestTransactionsOfOneCommitFailApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &faultstore.Options{Rule: byKey(map[string]faultstore.Fault{
			"before": {Kind: faultstore.FailBefore, Delay: time.Second},
			"after":  {Kind: faultstore.FailAfter},
			"late":   {Kind: faultstore.Late, After: time.Hour},
			"slow":   {Delay: 3 * time.Second, Back: 4 * time.Second},
		})})
		keys := []string{"a", "before", "after", "late", "slow", "b"}
		begun := time.Now()
		got := commitKeys(t.Context(), w.parts.Durable, keys...)
		want := []store.Outcome{store.Done, store.NotDone, store.Unknown, store.Unknown, store.Done, store.Done}
		if !slices.Equal(got, want) {
			t.Errorf("outcomes %v, want %v", got, want)
		}
		if took := time.Since(begun); took != 7*time.Second {
			t.Errorf("it took %v, want as long as the slowest, 7s", took)
		}
		for i, applied := range []bool{true, false, true, false, true, true} {
			if w.stored(keys[i]) != applied {
				t.Errorf("%s is stored: %v, want %v", keys[i], !applied, applied)
			}
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if !w.stored("late") {
			t.Error("the late one has not landed")
		}
	})
}

func TestConflictsComeThrough(t *testing.T) {
	w := newWorld(t, &faultstore.Options{Rule: byKey(map[string]faultstore.Fault{"lost": {Kind: faultstore.FailAfter}})})
	absent := func(key string) store.Tx {
		tx := put(key)
		tx[0].If = store.Absent()
		return tx
	}
	r := w.parts.Durable
	r.Commit(t.Context(), absent("a"), absent("lost"))
	errs := r.Commit(t.Context(), absent("a"), absent("lost"), absent("b"))
	conflict, ok := errors.AsType[*store.ConflictError](errs[0])
	if !ok || conflict.Key != "a" {
		t.Errorf("Commit = %v, want a conflict at a", errs[0])
	}
	if !errors.Is(errs[1], store.ErrUnknown) || errors.Is(errs[1], store.ErrConflict) {
		t.Errorf("a lost conflict = %v, want unknown", errs[1])
	}
	if errs[2] != nil {
		t.Errorf("beside conflicts: %v", errs[2])
	}
}

func TestHangHoldsTheWholeCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &faultstore.Options{Rule: byKey(map[string]faultstore.Fault{
			"hang": {Kind: faultstore.Hang}, "applied": {Kind: faultstore.HangApplied},
		})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		got := commitKeys(ctx, w.parts.Durable, "a", "hang", "applied")
		if want := []store.Outcome{store.Done, store.Unknown, store.Unknown}; !slices.Equal(got, want) {
			t.Errorf("outcomes %v, want %v", got, want)
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it took %v, want 1m", took)
		}
		if !w.stored("a") || w.stored("hang") || !w.stored("applied") {
			t.Error("want a and applied stored, hang not")
		}
	})
}

// A crash at one transaction is a crash of the call: before it nothing was sent, after it
// all was.
func TestCrashIsEverybodys(t *testing.T) {
	for kind, want := range map[faultstore.Kind]struct {
		outcome store.Outcome
		applied bool
	}{
		faultstore.Crash:      {store.NotDone, false},
		faultstore.CrashAfter: {store.Unknown, true},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			w := newWorld(t, &faultstore.Options{Rule: byKey(map[string]faultstore.Fault{"crash": {Kind: kind}, "late": {Kind: faultstore.Late}})})
			got := commitKeys(t.Context(), w.parts.Durable, "a", "crash", "b", "late")
			if lateToo := []store.Outcome{want.outcome, want.outcome, want.outcome, want.outcome}; !slices.Equal(got, lateToo) {
				t.Errorf("outcomes %v, want all %v", got, want.outcome)
			}
			for _, key := range []string{"a", "crash", "b"} {
				if w.stored(key) != want.applied {
					t.Errorf("%s is stored: %v, want %v", key, !want.applied, want.applied)
				}
			}
			if w.faults.Land() != 0 || w.stored("late") {
				t.Error("a late one survived the crash")
			}
			if got := commitKeys(t.Context(), w.parts.Durable, "later", "more"); !slices.Equal(got, []store.Outcome{store.NotDone, store.NotDone}) || w.stored("later") {
				t.Errorf("after the crash: %v", got)
			}
		})
	}
}

func TestContextEndsOnTheWay(t *testing.T) {
	for _, c := range []struct {
		fault   faultstore.Fault
		applied bool
	}{{faultstore.Fault{Delay: time.Hour}, false}, {faultstore.Fault{Back: time.Hour}, true}} {
		t.Run(c.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &faultstore.Options{Rule: byKey(map[string]faultstore.Fault{"slow": c.fault})})
				cause := errors.New("gave up")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(cause) })
				errs := w.parts.Durable.Commit(ctx, put("a"), put("slow"), put("b"))
				for i, err := range errs {
					if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, cause) {
						t.Errorf("transaction %d: %v, want unknown because of the cause", i, err)
					}
				}
				if w.stored("a") != c.applied || w.stored("slow") != c.applied {
					t.Errorf("stored: %v, want %v", !c.applied, c.applied)
				}
			})
		})
	}
}

// What the caller changes after the call does not reach a late one.
func TestLateKeepsItsOwnValues(t *testing.T) {
	w := newWorld(t, &faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
		if c.Write {
			return faultstore.Fault{Kind: faultstore.Late}
		}
		return faultstore.Fault{}
	}})
	tx := put("key")
	w.parts.Durable.Commit(t.Context(), tx)
	clear(tx[0].Value)
	tx[0].Key = "other"
	batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "key", Score: 1, Meta: []byte("meta")}}}
	_, err := w.parts.Boards.Merge(t.Context(), "board", batch)
	if store.OutcomeOf(err) != store.Unknown {
		t.Fatalf("Merge = %v, want unknown", err)
	}
	clear(batch.Entries[0].Meta)
	batch.Entries[0].Key = "other"
	if n := w.faults.Land(); n != 2 {
		t.Fatalf("%d landed, want 2", n)
	}
	found, err := w.plain.Durable.Get(t.Context(), "key")
	if err != nil || string(found[0].Value) != "value" {
		t.Errorf("the late record is %q, %v", found[0].Value, err)
	}
	scores, err := w.plain.Boards.Scores(t.Context(), "board", "key")
	if err != nil || string(scores["key"].Meta) != "meta" {
		t.Errorf("the late entry is %+v, %v", scores, err)
	}
}

// Late ones land in the order in which they came, each once.
func TestLandInOrder(t *testing.T) {
	w := newWorld(t, &faultstore.Options{Rule: always("commit", faultstore.Fault{Kind: faultstore.Late})})
	for i := range 5 {
		tx := put("key")
		tx[0].Value = fmt.Append(nil, i)
		w.parts.Durable.Commit(t.Context(), tx)
	}
	if w.stored("key") {
		t.Fatal("it landed by itself")
	}
	if n := w.faults.Land(); n != 5 {
		t.Errorf("%d landed, want 5", n)
	}
	found, err := w.plain.Durable.Get(t.Context(), "key")
	if err != nil || string(found[0].Value) != "4" {
		t.Errorf("the last one is %q, %v, want 4", found[0].Value, err)
	}
	if n := w.faults.Land(); n != 0 {
		t.Errorf("%d landed again", n)
	}
}
