package storetest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// modelOf merges the scores 30, 20, 20, 10 under a, b, c and d.
func modelOf(t *testing.T) *storetest.ModelBoard {
	t.Helper()
	m := storetest.NewModelBoard(store.Descending)
	if _, err := m.Merge(best(submission("a", 30), submission("b", 20), submission("c", 20), submission("d", 10))); err != nil {
		t.Fatal(err)
	}
	return m
}

// shown is the board as "rank.key=score", and its counts.
func shown(m *storetest.ModelBoard, mode store.RankMode) string {
	text := ""
	for _, s := range m.Ranked(mode) {
		text += fmt.Sprintf("%d.%s=%d ", s.Rank, s.Key, s.Score)
	}
	info := m.Info()
	return fmt.Sprintf("%sof %d, hidden %d", text, info.Count, info.Hidden)
}

func TestModelRankModes(t *testing.T) {
	m := modelOf(t)
	for mode, want := range map[store.RankMode]string{
		store.Ordinal:     "1.a=30 2.b=20 3.c=20 4.d=10 of 4, hidden 0",
		store.Competition: "1.a=30 2.b=20 2.c=20 4.d=10 of 4, hidden 0",
		store.Dense:       "1.a=30 2.b=20 2.c=20 3.d=10 of 4, hidden 0",
	} {
		if got := shown(m, mode); got != want {
			t.Errorf("%v: %s, want %s", mode, got, want)
		}
	}
	page := m.Page(2, 5, store.Competition)
	if page.Offset != 2 || len(page.Entries) != 2 || page.Entries[0].Rank != 2 || page.Entries[1].Rank != 4 {
		t.Errorf("a page of ties is %+v", page)
	}
	if around := m.Around("c", 0, store.Dense); around.Offset != 2 || len(around.Entries) != 1 || around.Entries[0].Rank != 2 {
		t.Errorf("around c is %+v", around)
	}
	if beyond := m.Page(4, 5, store.Dense); beyond.Offset != 0 || len(beyond.Entries) != 0 {
		t.Errorf("a page beyond the end is %+v", beyond)
	}
}

func TestModelHides(t *testing.T) {
	m := modelOf(t)
	hide := func(hidden bool, want int, keys ...string) {
		t.Helper()
		before := m.Info().Sequence
		n, err := m.Hide(hidden, keys...)
		if after := m.Info().Sequence; n != want || err != nil || (after > before) != (n > 0) {
			t.Errorf("Hide %q = %d, %v, want %d; the sequence was %d and is %d", keys, n, err, want, before, after)
		}
	}
	look := func(want string) {
		t.Helper()
		if got := shown(m, store.Ordinal); got != want {
			t.Errorf("the board is %s, want %s", got, want)
		}
	}
	hide(true, 2, "b", "x")
	hide(true, 0, "b", "x")
	hide(false, 0, "a", "nobody")
	look("1.a=30 2.c=20 3.d=10 of 3, hidden 2")
	mergeAll(t, m, []modelStep{{best(submission("b", 25), submission("x", 50)), []store.Change{
		{Effect: store.Changed, Old: 20, New: 25}, {Effect: store.Created, New: 50},
	}}})
	hide(true, 1, "y")
	want := []store.HiddenEntry{
		{Entry: store.Entry{Key: "b", Score: 25, Sequence: 6}, Scored: true},
		{Entry: store.Entry{Key: "x", Score: 50, Sequence: 7}, Scored: true},
		{Entry: store.Entry{Key: "y"}},
	}
	if diff := cmp.Diff(want, m.Hidden("", 9)); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:2], m.Hidden("b", 1)); diff != "" {
		t.Errorf("hidden after b (-want +got):\n%s", diff)
	}
	if n, err := m.Remove("x", "y"); n != 1 || err != nil {
		t.Errorf("Remove = %d, %v", n, err)
	}
	look("1.a=30 2.c=20 3.d=10 of 3, hidden 3")
	hide(false, 2, "b", "x")
	look("1.a=30 2.b=25 3.c=20 4.d=10 of 4, hidden 1")
	if m.Seal(); m.Info().Hidden != 1 {
		t.Errorf("sealed it hides %d", m.Info().Hidden)
	}
	if _, err := m.Hide(true, "y"); !errors.Is(err, store.ErrSealed) {
		t.Errorf("Hide = %v", err)
	}
}

func TestModelHidesNotTooMany(t *testing.T) {
	m := modelOf(t)
	keys := make([]string, store.MaxHidden-1)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	if n, err := m.Hide(true, keys...); n != len(keys) || err != nil {
		t.Fatalf("Hide = %d, %v", n, err)
	}
	if n, err := m.Hide(true, "a", "b"); n != 0 || !errors.Is(err, store.ErrTooLarge) || m.Info().Count != 4 {
		t.Errorf("Hide of one too many = %d, %v", n, err)
	}
	if n, err := m.Hide(true, "a", keys[0]); n != 1 || err != nil || m.Info().Hidden != store.MaxHidden {
		t.Errorf("Hide of the last = %d, %v", n, err)
	}
}

func TestModelWalks(t *testing.T) {
	m := modelOf(t)
	step := func(from store.Cursor, limit int, want string) store.Cursor {
		t.Helper()
		page, next, err := m.Walk(from, limit)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%d of %d:", page.Offset, page.Total)
		for _, s := range page.Entries {
			got += fmt.Sprintf(" %d.%s=%d", s.Rank, s.Key, s.Score)
		}
		if got != want || page.Info != (store.BoardInfo{Order: store.Descending, Count: next.Total, Sequence: next.Version}) {
			t.Errorf("the walk shows %q and %+v, want %q", got, page.Info, want)
		}
		return next
	}
	first := step(store.Cursor{}, 2, "0 of 4: 1.a=30 2.b=20")
	if first.Seen != 2 || first.Score != 20 || first.Sequence != 2 || first.Done() {
		t.Errorf("the cursor is %+v", first)
	}
	if _, err := m.Merge(best(submission("d", 99), submission("e", 50))); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Hide(true, "c", "a"); err != nil {
		t.Fatal(err)
	}
	second := step(store.Cursor{}, 9, "0 of 3: 1.d=99 2.e=50 3.b=20")
	if _, err := m.Remove("b", "d"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		last := step(first, 2, "2 of 4: 3.c=20 4.d=10")
		if !last.Done() || !second.Done() {
			t.Errorf("the walks are not done: %+v and %+v", last, second)
		}
		step(last, 2, "0 of 4:")
	}
	empty := storetest.NewModelBoard(store.Ascending)
	page, next, err := empty.Walk(store.Cursor{}, 5)
	if err != nil || !next.Done() || len(page.Entries) != 0 {
		t.Errorf("the walk of an empty board: %+v, %+v, %v", page, next, err)
	}
	first.Version++ // nobody walked it
	if _, _, err := m.Walk(first, 2); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a version that nobody walked: %v", err)
	}
	if _, _, err := m.Walk(store.Cursor{Generation: "other", Version: second.Version, Total: second.Total}, 2); !errors.Is(err, store.ErrCursor) {
		t.Errorf("another board's cursor: %v", err)
	}
}
