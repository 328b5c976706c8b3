package storetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

func hideCases() []boardsCase {
	return []boardsCase{
		{"a hidden entry is nowhere, and comes back as it was", hideAndShow},
		{"a hidden entry takes scores as any other", hiddenTakesScores},
		{"in advance", hideInAdvance},
		{"a removed entry leaves its key hidden", hiddenRemoved},
		{"the sequence grows with every change only", hideSequence},
		{"not on a sealed board", hideSealed},
		{"at most so many", hideTooMany},
		{"listed in byte order, in pages", hiddenListed},
		{"every handle sees the same", hideOfHandles},
		{"on one board only", hideOfOneBoard},
		{"half of a large board", hideLarge},
		{"among writers", hideRace},
		{"what is handed over and got is the caller's", hideCallersMayChange},
	}
}

// hideAndShow hides each entry of a board with ties, alone and with others.
//
// case B18.
func hideAndShow(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, b, order.String(), order)
		for i := range 9 {
			w.best(t, withMeta(entry(fmt.Sprintf("key/%d", i*5%9), int64(i%3)), fmt.Sprint("meta ", i)))
		}
		before := w.compare(t)
		for i := range before {
			keys := []string{before[i].Key, before[(i+4)%9].Key, before[(i+5)%9].Key}[:1+i%3]
			w.hide(t, true, keys...)
			if now := w.compare(t); len(now) != 9-len(keys) {
				t.Fatalf("%d entries are left of 9 when %q are hidden", len(now), keys)
			}
			w.compareHidden(t)
			compareEach(t, w)
			listed, err := b.Hidden(t.Context(), w.name, "", 10)
			ok(t, "Hidden", err)
			for _, hidden := range listed {
				at := slices.IndexFunc(before, func(s store.Standing) bool { return s.Key == hidden.Key })
				if diff := cmp.Diff(store.HiddenEntry{Entry: before[at].Entry, Scored: true}, hidden); diff != "" {
					t.Fatalf("the hidden entry (-as it was +listed):\n%s", diff)
				}
			}
			w.hide(t, false, keys...)
			if diff := cmp.Diff(before, w.compare(t)); diff != "" {
				t.Fatalf("shown again (-before +after):\n%s", diff)
			}
			w.compareHidden(t)
		}
	}
}

// hiddenTakesScores merges under each rule into entries that are hidden; the twin's model
// answers as if they were shown.
func hiddenTakesScores(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.best(t, withMeta(entry("a", 5), "first"), entry("b", 5), entry("c", 5))
	w.last(t, stamped("b", 5, 3, 3))
	w.hide(t, true, "a", "b")
	look := func() {
		t.Helper()
		w.wantOrder(t, "c")
		w.compareHidden(t)
	}
	wantChange(t, w.best(t, withMeta(entry("a", 4), "worse")), store.Kept, 5, 5)
	look() // and the metadata is the first
	wantChange(t, w.best(t, withMeta(entry("a", 7), "better")), store.Changed, 5, 7)
	look()
	wantChange(t, w.last(t, stamped("b", 9, 3, 2)), store.Kept, 5, 5)
	wantChange(t, w.last(t, stamped("b", 4, 3, 4)), store.Changed, 5, 4)
	wantChange(t, w.last(t, stamped("b", 4, 3, 9)), store.Kept, 4, 4)
	wantChange(t, w.sum(t, "s", 1, entry("a", -2)), store.Changed, 7, 5)
	wantChange(t, w.sum(t, "s", 1, entry("a", -2)), store.Kept, 5, 5)
	wantChange(t, w.sum(t, "s", 2, entry("a", math.MaxInt64)), store.Overflow, 5, 5)
	look()
	w.hide(t, false, "a", "b")
	w.wantOrder(t, "c a b") // a reached 5 after c
	wantChange(t, w.last(t, stamped("b", 8, 3, 8)), store.Kept, 4, 4)
	compareEach(t, w)
	w.compareHidden(t)
}

