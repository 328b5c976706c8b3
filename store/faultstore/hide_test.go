package faultstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// hidden tells whether the board hides the key.
func (w *world) hidden(key string) bool {
	w.t.Helper()
	listed, err := w.plain.Boards.Hidden(w.t.Context(), "board", "", store.MaxPage)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range listed {
		if h.Key == key {
			return true
		}
	}
	return false
}

func TestHideUnderEachFault(t *testing.T) {
	t.Run("hide", func(t *testing.T) {
		writeUnder(t, "hide", func(ctx context.Context, w *world) error {
			keys := []string{"key"}
			n, err := w.parts.Boards.Hide(ctx, "board", true, keys...)
			keys[0] = "other" // the caller's, also when the call is still on its way
			if (err == nil) != (n == 1) {
				w.t.Errorf("Hide = %d, %v", n, err)
			}
			return err
		}, func(w *world) bool {
			if w.hidden("other") {
				w.t.Error("the other key is hidden")
			}
			return w.hidden("key")
		})
	})
	t.Run("show", func(t *testing.T) {
		writeUnder(t, "hide", func(ctx context.Context, w *world) error {
			if _, err := w.plain.Boards.Hide(ctx, "board", true, "key"); err != nil {
				return err
			}
			_, err := w.parts.Boards.Hide(ctx, "board", false, "key")
			return err
		}, func(w *world) bool { return !w.hidden("key") })
	})
}

// A Hide whose outcome is unknown is sent again: it counts what is left to do.
func TestHideOfUnknownOutcomeAgain(t *testing.T) {
	for kind, left := range map[faultstore.Kind]int{faultstore.FailAfter: 1, faultstore.Late: 3} {
		w := newWorld(t, &faultstore.Options{Rule: always("hide", faultstore.Fault{Kind: kind})})
		if _, err := w.parts.Boards.Hide(t.Context(), "board", true, "a", "b"); store.OutcomeOf(err) != store.Unknown {
			t.Fatalf("%v: Hide = %v, want unknown", kind, err)
		}
		w.faults.SetRule(nil)
		if n, err := w.parts.Boards.Hide(t.Context(), "board", true, "a", "b", "c"); n != left || err != nil {
			t.Errorf("%v: again = %d, %v, want %d", kind, n, err, left)
		}
		w.faults.Land()
		if !w.hidden("a") || !w.hidden("b") || !w.hidden("c") {
			t.Errorf("%v: not everybody is hidden", kind)
		}
	}
}

// A late Hide lands after a Show that was answered: "or still to be applied" is meant so.
func TestLateHideAfterShow(t *testing.T) {
	w := newWorld(t, &faultstore.Options{Rule: always("hide", faultstore.Fault{Kind: faultstore.Late})})
	if _, err := w.parts.Boards.Hide(t.Context(), "board", true, "key"); store.OutcomeOf(err) != store.Unknown {
		t.Fatalf("Hide = %v, want unknown", err)
	}
	w.faults.SetRule(nil)
	if n, err := w.parts.Boards.Hide(t.Context(), "board", false, "key"); n != 0 || err != nil || w.hidden("key") {
		t.Fatalf("Show = %d, %v; hidden: %v", n, err, w.hidden("key"))
	}
	w.faults.Land()
	if !w.hidden("key") {
		t.Error("the late Hide did not land")
	}
}

// A Check that repairs is a write: its outcome may be unknown.
func TestRepairUnderEachFault(t *testing.T) {
	for _, c := range kindCases() {
		t.Run(c.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &faultstore.Options{Rule: always("check", c.fault)})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := w.parts.Boards.Check(ctx, "board", true); store.OutcomeOf(err) != c.outcome {
					t.Errorf("Check = %v, want %v", err, c.outcome)
				}
				w.faults.Land()
			})
		})
	}
}

// A walk whose answer is lost goes on from where it was: the same cursor shows the same.
func TestWalkGoesOnAfterLostAnswers(t *testing.T) {
	w := newWorld(t, &faultstore.Options{})
	batch := store.Batch{Rule: store.Last}
	for i, key := range []string{"a", "b", "c", "d", "e"} {
		batch.Entries = append(batch.Entries, store.Submission{Key: key, Score: int64(-i)})
	}
	if _, err := w.plain.Boards.Merge(t.Context(), "board", batch); err != nil {
		t.Fatal(err)
	}
	var (
		cursor store.Cursor
		keys   []string
	)
	for n := uint64(1); !cursor.Done(); n++ {
		for _, kind := range []faultstore.Kind{faultstore.FailAfter, faultstore.FailBefore, faultstore.Late} {
			w.faults.SetRule(always("walk", faultstore.Fault{Kind: kind}))
			page, next, err := w.parts.Boards.Walk(t.Context(), "board", cursor, 2)
			if !errors.Is(err, store.ErrUnavailable) || next != cursor || len(page.Entries) != 0 {
				t.Fatalf("%v: Walk = %+v, %+v, %v, want unavailable and the cursor as it was", kind, page, next, err)
			}
			if n > 1 { // the walk has begun
				for i := range batch.Entries {
					batch.Entries[i].Score, batch.Entries[i].Stamp.Epoch = int64(i), n
				}
				if _, err := w.plain.Boards.Merge(t.Context(), "board", batch); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.faults.SetRule(nil)
		page, next, err := w.parts.Boards.Walk(t.Context(), "board", cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Entries {
			keys = append(keys, s.Key)
		}
		cursor = next
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, keys); diff != "" {
		t.Errorf("the walk (-want +got):\n%s", diff)
	}
}
