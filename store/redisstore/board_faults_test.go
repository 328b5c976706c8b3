package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
)

// createBoard makes the board.
func createBoard(t *testing.T, b store.Boards, name, generation string) {
	t.Helper()
	if _, err := b.Create(t.Context(), name, store.BoardSpec{Order: store.Descending, Generation: generation}); err != nil {
		t.Fatal(err)
	}
}

// points is a batch in which every key gets points.
func points(n int64, keys ...string) store.Batch {
	batch := store.Batch{Rule: store.Best}
	for _, key := range keys {
		batch.Entries = append(batch.Entries, store.Submission{Key: key, Score: n})
	}
	return batch
}

// merge applies a batch that has to be done.
func merge(t *testing.T, b store.Boards, name string, batch store.Batch) {
	t.Helper()
	if _, err := b.Merge(t.Context(), name, batch); err != nil {
		t.Fatal(err)
	}
}

// whole is all that can be read of a small board.
type whole struct {
	Page   store.Page
	Hidden []store.HiddenEntry
	Check  store.BoardCheck
}

func readWhole(t *testing.T, b store.Boards, name string) (w whole) {
	t.Helper()
	var errs [3]error
	w.Page, errs[0] = b.Page(t.Context(), name, 0, store.MaxPage, store.Competition)
	w.Hidden, errs[1] = b.Hidden(t.Context(), name, "", store.MaxPage)
	w.Check, errs[2] = b.Check(t.Context(), name, false)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return w
}

// boardWrites is one write of each kind on the board "top" of a, b and c, of which c is hidden.
func boardWrites() map[string]func(context.Context, store.Boards) error {
	return map[string]func(context.Context, store.Boards) error{
		"best": func(ctx context.Context, b store.Boards) error {
			_, err := b.Merge(ctx, "top", points(50, "a", "c", "new"))
			return err
		},
		"last": func(ctx context.Context, b store.Boards) error {
			_, err := b.Merge(ctx, "top", store.Batch{Rule: store.Last, Entries: []store.Submission{{Key: "a", Score: 7, Stamp: store.Stamp{Epoch: 1, Revision: 1}, Meta: []byte("m")}}})
			return err
		},
		"sum": func(ctx context.Context, b store.Boards) error {
			_, err := b.Merge(ctx, "top", store.Batch{Rule: store.Sum, Source: "node", N: 1, Entries: []store.Submission{{Key: "a", Score: 7}, {Key: "new", Score: 1}}})
			return err
		},
		"remove": func(ctx context.Context, b store.Boards) error { _, err := b.Remove(ctx, "top", "a", "c"); return err },
		"erase":  func(ctx context.Context, b store.Boards) error { _, err := b.Erase(ctx, "top", "a", "c"); return err },
		"hide": func(ctx context.Context, b store.Boards) error {
			_, err := b.Hide(ctx, "top", true, "a", "x")
			return err
		},
		"show": func(ctx context.Context, b store.Boards) error { _, err := b.Hide(ctx, "top", false, "c"); return err },
		"seal": func(ctx context.Context, b store.Boards) error { _, err := b.Seal(ctx, "top"); return err },
	}
}

// smallBoard makes the board that boardWrites writes to.
func smallBoard(t *testing.T, b store.Boards) {
	t.Helper()
	createBoard(t, b, "top", "g")
	merge(t, b, "top", points(3, "a", "b", "c"))
	if _, err := b.Hide(t.Context(), "top", true, "c"); err != nil {
		t.Fatal(err)
	}
}

// The answer of every kind of write is lost: the outcome is unknown, and the same again leaves
// the board as if it had been written once.
func TestAnswersOfBoardsAreLost(t *testing.T) {
	server := enginetest.Redis(t)
	proxy := enginetest.Proxy(t, server.Addr())
	for name, write := range boardWrites() {
		t.Run(name, func(t *testing.T) {
			once := open(t, server.URL(enginetest.Prefix(t)), nil).Boards()
			prefix := enginetest.Prefix(t)
			direct := open(t, server.URL(prefix), nil).Boards()
			// One connection, which is made before its answers are lost.
			far := open(t, server.URLAt(proxy.Addr(), prefix), &redisstore.Options{Connections: 1}).Boards()
			smallBoard(t, once)
			smallBoard(t, far)
			if err := write(t.Context(), once); err != nil {
				t.Fatal(err)
			}
			want := readWhole(t, once, "top")
			proxy.DropAnswers()
			ctx, cancel := context.WithCancel(t.Context())
			answered := make(chan error, 1)
			go func() { answered <- write(ctx, far) }()
			again(t, "the write is applied", func() error {
				if info, err := direct.Info(t.Context(), "top"); info != want.Page.Info {
					return errors.Join(errors.New("not yet"), err)
				}
				return nil
			})
			cancel()
			if err := <-answered; !errors.Is(err, store.ErrUnknown) {
				t.Errorf("the write answers %v, want unknown", err)
			}
			proxy.Heal()
			if diff := cmp.Diff(want, readWhole(t, direct, "top")); diff != "" {
				t.Fatalf("after the lost answer (-want +got):\n%s", diff)
			}
			again(t, "the same write", func() error { return write(t.Context(), far) })
			if diff := cmp.Diff(want, readWhole(t, direct, "top")); diff != "" {
				t.Fatalf("after the same write (-want +got):\n%s", diff)
			}
		})
	}
}

