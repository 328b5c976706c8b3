package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

func lifeCases() []boardsCase {
	return []boardsCase{
		{"create again answers the board as it is", createAgain},
		{"create with the other order is refused", createOtherOrder},
		{"one of many creators wins", createRace},
		{"a missing board answers so", missingBoard},
		{"drop forgets everything", dropForgets},
		{"drop of a missing board is done", dropMissing},
		{"every handle sees the same", handlesAgree},
		{"names of every byte", boardNamesOfEveryByte},
	}
}

func listCases() []boardsCase {
	return []boardsCase{
		{"in byte order, by prefix, after a name, in pages", listNames},
		{"knows no dropped boards", listAfterDrop},
	}
}

func createAgain(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w := newTwin(t, b, "board", store.Descending)
	w.best(t, entry("a", 1), entry("b", 2))
	w.compare(t)
	for range 2 {
		info, err := b.Create(t.Context(), "board", store.BoardSpec{Order: store.Descending, Generation: "another"})
		ok(t, "Create", err)
		if info != w.info {
			t.Fatalf("Create of a board that exists = %+v, want %+v", info, w.info)
		}
	}
	w.compare(t)
}

func createOtherOrder(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w := newTwin(t, b, "board", store.Ascending)
	w.best(t, entry("a", 1), entry("b", 2))
	_, err := b.Create(t.Context(), "board", store.BoardSpec{Order: store.Descending, Generation: "another"})
	want(t, "Create with the other order", err, store.ErrInvalid)
	w.wantOrder(t, "a b")
}

// createRace lets many create one board: all get the same generation, one of theirs.
func createRace(t *testing.T, h Harness[store.Boards]) {
	const callers = 6
	handles := openSome(t, h, 3)
	ctx := t.Context()
	for round := range 15 {
		infos := make([]store.BoardInfo, callers)
		name := fmt.Sprintf("board/%d", round)
		together(t, callers, func(c int) error {
			var err error
			infos[c], err = handles[c%len(handles)].Create(ctx, name, store.BoardSpec{Order: store.Descending, Generation: fmt.Sprint("by-", c)})
			return err
		})
		stored, err := handles[0].Info(ctx, name)
		ok(t, "Info", err)
		known := false
		for c, info := range infos {
			known = known || info.Generation == fmt.Sprint("by-", c)
			if info != stored {
				t.Fatalf("creator %d got %+v, the board is %+v", c, info, stored)
			}
		}
		if !known {
			t.Fatalf("generation %q is nobody's", stored.Generation)
		}
	}
}

// everyBoardCall calls everything that needs a board, and a few that do not, by name.
func everyBoardCall(ctx context.Context, b store.Boards, name string) map[string]error {
	answers := make(map[string]error)
	for _, batch := range []store.Batch{
		{Rule: store.Best, Entries: []store.Submission{entry("key", 1)}},
		{Rule: store.Last, Entries: []store.Submission{stamped("key", 1, 9, 9)}},
		{Rule: store.Sum, Entries: []store.Submission{entry("key", 1)}, Source: "source", N: 9},
	} {
		_, answers["Merge "+batch.Rule.String()] = b.Merge(ctx, name, batch)
	}
	_, answers["Remove"] = b.Remove(ctx, name, "key")
	_, answers["Erase"] = b.Erase(ctx, name, "key")
	_, answers["Hide"] = b.Hide(ctx, name, true, "key")
	_, answers["Show"] = b.Hide(ctx, name, false, "key")
	_, answers["Hidden"] = b.Hidden(ctx, name, "", 10)
	_, _, answers["Walk"] = b.Walk(ctx, name, store.Cursor{}, 10)
	_, _, answers["Walk on"] = b.Walk(ctx, name, store.Cursor{Generation: "first", Version: 9, Total: 9, Seen: 1, Score: 5, Sequence: 1}, 10)
	_, answers["Check"] = b.Check(ctx, name, false)
	_, answers["repairing Check"] = b.Check(ctx, name, true)
	_, answers["Seal"] = b.Seal(ctx, name)
	_, answers["Page"] = b.Page(ctx, name, 0, 10, store.Ordinal)
	_, _, answers["Standing"] = b.Standing(ctx, name, "key", store.Ordinal)
	_, answers["Around"] = b.Around(ctx, name, "key", 1, store.Ordinal)
	_, answers["Scores"] = b.Scores(ctx, name, "key")
	_, answers["Info"] = b.Info(ctx, name)
	return answers
}

func missingBoard(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	for call, err := range everyBoardCall(t.Context(), b, "nowhere") {
		want(t, call, err, store.ErrNoBoard)
	}
	names, err := b.List(t.Context(), "", "", store.MaxPage)
	ok(t, "List", err)
	if len(names) != 0 {
		t.Fatalf("List = %q, want none: a call that is refused makes no board", names)
	}
}

