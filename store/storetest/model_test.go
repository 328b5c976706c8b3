package storetest_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

func submission(key string, score int64) store.Submission {
	return store.Submission{Key: key, Score: score}
}

func stamped(score int64, epoch, revision uint64) store.Submission {
	return store.Submission{Key: "a", Score: score, Stamp: store.Stamp{Epoch: epoch, Revision: revision}}
}

// mergeAll merges each batch and compares its changes, computed by hand.
func mergeAll(t *testing.T, m *storetest.ModelBoard, steps []modelStep) {
	t.Helper()
	for i, step := range steps {
		changes, err := m.Merge(step.batch)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.changes, changes); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

type modelStep struct {
	batch   store.Batch
	changes []store.Change
}

func best(entries ...store.Submission) store.Batch {
	return store.Batch{Rule: store.Best, Entries: entries}
}

func last(entries ...store.Submission) store.Batch {
	return store.Batch{Rule: store.Last, Entries: entries}
}

func sum(source string, n uint64, entries ...store.Submission) store.Batch {
	return store.Batch{Rule: store.Sum, Source: source, N: n, Entries: entries}
}

func TestModelRules(t *testing.T) {
	created := func(v int64) store.Change { return store.Change{Effect: store.Created, New: v} }
	changed := func(old, v int64) store.Change { return store.Change{Effect: store.Changed, Old: old, New: v} }
	kept := func(v int64) store.Change { return store.Change{Effect: store.Kept, Old: v, New: v} }
	overflow := func(v int64) store.Change { return store.Change{Effect: store.Overflow, Old: v, New: v} }
	m := storetest.NewModelBoard(store.Ascending)
	mergeAll(t, m, []modelStep{
		{best(submission("a", 5), submission("b", 6)), []store.Change{created(5), created(6)}},
		{best(submission("a", 5), submission("b", 5)), []store.Change{kept(5), changed(6, 5)}},
		{best(submission("a", 7)), []store.Change{kept(5)}},
		{last(stamped(9, 1, 1)), []store.Change{changed(5, 9)}},
		{last(stamped(3, 1, 1)), []store.Change{kept(9)}},
		{last(stamped(9, 2, 0)), []store.Change{kept(9)}},
		{last(stamped(3, 1, 9)), []store.Change{kept(9)}},
		{sum("s", 2, submission("a", math.MaxInt64), submission("b", -6), submission("c", 1)), []store.Change{overflow(9), changed(5, -1), created(1)}},
		{sum("s", 2, submission("b", -6), submission("d", 1)), []store.Change{kept(-1), {Effect: store.Kept}}},
		{sum("s", 1, submission("b", -6)), []store.Change{kept(-1)}},
		{sum("t", 1, submission("b", 1), submission("a", math.MinInt64)), []store.Change{changed(-1, 0), changed(9, math.MinInt64+9)}},
		{sum("t", 2, submission("a", -10)), []store.Change{overflow(math.MinInt64 + 9)}},
	})
	if got := order(m); got != "a b c" {
		t.Errorf("order %q, want a b c", got)
	}
}

func order(m *storetest.ModelBoard) string {
	var keys []string
	for _, s := range m.Standings() {
		keys = append(keys, s.Key)
	}
	return strings.Join(keys, " ")
}

func TestModelOrder(t *testing.T) {
	for o, want := range map[store.Order]string{store.Descending: "d c a b e", store.Ascending: "e c a b d"} {
		m := storetest.NewModelBoard(o)
		for _, s := range []store.Submission{submission("c", 2), submission("a", 2), submission("b", 2), submission("d", 3), submission("e", -1)} {
			if _, err := m.Merge(best(s)); err != nil {
				t.Fatal(err)
			}
		}
		if got := order(m); got != want {
			t.Errorf("%v: %q, want %q", o, got, want)
		}
		for i, s := range m.Standings() {
			if one, ok := m.Standing(s.Key, store.Ordinal); !ok || s.Rank != int64(i)+1 || !cmp.Equal(one, s) {
				t.Errorf("%v: standing %d is %+v, %+v", o, i, s, one)
			}
		}
	}
}

func TestModelReads(t *testing.T) {
	m := storetest.NewModelBoard(store.Descending)
	if _, err := m.Merge(best(submission("a", 5), submission("b", 4), submission("c", 3), submission("d", 2), submission("e", 1))); err != nil {
		t.Fatal(err)
	}
	keys := func(p store.Page) (text string) {
		for _, s := range p.Entries {
			text += s.Key
		}
		return text
	}
	for got, want := range map[string]string{
		keys(m.Page(0, 2, store.Ordinal)):               "ab",
		keys(m.Page(3, 9, store.Ordinal)):               "de",
		keys(m.Page(5, 1, store.Ordinal)):               "",
		keys(m.Page(math.MaxInt64, 3, store.Ordinal)):   "",
		keys(m.Around("a", 1, store.Ordinal)) + " a":    "ab a",
		keys(m.Around("c", 1, store.Ordinal)) + " c":    "bcd c",
		keys(m.Around("e", 2, store.Ordinal)) + " e":    "cde e",
		keys(m.Around("c", 0, store.Ordinal)) + " c0":   "c c0",
		keys(m.Around("d", 99, store.Ordinal)) + " all": "abcde all",
		keys(m.Around("x", 2, store.Ordinal)) + " none": " none",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if p := m.Around("x", 2, store.Ordinal); p.Total != 5 || p.Info.Count != 5 {
		t.Errorf("around nobody: %+v, want total 5", p)
	}
	if _, ok := m.Standing("x", store.Ordinal); ok {
		t.Error("x has a standing")
	}
}

func TestModelMetaRemoveAndSeal(t *testing.T) {
	m := storetest.NewModelBoard(store.Descending)
	meta := []byte("meta")
	for _, s := range []store.Submission{{Key: "a", Score: 1, Meta: meta}, {Key: "a", Score: 1, Meta: []byte("same")}, {Key: "b", Score: 1, Meta: []byte{}}} {
		if _, err := m.Merge(best(s)); err != nil {
			t.Fatal(err)
		}
	}
	clear(meta)
	all := m.Standings()
	if string(all[0].Meta) != "meta" || all[1].Meta != nil {
		t.Errorf("metadata %q and %v", all[0].Meta, all[1].Meta)
	}
	clear(all[0].Meta)
	if s, _ := m.Standing("a", store.Ordinal); string(s.Meta) != "meta" {
		t.Error("metadata is shared")
	}
	before := m.Info()
	if n, err := m.Remove("x", "a"); n != 1 || err != nil {
		t.Errorf("Remove = %d, %v", n, err)
	}
	if n, err := m.Remove("x"); n != 0 || err != nil {
		t.Errorf("Remove of nobody = %d, %v", n, err)
	}
	after := m.Info()
	if diff := cmp.Diff(store.BoardInfo{Order: store.Descending, Count: 1, Sequence: before.Sequence + 1}, after, cmpopts.IgnoreFields(store.BoardInfo{}, "Generation")); diff != "" {
		t.Errorf("after Remove (-want +got):\n%s", diff)
	}
	if sealed := m.Seal(); !sealed.Sealed || sealed.Count != 1 {
		t.Errorf("Seal = %+v", sealed)
	}
	if _, err := m.Merge(best(submission("b", 9))); !errors.Is(err, store.ErrSealed) {
		t.Errorf("Merge = %v", err)
	}
	if _, err := m.Remove("b"); !errors.Is(err, store.ErrSealed) || order(m) != "b" {
		t.Errorf("Remove = %v", err)
	}
}