func hideInAdvance(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Ascending)
	w.hide(t, true, "a", "b", "never")
	w.compareHidden(t)
	w.wantOrder(t, "")
	wantChange(t, w.best(t, withMeta(entry("a", 3), "meta")), store.Created, 0, 3)
	wantChange(t, w.last(t, stamped("b", 4, 1, 1)), store.Created, 0, 4)
	w.sum(t, "s", 1, entry("c", 3), entry("b", 1))
	w.wantOrder(t, "c")
	w.compareHidden(t)
	w.hide(t, false, "a", "never", "nobody")
	w.wantOrder(t, "a c") // a came first
	w.best(t, entry("never", 1), entry("nobody", 2))
	w.wantOrder(t, "never nobody a c")
	w.compareHidden(t)
	compareEach(t, w)
}

func hiddenRemoved(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.last(t, stamped("a", 5, 9, 9), stamped("b", 4, 9, 9), stamped("c", 3, 9, 9))
	w.hide(t, true, "a", "b", "nobody")
	w.remove(t, "a", "c", "nobody")
	w.wantOrder(t, "")
	w.compareHidden(t)
	w.remove(t, "a") // no more
	wantChange(t, w.last(t, stamped("a", 7, 1, 1)), store.Created, 0, 7)
	w.wantOrder(t, "")
	w.compareHidden(t)
	w.hide(t, false, "a", "b")
	w.wantOrder(t, "a b")
	w.remove(t, "a")
	w.best(t, entry("a", 1))
	w.wantOrder(t, "b a")
	w.compareHidden(t)
}

// hideSequence looks at Info after each call.
func hideSequence(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.best(t, entry("a", 1), entry("b", 2))
	w.compare(t)
	for _, step := range []struct {
		what  string
		grows bool
		do    func()
	}{
		{"hiding", true, func() { w.hide(t, true, "a") }},
		{"hiding again", false, func() { w.hide(t, true, "a") }},
		{"hiding in advance", true, func() { w.hide(t, true, "a", "x") }},
		{"showing the shown", false, func() { w.hide(t, false, "b", "nobody") }},
		{"a score of a hidden one", true, func() { w.best(t, entry("a", 5)) }},
		{"the same score", false, func() { w.best(t, entry("a", 5)) }},
		{"showing", true, func() { w.hide(t, false, "a", "b") }},
		{"showing again", false, func() { w.hide(t, false, "a") }},
		{"showing one that has no entry", true, func() { w.hide(t, false, "x") }},
		{"hiding for a removal", true, func() { w.hide(t, true, "b") }},
		{"removing a hidden one", true, func() { w.remove(t, "b") }},
	} {
		last := w.info.Sequence
		step.do()
		w.compare(t)
		if now := w.info.Sequence; now < last || step.grows != (now > last) {
			t.Fatalf("after %s the sequence is %d, was %d; grows: %v", step.what, now, last, step.grows)
		}
	}
}

// hideSealed is refused whatever it would change.
//
// case S3.
func hideSealed(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.best(t, entry("a", 1), entry("b", 2))
	w.hide(t, true, "b", "c")
	w.model.Seal()
	info, err := w.boards.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	if info.Count != 1 || info.Hidden != 2 {
		t.Fatalf("Seal = %+v, want 1 entry and 2 hidden keys", info)
	}
	w.hide(t, true, "a")
	w.hide(t, true, "b")
	w.hide(t, false, "b")
	w.hide(t, false, "c", "a")
	w.hide(t, true, "new")
	w.remove(t, "b")
	w.wantOrder(t, "a")
	w.compareHidden(t)
}

