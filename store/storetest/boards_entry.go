package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

func entryCases() []boardsCase {
	return []boardsCase{
		{"metadata is replaced with the score only", metaWithScore},
		{"metadata of every byte and size", metaOfEveryByte},
		{"keys with every byte", entryKeysOfEveryByte},
		{"keys that look alike", entryKeysAlike},
		{"scores and standings of the missing", missingEntries},
		{"scores of many", scoresOfMany},
		{"remove", removeEntries},
		{"what is handed over and got is the caller's", boardCallersMayChange},
	}
}

func withMeta(s store.Submission, meta string) store.Submission {
	s.Meta = []byte(meta)
	return s
}

func metaWithScore(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	expect := func(key, meta string) {
		t.Helper()
		found, err := w.boards.Scores(t.Context(), "board", key)
		ok(t, "Scores", err)
		if got := found[key].Meta; string(got) != meta || (got == nil) != (meta == "") {
			t.Fatalf("metadata of %s is %q (nil: %v), want %q", key, got, got == nil, meta)
		}
		w.compare(t)
	}
	w.best(t, withMeta(entry("k", 5), "first"))
	expect("k", "first")
	w.best(t, withMeta(entry("k", 5), "same score"))
	expect("k", "first")
	w.best(t, withMeta(entry("k", 4), "worse"))
	expect("k", "first")
	w.best(t, withMeta(entry("k", 6), "better"))
	expect("k", "better")
	w.last(t, withMeta(stamped("k", 6, 1, 1), "newer, same score"))
	expect("k", "better")
	w.last(t, withMeta(stamped("k", 5, 1, 0), "older"))
	expect("k", "better")
	w.last(t, withMeta(stamped("k", 5, 1, 2), "newer"))
	expect("k", "newer")
	w.sum(t, "s", 1, withMeta(entry("k", 0), "nothing added"))
	expect("k", "newer")
	w.sum(t, "s", 2, withMeta(entry("k", 1), "added"))
	expect("k", "added")
	w.sum(t, "s", 2, withMeta(entry("k", 1), "resent"))
	expect("k", "added")
	w.best(t, entry("k", 100))
	expect("k", "")
	w.best(t, withMeta(entry("empty", 1), ""))
	expect("empty", "")
}

func metaOfEveryByte(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	all := make([]byte, store.MaxMeta)
	for i := range all {
		all[i] = byte(i)
	}
	w.best(t, withMeta(entry("all", 1), string(all)), withMeta(entry("zero", 2), "\x00"), withMeta(entry("utf-8", 3), "Žluťoučký 魚 🐟"), withMeta(entry("none", 4), ""))
	w.compare(t)
	page, err := w.boards.Around(t.Context(), "board", "zero", 2, store.Ordinal)
	ok(t, "Around", err)
	for _, s := range page.Entries {
		if one, found, err := w.boards.Standing(t.Context(), "board", s.Key, store.Ordinal); err != nil || !found || !bytes.Equal(one.Meta, s.Meta) {
			t.Fatalf("Standing of %s = %q, %v, %v; Around has %q", s.Key, one.Meta, found, err, s.Meta)
		}
	}
}

func entryKeysOfEveryByte(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	var entries []store.Submission
	for b := byte('!'); b <= '~'; b++ {
		entries = append(entries, entry(string([]byte{b}), int64(b%7)), entry("in/"+string([]byte{b})+"/between", int64(b%5)))
	}
	entries = append(entries, entry(strings.Repeat("~", store.MaxEntryKey), 1), entry(strings.Repeat("~", store.MaxEntryKey-1), 1))
	w.best(t, entries...)
	compareEach(t, w)
}

func entryKeysAlike(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Ascending)
	for i, key := range []string{"a", "A", "a%", "a_", "%", "_", "a'", "a\"", "a\\", "a\\\\", "0", "00", "-1", "1e3", "1000", "NULL", "{a}", "[a]", "a*", "a?", "?1", "$1", ":a"} {
		w.best(t, entry(key, int64(i%3)))
	}
	compareEach(t, w)
	w.remove(t, "a", "%", "_")
	compareEach(t, w)
}

// compareEach compares the board with the model, and each entry's Standing and Scores with
// its place on the page.
func compareEach(t *testing.T, w *twin) {
	t.Helper()
	for _, s := range w.compare(t) {
		compareOne(t, w, s)
	}
}

