package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// What is stored of one entry cannot be read: a batch with it is not applied at all, however far
// behind it stands, and its number is not taken. After a repair the same batch is counted once.
func TestBatchWithAnEntryThatCannotBeRead(t *testing.T) {
	server := enginetest.Redis(t)
	batch := store.Batch{Rule: store.Sum, Source: "node", N: 2}
	for i := range 2500 {
		batch.Entries = append(batch.Entries, store.Submission{Key: fmt.Sprintf("key/%04d", i), Score: 1})
	}
	for name, c := range map[string]struct {
		bad string
		at  int
		n   int
	}{
		"alone, short":       {bad: "short", at: 0, n: 1},
		"alone, half":        {bad: "a position and half", at: 0, n: 1},
		"in the third part":  {bad: "short", at: 2400, n: 2500},
		"in the second part": {bad: "", at: 1001, n: 2500},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, server.URL(enginetest.Prefix(t)), nil)
			b := e.Boards()
			createBoard(t, b, "top", "g")
			batch := batch
			batch.Entries = batch.Entries[:c.n]
			first := batch
			first.N = 1
			merge(t, b, "top", first)
			ask(t, server, "HSET", e.BoardKey("top", "entries"), batch.Entries[c.at].Key, c.bad)
			before := readWhole(t, b, "top")

			_, err := b.Merge(t.Context(), "top", batch)
			if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("Merge answers %v, want unavailable", err)
			}
			if diff := cmp.Diff(before, readWhole(t, b, "top")); diff != "" {
				t.Fatalf("a batch that was refused changed the board (-want +got):\n%s", diff)
			}
			if check, err := b.Check(t.Context(), "top", true); err != nil || !check.Repaired || len(check.Problems) == 0 {
				t.Fatalf("repair = %+v, %v", check, err)
			}
			changes, err := b.Merge(t.Context(), "top", batch)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range changes {
				if want := (store.Change{Effect: store.Changed, Old: 1, New: 2}); got != want {
					t.Fatalf("entry %d: %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

// The same of what else is stored of a board.
func TestBoardWithBytesThatCannotBeRead(t *testing.T) {
	server := enginetest.Redis(t)
	for name, c := range map[string]struct{ part, field, value string }{
		"a hidden entry": {"hidden", "c", "short"},
		"an entry":       {"entries", "a", "short"},
		"the sequence":   {"info", "sequence", "seven b"},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, server.URL(enginetest.Prefix(t)), nil)
			b := e.Boards()
			smallBoard(t, b)
			ask(t, server, "HSET", e.BoardKey("top", c.part), c.field, c.value)
			for _, call := range []string{"best", "remove", "erase"} {
				if err := boardWrites()[call](t.Context(), b); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
					t.Errorf("%s answers %v, want unavailable", call, err)
				}
			}
			if check, err := b.Check(t.Context(), "top", true); err != nil || !check.Repaired || len(check.Problems) == 0 {
				t.Fatalf("repair = %+v, %v", check, err)
			}
			for _, call := range []string{"best", "hide", "show", "remove"} {
				if err := boardWrites()[call](t.Context(), b); err != nil {
					t.Errorf("after the repair %s answers %v", call, err)
				}
			}
		})
	}
}

// A log of walks that cannot be read is none: walks and writes go on.
func TestWalkLogThatCannotBeRead(t *testing.T) {
	server := enginetest.Redis(t)
	e := open(t, server.URL(enginetest.Prefix(t)), nil)
	b := e.Boards()
	smallBoard(t, b)
	walk := func(ctx context.Context) (store.Cursor, error) {
		_, at, err := b.Walk(ctx, "top", store.Cursor{}, 1)
		return at, err
	}
	for range 2 {
		ask(t, server, "HSET", e.BoardKey("top", "info"), "walk", "nonsense")
		merge(t, b, "top", points(9, "a"))
		at, err := walk(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ask(t, server, "HSET", e.BoardKey("top", "info"), "walk", "nonsense")
		merge(t, b, "top", points(10, "b"))
		if _, _, err := b.Walk(t.Context(), "top", at, 1); !errors.Is(err, store.ErrCursor) {
			t.Fatalf("a walk whose log is lost answers %v", err)
		}
		if _, err := walk(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
