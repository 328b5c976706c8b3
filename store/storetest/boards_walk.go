package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

func walkCases() []boardsCase {
	return append([]boardsCase{
		{"in pages of every size", walkSizes},
		{"an empty board", walkEmpty},
		{"each change between two pages", walkEachChange},
		{"many changes between all pages", walkManyChanges},
		{"everything changed, and changed back", walkThereAndBack},
		{"the hidden are left out, the shown go on", walkHidden},
		{"several versions at once", walkVersions},
		{"a page asked for again", walkAgain},
		{"a large board", walkLarge},
		{"from handle to handle", walkHandles},
		{"what is got is the caller's", walkCallersMayChange},
	}, walkEndCases()...)
}

// walkSizes walks boards that do not change.
func walkSizes(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for _, order := range []store.Order{store.Descending, store.Ascending} {
		w := newTwin(t, b, order.String(), order)
		for i := range 25 {
			w.best(t, withMeta(entry(fmt.Sprintf("key/%02d", i*7%25), int64(i%6-3)), fmt.Sprint(i)))
		}
		w.hide(t, true, "key/00", "key/13")
		w.remove(t, "key/04")
		for size := 1; size <= 25; size++ {
			beginStroll(t, w).finish(t, size)
		}
		beginStroll(t, w).finish(t, store.MaxPage)
	}
}

// walkEmpty walks boards that are empty in three ways.
func walkEmpty(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	for _, change := range []func(){
		func() {},
		func() { w.best(t, entry("a", 1)); w.hide(t, true, "a") },
		func() { w.remove(t, "a") },
	} {
		change()
		s := beginStroll(t, w)
		if s.cursor.Done() {
			t.Fatal("a walk that has not begun is done")
		}
		if !s.step(t, 5) {
			t.Fatalf("the walk of an empty board is not done: %+v", s.cursor)
		}
		s.step(t, 5)
	}
	w.best(t, entry("b", 1))
	beginStroll(t, w).finish(t, 1)
}

// walkChange is one change of the board that walkBoard makes.
type walkChange struct {
	name string
	do   func(t tester, w *twin)
}

// walkBoard makes a board of nine entries from key/0, the best, to key/8, of which three and
// two are tied, and hides one more.
func walkBoard(t tester, b store.Boards, name string, order store.Order) *twin {
	t.Helper()
	w := newTwin(t, b, name, order)
	for i, score := range []int64{90, 80, 80, 80, 50, 40, 40, 20, 10} {
		if order == store.Ascending {
			score = -score
		}
		w.best(t, withMeta(entry(fmt.Sprintf("key/%d", i), score), fmt.Sprint("meta ", i)))
	}
	w.best(t, entry("hidden/0", 95), entry("hidden/1", 80), entry("hidden/2", 5))
	w.hide(t, true, "hidden/0", "hidden/1", "hidden/2", "hidden/advance")
	return w
}

// walkChanges is every change that an entry can suffer, for some place of the board.
func walkChanges() []walkChange {
	var all []walkChange
	add := func(name string, do func(t tester, w *twin)) { all = append(all, walkChange{name, do}) }
	for _, score := range []int64{100, 80, 45, 1} {
		add(fmt.Sprint("insert at ", score), func(t tester, w *twin) { w.best(t, entry("new", score)) })
	}
	for _, key := range []string{"key/0", "key/2", "key/4", "key/8"} {
		for _, score := range []int64{99, 80, 42, 0} {
			add(fmt.Sprintf("%s to %d", key, score), func(t tester, w *twin) {
				w.last(t, withMeta(stamped(key, score, 1, 1), "new meta"))
			})
		}
		add("remove "+key, func(t tester, w *twin) { w.remove(t, key) })
		add("remove and make anew "+key, func(t tester, w *twin) {
			w.remove(t, key)
			w.best(t, withMeta(entry(key, 80), "anew"))
		})
		add("hide "+key, func(t tester, w *twin) { w.hide(t, true, key) })
		add("hide and show "+key, func(t tester, w *twin) {
			w.hide(t, true, key)
			w.hide(t, false, key)
		})
		add("hide, score and show "+key, func(t tester, w *twin) {
			w.hide(t, true, key)
			w.last(t, withMeta(stamped(key, 60, 1, 1), "while hidden"))
			w.hide(t, false, key)
		})
	}
	for _, key := range []string{"hidden/0", "hidden/1", "hidden/2", "hidden/advance"} {
		add("show "+key, func(t tester, w *twin) { w.hide(t, false, key); w.best(t, entry("hidden/advance", 80)) })
		add("score of "+key, func(t tester, w *twin) { w.last(t, stamped(key, 80, 1, 1)) })
		add("remove "+key, func(t tester, w *twin) { w.remove(t, key) })
	}
	return all
}