// The server forgets the scripts before every call.
func TestScriptsOfBoardsAreForgotten(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	b := open(t, server.URL("p"), nil).Boards()
	for _, name := range []string{"best", "last", "sum", "hide", "show", "remove", "erase", "seal"} {
		if name == "best" {
			smallBoard(t, b)
		}
		ask(t, server, "SCRIPT", "FLUSH")
		if err := boardWrites()[name](t.Context(), b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ask(t, server, "SCRIPT", "FLUSH")
		if w := readWhole(t, b, "top"); len(w.Check.Problems) > 0 {
			t.Fatalf("%s: %+v", name, w)
		}
	}
	ask(t, server, "SCRIPT", "FLUSH")
	if names, err := b.List(t.Context(), "", "", 9); err != nil || len(names) != 1 {
		t.Fatalf("List = %v, %v", names, err)
	}
}

// The server is full: what would take memory is not done, wholly, and what frees some is.
func TestBoardsOnAFullServer(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	e := open(t, server.URL("p"), nil)
	b := e.Boards()
	smallBoard(t, b)
	ask(t, server, "CONFIG", "SET", "maxmemory", "8mb")
	filled := 0
	for n := 0; ; n++ { // until a batch meets the limit, wherever in it that is
		if n > 100 {
			t.Fatal("a server of 8 MB has taken 14 MB of metadata")
		}
		batch := store.Batch{Rule: store.Sum, Source: "filler", N: uint64(n + 1)}
		for i := range 700 {
			batch.Entries = append(batch.Entries, store.Submission{Key: fmt.Sprintf("key/%d/%d", n, i), Score: int64(i), Meta: []byte(strings.Repeat("m", 200))})
		}
		if _, err := b.Merge(t.Context(), "top", batch); err != nil {
			if !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("on a full server Merge answers %v", err)
			}
			break
		}
		filled += len(batch.Entries)
	}
	check, err := b.Check(t.Context(), "top", false)
	if diff := cmp.Diff(store.BoardCheck{Entries: int64(filled) + 3}, check); diff != "" || err != nil {
		t.Fatalf("Check of a full board, %v (-want +got):\n%s", err, diff)
	}
	ask(t, server, "CONFIG", "SET", "maxmemory", "2mb") // it stays full, whatever buffers are freed
	before, err := b.Info(t.Context(), "top")
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range boardWrites() {
		if name == "remove" || name == "erase" {
			continue
		}
		if err := write(t.Context(), b); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("on a full server %s answers %v", name, err)
		}
	}
	if _, err := b.Create(t.Context(), "another", store.BoardSpec{Order: store.Ascending, Generation: "g"}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("on a full server Create answers %v", err)
	}
	if after, err := b.Info(t.Context(), "top"); err != nil || after != before {
		t.Fatalf("after writes that were refused the board is %+v, %v, was %+v", after, err, before)
	}
	for _, name := range []string{"remove", "erase"} {
		if err := boardWrites()[name](t.Context(), b); err != nil {
			t.Errorf("on a full server %s answers %v", name, err)
		}
	}
	if _, found, err := b.Standing(t.Context(), "top", "b", store.Dense); err != nil || !found {
		t.Errorf("on a full server Standing answers %v, %v", found, err)
	}
	if err := b.Drop(t.Context(), "top"); err != nil {
		t.Errorf("on a full server Drop answers %v", err)
	}
}