func compareOne(t *testing.T, w *twin, s store.Standing) {
	t.Helper()
	one, found, err := w.boards.Standing(t.Context(), w.name, s.Key, store.Ordinal)
	ok(t, "Standing "+s.Key, err)
	if diff := cmp.Diff(s, one); diff != "" || !found {
		t.Fatalf("Standing of %s, found %v (-page +standing):\n%s", s.Key, found, diff)
	}
	scores, err := w.boards.Scores(t.Context(), w.name, s.Key)
	ok(t, "Scores "+s.Key, err)
	if diff := cmp.Diff(map[string]store.Entry{s.Key: s.Entry}, scores); diff != "" {
		t.Fatalf("Scores of %s (-page +scores):\n%s", s.Key, diff)
	}
}

func missingEntries(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	for _, fill := range []bool{false, true} {
		if fill {
			w.best(t, entry("a", 3), entry("c", 1), entry("zero", 0))
		}
		s, found, err := w.boards.Standing(t.Context(), "board", "b", store.Ordinal)
		ok(t, "Standing", err)
		if diff := cmp.Diff(store.Standing{}, s); diff != "" || found {
			t.Fatalf("Standing of a missing key, found %v (-want +got):\n%s", found, diff)
		}
		scores, err := w.boards.Scores(t.Context(), "board", "b", "zero", "B")
		ok(t, "Scores", err)
		if _, found := scores["zero"]; len(scores) > 1 || found != fill {
			t.Fatalf("Scores = %v, want zero only when it has an entry (%v)", scores, fill)
		}
		page, err := w.boards.Around(t.Context(), "board", "b", 5, store.Ordinal)
		ok(t, "Around", err)
		if info := w.model.Info(); len(page.Entries) != 0 || page.Total != info.Count || page.Info.Count != info.Count {
			t.Fatalf("Around a missing key = %+v, want no entries and total %d", page, info.Count)
		}
	}
}

func scoresOfMany(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	want := make(map[string]store.Entry)
	var (
		entries []store.Submission
		keys    []string
	)
	for i := range store.MaxPage {
		key := fmt.Sprintf("key/%d", i)
		keys = append(keys, key)
		if i%3 != 0 {
			entries = append(entries, withMeta(entry(key, int64(i%11)), key))
		}
	}
	w.best(t, entries...)
	for _, s := range w.compare(t) {
		want[s.Key] = s.Entry
	}
	scores, err := w.boards.Scores(t.Context(), "board", keys...)
	ok(t, "Scores", err)
	if diff := cmp.Diff(want, scores); diff != "" {
		t.Fatalf("Scores (-want +got):\n%s", diff)
	}
}

// removeEntries takes entries out and puts them back: they are the last to reach their score.
func removeEntries(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.best(t, entry("a", 1), entry("b", 1), entry("c", 1), entry("d", 2))
	w.compare(t)
	before := w.info.Sequence
	w.remove(t, "nobody", "none")
	w.remove(t, "b", "nobody", "d")
	w.wantOrder(t, "a c")
	if w.info.Sequence <= before {
		t.Fatalf("Remove left the sequence at %d (was %d): a cache bound to it would not notice", w.info.Sequence, before)
	}
	w.remove(t, "b")
	w.best(t, entry("b", 1), entry("d", 0))
	w.wantOrder(t, "a c b d")
	w.remove(t, "a", "b", "c", "d")
	w.wantOrder(t, "")
	w.best(t, entry("a", -1))
	w.wantOrder(t, "a")
}

// boardCallersMayChange changes all that it handed over and all that it got.
//
// case P11.
func boardCallersMayChange(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w := newTwin(t, b, "board", store.Descending)
	entries := []store.Submission{withMeta(entry("a", 2), "meta of a"), withMeta(entry("b", 1), "meta of b")}
	w.best(t, entries...)
	for i := range entries {
		clear(entries[i].Meta)
		entries[i] = store.Submission{}
	}
	w.compare(t)
	page, err := b.Page(t.Context(), "board", 0, 10, store.Ordinal)
	ok(t, "Page", err)
	around, err := b.Around(t.Context(), "board", "a", 10, store.Ordinal)
	ok(t, "Around", err)
	one, _, err := b.Standing(t.Context(), "board", "a", store.Ordinal)
	ok(t, "Standing", err)
	scores, err := b.Scores(t.Context(), "board", "a", "b")
	ok(t, "Scores", err)
	if diff := cmp.Diff(page, around, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("Page and Around of a whole board (-page +around):\n%s", diff)
	}
	for _, s := range append(append(page.Entries, around.Entries...), one) {
		clear(s.Meta)
	}
	for _, e := range scores {
		clear(e.Meta)
	}
	clear(page.Entries)
	w.compare(t)
}