// hideTooMany fills the board with hidden keys, with entries and without.
func hideTooMany(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.best(t, entry("a", 1), entry("b", 2))
	keys := make([]string, store.MaxHidden-2)
	for i := range keys {
		keys[i] = fmt.Sprintf("key/%05d", i)
	}
	for chunk := range slices.Chunk(keys, store.MaxPage) {
		w.hide(t, true, chunk...)
	}
	w.hide(t, true, "a")
	w.hide(t, true, "b", "c") // one too many
	w.wantOrder(t, "b")
	w.hide(t, true, "b", "a", keys[0], keys[9]) // the last place; the others are hidden
	w.wantOrder(t, "")
	w.hide(t, true, "c")
	w.hide(t, true, keys[:store.MaxPage]...) // changes nothing
	w.hide(t, false, "b", keys[3])
	w.hide(t, true, "b", "c", "d")
	w.wantOrder(t, "b")
	w.hide(t, true, "c", "b")
	w.wantOrder(t, "")
	if w.info.Hidden != store.MaxHidden {
		t.Fatalf("%d keys are hidden, want %d", w.info.Hidden, store.MaxHidden)
	}
	n := 0
	for after := ""; ; {
		page, err := w.boards.Hidden(t.Context(), w.name, after, store.MaxPage)
		ok(t, "Hidden", err)
		if len(page) == 0 || n > store.MaxHidden {
			break
		}
		n, after = n+len(page), page[len(page)-1].Key
	}
	if n != store.MaxHidden {
		t.Fatalf("%d keys are listed, want %d", n, store.MaxHidden)
	}
}

func hiddenListed(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	keys := []string{"!", "%", "A", "A/b", "a", "a!", "a%", "a/", "a/b", "a/b/c", "a/b0", "a0", "a_", "aa", "b", "~"} // in byte order
	for i := range keys {
		key := keys[i*7%len(keys)]
		if i%3 == 0 {
			w.best(t, withMeta(entry(key, int64(i)), key))
		}
		w.hide(t, true, key)
	}
	w.best(t, entry("shown", 1))
	listed := make(map[string]store.HiddenEntry)
	for _, hidden := range w.model.Hidden("", store.MaxPage) {
		listed[hidden.Key] = hidden
	}
	for _, after := range append([]string{"", " ", "a/b~", "~~", "0", "shown"}, keys...) {
		for _, limit := range []int{0, 1, 3, len(keys), store.MaxPage} {
			var wanted []store.HiddenEntry
			for _, key := range keys {
				if key > after && len(wanted) < limit {
					wanted = append(wanted, listed[key])
				}
			}
			got, err := w.boards.Hidden(t.Context(), w.name, after, limit)
			ok(t, "Hidden", err)
			if !slices.EqualFunc(wanted, got, alikeHidden) {
				t.Fatalf("Hidden after %q of %d (-want +got):\n%s", after, limit, cmp.Diff(wanted, got))
			}
		}
	}
}

func hideOfHandles(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 3)
	w := newTwin(t, handles[0], "board", store.Descending)
	for i := range 30 {
		w.boards = handles[i%len(handles)]
		key := fmt.Sprintf("key/%d", i%7)
		w.best(t, entry(key, int64(i)))
		w.hide(t, i%4 != 3, key, fmt.Sprintf("key/%d", (i+3)%7))
		w.boards = handles[(i+1)%len(handles)]
		compareEach(t, w)
		w.compareHidden(t)
	}
}

// hideOfOneBoard hides the keys of one of two boards.
//
// case B17.
func hideOfOneBoard(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w, other := newTwin(t, b, "a", store.Descending), newTwin(t, b, "a/b", store.Descending)
	for _, one := range []*twin{w, other} {
		one.best(t, entry("a", 1), entry("b", 1))
	}
	w.hide(t, true, "a", "c")
	other.best(t, entry("c", 5))
	other.hide(t, true, "b")
	w.wantOrder(t, "b")
	other.wantOrder(t, "c a")
	for _, one := range []*twin{w, other} {
		one.compareHidden(t)
	}
	ok(t, "Drop", b.Drop(t.Context(), "a"))
	other.compareHidden(t)
	other.wantOrder(t, "c a")
}

