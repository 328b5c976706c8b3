package parity_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// named is a part of an engine.
type named[T any] struct {
	name string
	part T
}

// fleet is the parts of all engines; the first is the one that the others are compared with.
type fleet struct {
	records []named[store.Records] // that span keys with a transaction
	single  []named[store.Records] // all, for transactions of one key
	boards  []named[store.Boards]
}

// add puts the parts of an engine behind the contract's checks; it is closed with the test.
func (f *fleet) add(t *testing.T, name string, p store.Parts, end func(context.Context) error) {
	t.Helper()
	whole := p
	if whole.Durable == nil {
		whole.Durable = whole.Fast
	}
	if whole.Bus == nil {
		whole.Bus = memstore.New(nil).Bus()
	}
	st, err := store.New(whole)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := end(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	parts := []named[store.Records]{{name, st.Durable()}}
	if !st.OneRecords() {
		parts = append(parts, named[store.Records]{name + " (fast)", st.Fast()})
	}
	for _, r := range parts {
		f.single = append(f.single, r)
		if r.part.Abilities().MultiKey {
			f.records = append(f.records, r)
		}
	}
	f.boards = append(f.boards, named[store.Boards]{name, st.Boards()})
}

// allEngines are memory, SQLite, PostgreSQL and Redis, each empty.
func allEngines(t *testing.T) *fleet {
	t.Helper()
	ctx, f := t.Context(), &fleet{}
	memory, err := memstore.New(nil).Store()
	if err != nil {
		t.Fatal(err)
	}
	f.add(t, "memory", store.Parts{Durable: memory.Durable(), Boards: memory.Boards(), Bus: memory.Bus()}, memory.Close)
	lite, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "game"), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.add(t, "SQLite", store.Parts{Durable: lite.Durable(), Fast: lite.Fast(), Boards: lite.Boards(), Bus: lite.Bus()}, lite.Close)
	pg, err := pgstore.Open(ctx, enginetest.Postgres(t).URL(enginetest.Schema(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.add(t, "PostgreSQL", store.Parts{Durable: pg.Durable(), Fast: pg.Fast(), Boards: pg.Boards()}, pg.Close)
	rd, err := redisstore.Open(ctx, enginetest.Redis(t).URL(enginetest.Prefix(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.add(t, "Redis", store.Parts{Fast: rd.Fast(), Boards: rd.Boards(), Bus: rd.Bus()}, rd.Close)
	return f
}

// word is an error as the contract has it: the one of the vocabulary.
func word(err error) string {
	if err == nil {
		return "done"
	}
	for _, w := range []error{
		store.ErrConflict, store.ErrUnavailable, store.ErrTooLarge, store.ErrUnknown, store.ErrUnsupported,
		store.ErrInvalid, store.ErrClosed, store.ErrSealed, store.ErrNoBoard, store.ErrCursor,
	} {
		if is(err, w) {
			return w.Error()
		}
	}
	return "outside of the vocabulary: " + err.Error()
}

// order replaces numbers that are the engine's own by the order in which they rise.
type order map[uint64]int

func orderOf(numbers ...uint64) order {
	out := make(order)
	for _, n := range numbers {
		less := 0
		for _, m := range numbers {
			if m < n {
				less++
			}
		}
		out[n] = less
	}
	return out
}

func (o order) of(n uint64) string { return fmt.Sprintf("~%d", o[n]) }