// The server comes back without memory, or with an older one: a board is gone, or whole, and a
// walk of a version that it no longer knows does not go on.
func TestBoardsAfterLossOfMemory(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	b := open(t, server.URL("p"), nil).Boards()
	restart := func() {
		if err := errors.Join(server.Kill(), server.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		again(t, "list", func() error { _, err := b.List(t.Context(), "", "", 1); return err })
	}
	smallBoard(t, b)
	if err := server.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := readWhole(t, b, "top")
	merge(t, b, "top", points(9, "a", "b", "d", "e"))
	createBoard(t, b, "newer", "g")
	_, cursor, err := b.Walk(t.Context(), "top", store.Cursor{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	restart()
	if diff := cmp.Diff(old, readWhole(t, b, "top")); diff != "" {
		t.Fatalf("the board of the snapshot (-want +got):\n%s", diff)
	}
	if _, err := b.Info(t.Context(), "newer"); !errors.Is(err, store.ErrNoBoard) {
		t.Fatalf("Info of a board that the snapshot did not have = %v", err)
	}
	for i := range 12 { // other changes, up to the same sequence and beyond
		if _, _, err := b.Walk(t.Context(), "top", cursor, 2); !errors.Is(err, store.ErrCursor) {
			t.Fatalf("a walk of a lost version answers %v after %d changes", err, i)
		}
		merge(t, b, "top", points(1, fmt.Sprint("x/", i), fmt.Sprint("y/", i)))
		if _, _, err := b.Walk(t.Context(), "top", store.Cursor{}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Forget(); err != nil {
		t.Fatal(err)
	}
	restart()
	for name, write := range boardWrites() {
		if err := write(t.Context(), b); !errors.Is(err, store.ErrNoBoard) {
			t.Errorf("%s on a board that is lost answers %v", name, err)
		}
	}
	if names, err := b.List(t.Context(), "", "", 9); err != nil || len(names) > 0 {
		t.Errorf("List = %v, %v, want none", names, err)
	}
}

// The list is in another slot than the boards, and may be lost alone, or know what is not there.
func TestListOfBoardsIsVerified(t *testing.T) {
	server := enginetest.Redis(t)
	e := open(t, server.URL(enginetest.Prefix(t)), nil)
	b := e.Boards()
	list := func(want ...string) {
		t.Helper()
		for limit := 1; limit < 5; limit++ {
			names, err := b.List(t.Context(), "", "", limit)
			if diff := cmp.Diff(append([]string(nil), want[:min(limit, len(want))]...), names); diff != "" || err != nil {
				t.Fatalf("List by %d, %v (-want +got):\n%s", limit, err, diff)
			}
		}
	}
	createBoard(t, b, "a", "g")
	createBoard(t, b, "c", "g")
	ask(t, server, "ZADD", e.BoardList(), "0", "a OTHERLIFE", "0", "b NOLIFE", "0", "c 0", "0", "d 1")
	list("a", "c")
	ask(t, server, "DEL", e.BoardList())
	list()
	createBoard(t, b, "c", "g") // it exists
	list("c")
	if err := b.Drop(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if n := ask(t, server, "ZCARD", e.BoardList()); n != int64(0) {
		t.Errorf("%v lines are left of no board", n)
	}
	_, err := b.Create(t.Context(), "a", store.BoardSpec{Order: store.Ascending, Generation: "g"})
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Create in the other order = %v", err)
	}
}

// Boards are made and dropped at the same time: what exists at the end is listed.
func TestBoardsMadeAndDroppedTogether(t *testing.T) {
	server := enginetest.Redis(t)
	prefix := enginetest.Prefix(t)
	const workers, rounds = 4, 40
	done := make(chan error, workers)
	for w := range workers {
		b := open(t, server.URL(prefix), nil).Boards()
		go func() {
			var err error
			for i := 0; i < rounds && err == nil; i++ {
				if (i+w)%3 == 0 {
					err = b.Drop(t.Context(), "top")
				} else {
					_, err = b.Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: fmt.Sprint(w)})
				}
			}
			done <- err
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	e := open(t, server.URL(prefix), nil)
	b := e.Boards()
	_, err := b.Info(t.Context(), "top")
	names, listErr := b.List(t.Context(), "", "", 9)
	if exists := err == nil; listErr != nil || exists != (len(names) == 1) {
		t.Fatalf("Info answers %v, List %v, %v", err, names, listErr)
	}
	if lines := ask(t, server, "ZCARD", e.BoardList()); lines != int64(len(names)) {
		t.Errorf("%v lines are left, of %d boards", lines, len(names))
	}
}