// walkEachChange makes one change after the first pages of a walk, and one more before its
// end.
func walkEachChange(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	changes := walkChanges()
	for i, change := range changes {
		order := []store.Order{store.Descending, store.Ascending}[i%2]
		w := walkBoard(t, handles[i%len(handles)], fmt.Sprintf("board/%d", i), order)
		var strolls []*stroll
		for _, size := range []int{1, 2, 4} {
			for seen := size; seen <= 9; seen += size * 3 {
				s := beginStroll(t, w)
				for s.cursor.Seen < int64(seen) {
					s.step(t, size)
				}
				strolls = append(strolls, s)
			}
		}
		change.do(t, w)
		again := beginStroll(t, w)
		again.step(t, 3)
		for n, s := range strolls {
			s.step(t, 1+n%3)
		}
		other := changes[(i*7+3)%len(changes)]
		other.do(t, w)
		for n, s := range append(strolls, again) {
			s.finish(t, 1+n%4)
		}
		if t.Failed() {
			t.Fatalf("after %s, then %s", change.name, other.name)
		}
	}
}

// walkManyChanges changes everything that there is between every two pages.
func walkManyChanges(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 3)
	for i, size := range []int{1, 2, 3, 5} {
		w := walkBoard(t, handles[0], fmt.Sprintf("board/%d", i), store.Descending)
		s := beginStroll(t, w)
		for n := 0; !s.step(t, size); n++ {
			for c, change := range walkChanges() {
				if (c+n)%3 == 0 {
					w.boards = handles[(c+n)%len(handles)]
					change.do(t, w)
				}
			}
			w.compare(t)
		}
	}
}

// walkThereAndBack brings every entry to the score that it had, at another sequence.
func walkThereAndBack(t *testing.T, h Harness[store.Boards]) {
	w := walkBoard(t, open(t, h), "board", store.Descending)
	first := beginStroll(t, w)
	first.step(t, 4)
	strolls := []*stroll{first}
	for n := range uint64(3) {
		for i := 8; i >= 0; i-- {
			key := fmt.Sprintf("key/%d", i)
			w.last(t, withMeta(stamped(key, int64(i), 1, 2*n+1), "away"))
			w.last(t, withMeta(stamped(key, first.all[i].Score, 1, 2*n+2), "back"))
		}
		s := beginStroll(t, w)
		s.step(t, 4)
		strolls = append(strolls, s)
	}
	for _, s := range strolls {
		s.finish(t, 2)
	}
}

func walkHidden(t *testing.T, h Harness[store.Boards]) {
	w := walkBoard(t, open(t, h), "board", store.Ascending)
	without := beginStroll(t, w) // of the four that are hidden
	without.step(t, 2)
	w.hide(t, false, "hidden/1", "hidden/0")
	with := beginStroll(t, w)
	with.step(t, 2)
	w.hide(t, true, "hidden/1", "key/0", "key/5", "key/8")
	w.best(t, entry("hidden/1", -500))
	fewer := beginStroll(t, w)
	fewer.step(t, 2)
	w.hide(t, false, "hidden/1", "key/0", "key/5", "key/8", "hidden/2")
	w.remove(t, "key/0", "hidden/0")
	all := beginStroll(t, w)
	for _, s := range []*stroll{all, fewer, with, without} {
		s.finish(t, 3)
	}
}