// hideLarge hides every second entry, moves some of all, and shows some.
func hideLarge(t *testing.T, h Harness[store.Boards]) {
	const size = 2400
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	rng := rand.New(rand.NewPCG(30, 31))
	var (
		entries []store.Submission
		keys    []string
	)
	for i := range size {
		entries = append(entries, entry(fmt.Sprintf("key/%05d", i*7919%size), rng.Int64N(300)))
		if i%2 == 0 {
			keys = append(keys, entries[i].Key)
		}
	}
	w.best(t, entries...)
	for chunk := range slices.Chunk(keys, store.MaxPage) {
		w.hide(t, true, chunk...)
	}
	compareSample(t, w, rng)
	for i := range entries {
		entries[i].Score = rng.Int64N(300) - 150
	}
	w.boards = handles[len(handles)-1]
	w.sum(t, "s", 1, entries...)
	compareSample(t, w, rng)
	w.hide(t, false, keys[:size/4]...)
	w.remove(t, keys[size/8:3*size/8]...)
	compareSample(t, w, rng)
}

// hideRace hides and shows keys while others merge into them: in the end each entry is
// either on the board or listed, with all that was added to it.
func hideRace(t *testing.T, h Harness[store.Boards]) {
	const writers, rounds, keys = 3, 25, 8
	handles := openSome(t, h, 3)
	w := newTwin(t, handles[0], "board", store.Descending)
	key := func(k int) string { return fmt.Sprintf("key/%d", k%keys) }
	ctx := t.Context()
	together(t, 2*writers, func(c int) error {
		b := handles[c%len(handles)]
		for n := range rounds {
			if err := hideOrAdd(ctx, b, c, n, key); err != nil {
				return err
			}
		}
		return nil
	})
	all, info := wholeBoard(t, w.boards, "board", store.MaxPage)
	wantSorted(t, store.Descending, all)
	hidden, err := w.boards.Hidden(ctx, "board", "", store.MaxPage)
	ok(t, "Hidden", err)
	if info.Hidden != int64(len(hidden)) || len(all)+len(hidden) != keys {
		t.Fatalf("%+v, %d keys are hidden and %d are on the board, want %d together", info, len(hidden), len(all), keys)
	}
	for _, s := range hidden {
		all = append(all, store.Standing{Entry: s.Entry})
	}
	for _, s := range all {
		if s.Score != writers*rounds {
			t.Errorf("%s has %d, want %d", s.Key, s.Score, writers*rounds)
		}
	}
}

// hideOrAdd adds 1 to every key (even callers), or hides or shows one.
func hideOrAdd(ctx context.Context, b store.Boards, c, n int, key func(int) string) error {
	if c%2 == 1 {
		_, err := b.Hide(ctx, "board", (c+n)%3 != 0, key(n), key(n+c))
		return err
	}
	batch := store.Batch{Rule: store.Sum, Source: fmt.Sprint("writer-", c), N: uint64(n) + 1}
	for k := range 8 {
		batch.Entries = append(batch.Entries, entry(key(k+c), 1))
	}
	_, err := b.Merge(ctx, "board", batch)
	return err
}

// hideCallersMayChange changes what it handed over and what it got.
//
// case P11.
func hideCallersMayChange(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	w.best(t, withMeta(entry("a", 2), "meta of a"), entry("b", 1))
	keys := []string{"a", "in-advance"}
	w.hide(t, true, keys...)
	keys[0], keys[1] = "b", "c"
	w.compareHidden(t)
	listed, err := w.boards.Hidden(t.Context(), "board", "", 10)
	ok(t, "Hidden", err)
	clear(listed[0].Meta)
	clear(listed)
	w.compareHidden(t)
	w.hide(t, false, "a")
	w.compare(t)
}
