package storetest

import (
	"bytes"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

// hide hides or shows keys in both and compares the answers.
func (w *twin) hide(t tester, hidden bool, keys ...string) {
	t.Helper()
	wanted, wantErr := w.model.Hide(hidden, keys...)
	n, err := w.boards.Hide(t.Context(), w.name, hidden, keys...)
	wantWord(t, "Hide", err, wantErr)
	if n != wanted {
		t.Fatalf("Hide %v %q = %d, want %d", hidden, keys, n, wanted)
	}
}

// compareHidden compares the hidden keys with the model's, in pages of each size, and looks
// for them where they must not be.
func (w *twin) compareHidden(t tester) {
	t.Helper()
	wanted := w.model.Hidden("", store.MaxPage)
	for _, size := range []int{1, 3, store.MaxPage} {
		var all []store.HiddenEntry
		for after := ""; ; after = all[len(all)-1].Key {
			page, err := w.boards.Hidden(t.Context(), w.name, after, size)
			wantWord(t, "Hidden", err, nil)
			if all = append(all, page...); len(page) < size || len(all) > len(wanted) {
				break
			}
		}
		if !slices.EqualFunc(wanted, all, alikeHidden) {
			t.Fatalf("hidden keys of %s by %d (-want +got):\n%s", w.name, size, cmp.Diff(wanted, all, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(store.Entry{}, "Sequence")))
		}
	}
	for _, h := range wanted {
		w.wantNoEntry(t, h.Key)
	}
}

// alikeHidden compares but for the numbers of sequences.
func alikeHidden(a, b store.HiddenEntry) bool {
	return a.Scored == b.Scored && a.Scored == (b.Sequence > 0) &&
		a.Key == b.Key && a.Score == b.Score && bytes.Equal(a.Meta, b.Meta) && (a.Meta == nil) == (b.Meta == nil)
}

// wantNoEntry fails when a read of one key finds one.
func (w *twin) wantNoEntry(t tester, key string) {
	t.Helper()
	s, found, err := w.boards.Standing(t.Context(), w.name, key, store.Ordinal)
	wantWord(t, "Standing", err, nil)
	if diff := cmp.Diff(store.Standing{}, s); diff != "" || found {
		t.Fatalf("Standing of %s, which is hidden or has no entry, found: %v (-want +got):\n%s", key, found, diff)
	}
	scores, err := w.boards.Scores(t.Context(), w.name, key)
	wantWord(t, "Scores", err, nil)
	page, err := w.boards.Around(t.Context(), w.name, key, 2, store.Ordinal)
	wantWord(t, "Around", err, nil)
	if len(scores) != 0 || len(page.Entries) != 0 || page.Offset != 0 || page.Total != w.model.Info().Count {
		t.Fatalf("%s, which is hidden or has no entry, has the scores %v, and around it are %+v", key, scores, page)
	}
}

// stroll is a walk, and what it has to show.
type stroll struct {
	of     *twin
	all    []store.Standing // the whole board as it was when the walk began
	info   store.BoardInfo
	cursor store.Cursor
}

// beginStroll remembers the board as it is. The walk begins with the first step, before which
// the board must not change.
func beginStroll(t tester, w *twin) *stroll {
	t.Helper()
	all := w.compare(t)
	return &stroll{of: w, all: all, info: store.BoardInfo{Order: w.info.Order, Generation: w.info.Generation, Count: w.info.Count, Sequence: w.info.Sequence}}
}

// step walks on by at most limit entries and compares the page and the cursor with the board
// as it was. It tells whether the walk is done.
func (s *stroll) step(t tester, limit int) (done bool) {
	t.Helper()
	page, next, err := s.of.boards.Walk(t.Context(), s.of.name, s.cursor, limit)
	wantWord(t, "Walk", err, nil)
	seen, total := s.cursor.Seen, int64(len(s.all))
	want := store.Page{Entries: s.all[seen:min(seen+int64(limit), total)], Total: total, Info: s.info}
	wantNext := store.Cursor{Generation: s.info.Generation, Version: s.info.Sequence, Total: total, Seen: seen, Score: s.cursor.Score, Sequence: s.cursor.Sequence, Tag: s.cursor.Tag}
	if s.cursor == (store.Cursor{}) {
		wantNext.Tag = next.Tag // the engine's own matter, but one for the whole walk
	}
	if n := len(want.Entries); n > 0 {
		last := want.Entries[n-1]
		want.Offset = seen
		wantNext.Seen, wantNext.Score, wantNext.Sequence = last.Rank, last.Score, last.Sequence
	}
	if diff := cmp.Diff(want, page, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("Walk of %s at %+v by %d (-want +got):\n%s", s.of.name, s.cursor, limit, diff)
	}
	if next != wantNext {
		t.Fatalf("Walk of %s at %+v by %d goes on at %+v, want %+v", s.of.name, s.cursor, limit, next, wantNext)
	}
	s.cursor = next
	return next.Done()
}

// finish walks to the end, and once more.
func (s *stroll) finish(t tester, limit int) {
	t.Helper()
	for n := 0; !s.step(t, limit); n++ {
		if n > len(s.all) {
			t.Fatalf("the walk of %s does not end: %+v", s.of.name, s.cursor)
		}
	}
	s.step(t, limit)
}

// wantLost fails unless the walk cannot go on.
func (s *stroll) wantLost(t tester) {
	t.Helper()
	page, next, err := s.of.boards.Walk(t.Context(), s.of.name, s.cursor, 10)
	wantWord(t, "Walk", err, store.ErrCursor)
	if diff := cmp.Diff(store.Page{}, page); diff != "" || next != s.cursor {
		t.Fatalf("a Walk that fails answers %+v (-want +got):\n%s", next, diff)
	}
}