// walkVersions begins walks of as many versions as there may be, and goes on with all of
// them in turn.
func walkVersions(t *testing.T, h Harness[store.Boards]) {
	w := walkBoard(t, open(t, h), "board", store.Descending)
	changes := walkChanges()
	var strolls []*stroll
	for i := 0; len(strolls) < store.MaxWalks; i++ {
		before := w.info.Sequence
		changes[i%len(changes)].do(t, w)
		w.last(t, stamped(fmt.Sprintf("key/%d", i%9), int64(i*17%100), 2, uint64(i)))
		s := beginStroll(t, w)
		if w.info.Sequence == before {
			continue // no other version
		}
		s.step(t, 1+i%2)
		strolls = append(strolls, s)
	}
	for range 2 {
		for _, s := range strolls {
			s.step(t, 2)
		}
	}
	for _, s := range strolls {
		s.finish(t, 4)
	}
}

// walkAgain asks for every page twice, and for some once more when the walk is done.
func walkAgain(t *testing.T, h Harness[store.Boards]) {
	w := walkBoard(t, open(t, h), "board", store.Descending)
	s := beginStroll(t, w)
	s.step(t, 2)
	cursors := []store.Cursor{s.cursor}
	changes := walkChanges()
	for i := 0; !s.cursor.Done(); i++ {
		changes[i*5%len(changes)].do(t, w)
		s.step(t, 2)
		s.cursor = cursors[i]
		changes[i*3%len(changes)].do(t, w)
		s.step(t, 2)
		cursors = append(cursors, s.cursor)
	}
	for _, cursor := range cursors {
		s.cursor = cursor
		s.step(t, store.MaxPage)
	}
}

// walkLarge gives every entry of a board another score, and half of them a second one, while
// somebody walks in the largest pages.
func walkLarge(t *testing.T, h Harness[store.Boards]) {
	const size = 3200
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	entries := make([]store.Submission, size)
	for i := range entries {
		entries[i] = stamped(fmt.Sprintf("key/%d", i*7919%size), int64(i/7), 1, 1)
	}
	w.last(t, entries...)
	s := beginStroll(t, w)
	s.step(t, store.MaxPage)
	for i := range entries {
		entries[i].Score, entries[i].Stamp.Revision = int64(i*31%size), 2
	}
	w.last(t, entries...)
	w.boards = handles[len(handles)-1]
	second := beginStroll(t, w)
	second.step(t, store.MaxPage)
	s.step(t, store.MaxPage)
	for i := range entries {
		entries[i].Score, entries[i].Stamp.Revision = -int64(i), 3
	}
	w.last(t, entries[:size/2]...)
	second.step(t, store.MaxPage)
	var keys []string
	for _, e := range entries[:store.MaxPage] {
		keys = append(keys, e.Key)
	}
	w.remove(t, keys...)
	s.finish(t, store.MaxPage)
	second.finish(t, store.MaxPage)
	beginStroll(t, w).finish(t, store.MaxPage)
}

// walkHandles changes the handle, and with it maybe the process, at every call.
func walkHandles(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 3)
	w := walkBoard(t, handles[0], "board", store.Ascending)
	s := beginStroll(t, w)
	for i, change := range walkChanges() {
		w.boards = handles[(i+1)%len(handles)]
		if s.step(t, 1) {
			s = beginStroll(t, w)
			s.step(t, 1)
		}
		w.boards = handles[(i*2+1)%len(handles)]
		change.do(t, w)
	}
	s.finish(t, 2)
}

// walkCallersMayChange changes all that it got.
//
// case P11.
func walkCallersMayChange(t *testing.T, h Harness[store.Boards]) {
	w := walkBoard(t, open(t, h), "board", store.Descending)
	for range 2 {
		page, next, err := w.boards.Walk(t.Context(), "board", store.Cursor{}, 5)
		ok(t, "Walk", err)
		for _, s := range page.Entries {
			clear(s.Meta)
		}
		clear(page.Entries)
		w.last(t, stamped("key/6", 0, 1, 1))
		again, _, err := w.boards.Walk(t.Context(), "board", next, 5)
		ok(t, "Walk", err)
		clear(again.Entries[0].Meta)
		third, _, err := w.boards.Walk(t.Context(), "board", next, 5)
		ok(t, "Walk", err)
		if diff := cmp.Diff("meta 5", string(third.Entries[0].Meta)); diff != "" {
			t.Fatalf("metadata (-want +got):\n%s", diff)
		}
		w.compare(t)
	}
}
