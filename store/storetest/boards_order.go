package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

func orderCases() []boardsCase {
	return []boardsCase{
		{"who reached it first stays above", firstStaysAbove},
		{"score before sequence before key", scoreThenSequence},
		{"the sequence grows with every change only", sequenceGrows},
		{"pages of every size", pagesOfEverySize},
		{"pages beyond the end", pagesBeyond},
		{"ranks are global", ranksAreGlobal},
		{"boards are apart", boardsAreApart},
	}
}

func aroundCases() []boardsCase {
	return []boardsCase{
		{"every position of small boards", aroundEveryPosition},
		{"the largest reach", aroundLargest},
	}
}

// firstStaysAbove ties in every way a score can be reached.
//
// case B10.
func firstStaysAbove(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, b, order.String(), order)
		step := int64(1)
		if order == store.Ascending {
			step = -1
		}
		w.best(t, entry("zoe", 10*step))
		w.best(t, entry("amy", 10*step))
		w.wantOrder(t, "zoe amy")
		w.best(t, entry("bob", 5*step))
		w.best(t, entry("bob", 10*step))
		w.wantOrder(t, "zoe amy bob")
		w.best(t, entry("zoe", 10*step)) // again: still the first
		w.wantOrder(t, "zoe amy bob")
		w.last(t, stamped("zoe", 9*step, 1, 1)) // away and back: now the last
		w.last(t, stamped("zoe", 10*step, 1, 2))
		w.wantOrder(t, "amy bob zoe")
		w.sum(t, "s", 1, entry("amy", step), entry("bob", step))
		w.sum(t, "s", 2, entry("amy", -step))
		w.wantOrder(t, "bob zoe amy")
		w.best(t, entry("max", 11*step))
		w.wantOrder(t, "bob max zoe amy")
	}
}

func scoreThenSequence(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	for i := range 60 {
		w.best(t, entry(fmt.Sprintf("key/%d", i*37%60), int64(i%4)))
	}
	all := w.compare(t)
	for i, s := range all[1:] {
		if compareEntries(store.Descending, all[i].Entry, s.Entry) >= 0 {
			t.Fatalf("%+v stands before %+v", all[i], s)
		}
	}
}

// sequenceGrows looks at Info after each call.
func sequenceGrows(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	last := uint64(0)
	look := func(what string, grows bool) {
		t.Helper()
		for _, b := range handles {
			info, err := b.Info(t.Context(), "board")
			ok(t, "Info", err)
			if grows && info.Sequence <= last && b == handles[0] || info.Sequence < last || !grows && info.Sequence != last {
				t.Fatalf("after %s the sequence is %d, was %d; grows: %v", what, info.Sequence, last, grows)
			}
			last = info.Sequence
		}
	}
	last = w.info.Sequence
	look("nothing", false)
	w.best(t, entry("a", 5))
	look("a new entry", true)
	w.best(t, entry("a", 6))
	look("a better score", true)
	w.best(t, entry("a", 6))
	look("the same score", false)
	w.best(t, entry("b", 1), entry("c", 1))
	look("two new entries", true)
	w.sum(t, "s", 1, entry("a", 1))
	look("a sum", true)
	w.sum(t, "s", 1, entry("a", 1))
	look("a sum resent", false)
	w.last(t, stamped("a", 1, 1, 1))
	look("a newer score", true)
	w.last(t, stamped("a", 5, 0, 9))
	look("an older score", false)
	w.remove(t, "nobody")
	look("a removal of nobody", false)
	w.remove(t, "a")
	look("a removal", true)
	all := w.compare(t)
	if len(all) != 2 || all[0].Sequence >= all[1].Sequence {
		t.Fatalf("two entries of one batch: %+v, want rising sequences", all)
	}
}

// pagesOfEverySize puts pages together.
//
// case B8.
func pagesOfEverySize(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Ascending)
	for i := range 25 {
		w.best(t, entry(fmt.Sprintf("key/%02d", i*7%25), int64(i%3)))
	}
	all := w.compare(t)
	for size := 1; size <= 27; size++ {
		joined, _ := wholeBoard(t, w.boards, "board", size)
		if diff := cmp.Diff(all, joined); diff != "" {
			t.Fatalf("pages of %d (-whole +joined):\n%s", size, diff)
		}
	}
	for first := range 25 { // at every offset, not only at multiples
		for _, limit := range []int{0, 1, 4, store.MaxPage} {
			page, err := w.boards.Page(t.Context(), "board", int64(first), limit, store.Ordinal)
			ok(t, "Page", err)
			if diff := cmp.Diff(all[first:min(first+limit, 25)], page.Entries, cmpopts.EquateEmpty()); diff != "" || page.Offset != int64(min(first, first*limit)) {
				t.Fatalf("Page at %d of %d is at %d (-want +got):\n%s", first, limit, page.Offset, diff)
			}
		}
	}
}

