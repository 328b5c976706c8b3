package board_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// countedPages counts the reads of pages.
type countedPages struct {
	store.Boards
	mu struct {
		sync.Mutex
		n int
	}
}

func (c *countedPages) Page(ctx context.Context, name string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	c.mu.Lock()
	c.mu.n++
	c.mu.Unlock()
	return c.Boards.Page(ctx, name, offset, limit, mode)
}

func (c *countedPages) reads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.n
}

// TestTopDoesNotAllocate holds for the cached page in every mode.
func TestTopDoesNotAllocate(t *testing.T) {
	p := site{func(*testing.T) store.Parts { return memstore.New(nil).Parts() }}.node(t, board.Options{Boards: boards{"Kills": {}}})
	p.put(t, "Kills", entryOf{"u1", 2}, entryOf{"u2", 2}, entryOf{"u3", 1})
	for _, mode := range rankModes() {
		v, ctx := p.By(mode), t.Context()
		if n := testing.AllocsPerRun(100, func() { _, _ = v.Top(ctx, "Kills", 2) }); n > 0 {
			t.Errorf("Top by %v: %v allocations", mode, n)
		}
	}
}

// FuzzReadKey has every read that takes a key refuse it as Submit did, or find what was
// written under it.
func FuzzReadKey(f *testing.F) {
	// case B17
	for _, key := range []string{"u1", "", "a/b", "../x", "a\x00b", "ü", "a b", "%2e", "Kills", "x,y", "-", "~"} {
		f.Add(key, int64(1), 0)
	}
	svc, err := board.NewOn(board.Host{ID: "n", Boards: memstore.New(nil).Boards(), Now: time.Now, Logger: discard()}, &board.Options{
		FlushEvery: -1, CacheFor: -1, Boards: boards{"Kills": {Rule: store.Last, MaxEntries: 2}},
		Names: &board.NameOptions{PerMinute: -1, Resolve: func(_ context.Context, keys []string) (map[string]board.Name, error) {
			out := make(map[string]board.Name)
			for _, key := range keys {
				out[key] = board.Name{User: key}
			}
			return out, nil
		}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _, _ = svc.Close(context.WithoutCancel(f.Context())) })
	f.Fuzz(func(t *testing.T, key string, score int64, n int) {
		ctx := t.Context()
		submitted := svc.Submit("Kills", key, score)
		agrees := func(read string, err error, found bool) {
			t.Helper()
			if submitted != nil {
				wantRefused(t, err, "key", board.ErrName)
			} else if err != nil || !found {
				t.Fatalf("%s of %q: found %v, %v", read, key, found, err)
			}
		}
		if err := svc.FlushNow(ctx); err != nil {
			t.Fatal(err)
		}
		for _, mode := range rankModes() {
			v := svc.By(mode)
			st, ok, err := v.Standing(ctx, "Kills", key)
			agrees("Standing", err, ok && st.Key == key && st.Score == score)
			page, err := v.Around(ctx, "Kills", key, 0)
			agrees("Around", err, len(page.Entries) == 1 && page.Entries[0].Rank == st.Rank)
			c, err := v.Card(ctx, "Kills", key, 0)
			agrees("Card", err, c.OK && c.Standing.Score == score && contradiction(mode, c) == nil)
		}
		p, ok, err := svc.Percentile(ctx, "Kills", key)
		agrees("Percentile", err, ok && p.Top > 0 && p.Top <= 100)
		got, err := svc.Scores(ctx, "Kills", key)
		agrees("Scores", err, got[key].Score == score)
		names, err := svc.Names(ctx, key)
		agrees("Names", err, names[key].User == key)
		// Counts are refused or kept to, whatever they are.
		if page, err := svc.Top(ctx, "Kills", n); err == nil && n > 0 && len(page.Entries) > n || err != nil && !errors.Is(err, board.ErrCount) {
			t.Fatalf("Top(%d): %d entries, %v", n, len(page.Entries), err)
		}
		if page, _, err := svc.Walk(ctx, "Kills", "", n); err == nil && n > 0 && len(page.Entries) > n || err != nil && !errors.Is(err, board.ErrCount) {
			t.Fatalf("Walk(%d): %d entries, %v", n, len(page.Entries), err)
		}
	})
}