// dropForgets drops a sealed board with entries, stamps, numbers and hidden keys, and makes
// it anew.
//
// case B6.
func dropForgets(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	b, other := handles[0], handles[len(handles)-1]
	w := newTwin(t, b, "board", store.Descending)
	w.last(t, stamped("a", 5, 9, 9))
	w.sum(t, "source", 9, entry("b", 5))
	w.hide(t, true, "b", "a", "nobody")
	w.compare(t)
	w.model.Seal()
	_, err := b.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	ok(t, "Drop", b.Drop(t.Context(), "board"))
	for _, handle := range handles {
		for call, err := range everyBoardCall(t.Context(), handle, "board") {
			want(t, call, err, store.ErrNoBoard)
		}
	}
	info, err := other.Create(t.Context(), "board", store.BoardSpec{Order: store.Ascending, Generation: "second"})
	ok(t, "Create", err)
	if want := (store.BoardInfo{Order: store.Ascending, Generation: "second", Sequence: info.Sequence}); info != want {
		t.Fatalf("the board made anew is %+v, want %+v", info, want)
	}
	second := &twin{boards: b, name: "board", model: NewModelBoard(store.Ascending), info: info}
	second.wantOrder(t, "")
	wantChange(t, second.last(t, stamped("a", 7, 1, 1)), store.Created, 0, 7)
	wantChange(t, second.last(t, stamped("a", 8, 1, 2)), store.Changed, 7, 8)
	wantChange(t, second.sum(t, "source", 1, entry("b", 3)), store.Created, 0, 3)
	second.wantOrder(t, "b a")
	compareEach(t, second)
}

func dropMissing(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	ok(t, "Drop", b.Drop(t.Context(), "nowhere"))
	w := newTwin(t, b, "board", store.Descending)
	w.best(t, entry("a", 1))
	ok(t, "Drop", b.Drop(t.Context(), "boar"))
	ok(t, "Drop", b.Drop(t.Context(), "board/"))
	w.wantOrder(t, "a")
	ok(t, "Drop", b.Drop(t.Context(), "board"))
	ok(t, "Drop", b.Drop(t.Context(), "board"))
}

// handlesAgree writes through one handle and reads through the others at once.
//
// case B3.
func handlesAgree(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 3)
	w := newTwin(t, handles[0], "board", store.Descending)
	for i := range 30 {
		w.boards = handles[i%len(handles)]
		w.best(t, entry(fmt.Sprintf("key/%d", i%11), int64(i*7%13)))
		w.boards = handles[(i+1)%len(handles)]
		w.compare(t)
		whole, err := handles[(i+2)%len(handles)].Page(t.Context(), "board", 0, store.MaxPage, store.Ordinal)
		ok(t, "Page", err)
		for _, s := range whole.Entries {
			compareOne(t, w, s)
		}
	}
}

func boardNamesOfEveryByte(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	all := make([]byte, 0, store.MaxBoardName)
	for c := byte('!'); c <= '~'; c++ {
		all = append(all, c)
	}
	for len(all) < store.MaxBoardName {
		all = append(all, '~')
	}
	var twins []*twin
	for _, name := range []string{string(all), string(all[:store.MaxBoardName-1]), string(all[:94]), "!", "~"} {
		w := newTwin(t, b, name, store.Descending)
		w.best(t, entry("length", int64(len(name))))
		twins = append(twins, w)
	}
	for _, w := range twins {
		compareEach(t, w)
	}
}

func listNames(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	names := []string{"A", "A/b", "a", "a!", "a%", "a/", "a/b", "a/b/c", "a/b0", "a/c", "a0", "a_", "aa", "b", "~"} // in byte order
	for i := range names {
		newTwin(t, b, names[i*7%len(names)], store.Descending)
	}
	_, err := b.Seal(t.Context(), "a/b") // a sealed board is a board
	ok(t, "Seal", err)
	starts := func(prefix, after string, limit int) []string {
		var some []string
		for _, name := range names {
			if len(name) >= len(prefix) && name[:len(prefix)] == prefix && name > after && len(some) < limit {
				some = append(some, name)
			}
		}
		return some
	}
	for _, prefix := range []string{"", "a", "a/", "a/b", "A", "%", "_", "a%", "a_", "~", "~~", "c"} {
		for _, after := range append([]string{"", "a/b~", "~~", "0"}, names...) {
			for _, limit := range []int{0, 1, 3, 14, 15, store.MaxPage} {
				got, err := b.List(t.Context(), prefix, after, limit)
				ok(t, "List", err)
				if diff := cmp.Diff(starts(prefix, after, limit), got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("List %q after %q of %d (-want +got):\n%s", prefix, after, limit, diff)
				}
			}
		}
	}
}

func listAfterDrop(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	var wanted []string
	for i := range 60 {
		name := fmt.Sprintf("board/%02d", i)
		newTwin(t, b, name, store.Ascending)
		if i%3 == 0 {
			ok(t, "Drop", b.Drop(t.Context(), name))
			continue
		}
		wanted = append(wanted, name)
	}
	var got []string
	for after := ""; ; after = got[len(got)-1] {
		page, err := b.List(t.Context(), "board/", after, 7)
		ok(t, "List", err)
		if got = append(got, page...); len(page) < 7 {
			break
		}
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Fatalf("names, page by page (-want +got):\n%s", diff)
	}
}