func pagesBeyond(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	for _, fill := range []int64{0, 3} {
		for i := range fill {
			w.best(t, entry(fmt.Sprint(i), i))
		}
		for _, offset := range []int64{fill, fill + 1, 1 << 40, 1<<63 - 1} {
			page, err := w.boards.Page(t.Context(), "board", offset, store.MaxPage, store.Ordinal)
			ok(t, "Page", err)
			if len(page.Entries) != 0 || page.Offset != 0 || page.Total != fill || page.Info.Count != fill {
				t.Fatalf("Page at %d of %d entries = %+v, want no entries and the total", offset, fill, page)
			}
		}
	}
}

// ranksAreGlobal has everybody tied.
//
// case B9.
func ranksAreGlobal(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	var entries []store.Submission
	for i := range 230 {
		entries = append(entries, entry(fmt.Sprintf("key/%d", i*7919%230), 42))
	}
	w.best(t, entries...)
	for offset := int64(0); offset < 230; offset += 100 {
		page, err := w.boards.Page(t.Context(), "board", offset, 100, store.Ordinal)
		ok(t, "Page", err)
		for i, s := range page.Entries {
			if s.Rank != offset+int64(i)+1 {
				t.Fatalf("entry %d of the page at %d has rank %d, want %d", i, offset, s.Rank, offset+int64(i)+1)
			}
		}
	}
	compareEach(t, w)
}

// boardsAreApart fills boards whose names look alike.
//
// case B17.
func boardsAreApart(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	var twins []*twin
	for i, name := range []string{"a", "A", "a/b", "a/b/c", "a%", "a_", "%", "_", "ab", "a:b", "{a}", "a'", "a\"", "0", "00", "entries", "boards", "a\\"} {
		w := newTwin(t, b, name, []store.Order{store.Descending, store.Ascending}[i%2])
		for n := range 6 {
			w.best(t, entry(fmt.Sprintf("key/%d", n), int64(n*(i+1)%5)))
		}
		twins = append(twins, w)
	}
	for i, w := range twins {
		compareEach(t, w)
		switch i % 3 {
		case 0:
			ok(t, "Drop", b.Drop(t.Context(), w.name))
			twins[i] = newTwin(t, b, w.name, store.Ascending)
		case 1:
			w.remove(t, "key/0", "key/5")
		case 2:
			w.model.Seal()
			_, err := b.Seal(t.Context(), w.name)
			ok(t, "Seal", err)
		}
	}
	for _, w := range twins {
		compareEach(t, w)
	}
}

// aroundEveryPosition asks for every reach around every key of boards of 1 to 9 entries.
//
// case B4.
func aroundEveryPosition(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for size := 1; size <= 9; size++ {
		w := newTwin(t, b, fmt.Sprintf("board/%d", size), []store.Order{store.Descending, store.Ascending}[size%2])
		for i := range size {
			w.best(t, entry(fmt.Sprintf("key/%d", i), int64(i*5%4)))
		}
		all := w.compare(t)
		for at, s := range all {
			for n := range size + 2 {
				page, err := b.Around(t.Context(), w.name, s.Key, n, store.Ordinal)
				ok(t, "Around", err)
				want := store.Page{Entries: all[max(0, at-n):min(size, at+n+1)], Offset: int64(max(0, at-n)), Total: int64(size), Info: w.info}
				if diff := cmp.Diff(want, page); diff != "" {
					t.Fatalf("%d around rank %d of %d (-want +got):\n%s", n, at+1, size, diff)
				}
			}
		}
	}
}

func aroundLargest(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	var entries []store.Submission
	for i := range 2500 {
		entries = append(entries, entry(fmt.Sprintf("key/%d", i*7919%2500), int64(i/50)))
	}
	w.best(t, entries...)
	all := w.compare(t)
	const reach = (store.MaxPage - 1) / 2
	for _, at := range []int{0, 1, reach - 1, reach, reach + 1, 1249, 2499 - reach, 2498, 2499} {
		page, err := w.boards.Around(t.Context(), "board", all[at].Key, reach, store.Ordinal)
		ok(t, "Around", err)
		if diff := cmp.Diff(all[max(0, at-reach):min(2500, at+reach+1)], page.Entries); diff != "" {
			t.Fatalf("%d around rank %d (-want +got):\n%s", reach, at+1, diff)
		}
	}
}
