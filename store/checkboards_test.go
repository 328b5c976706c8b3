package store_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

func TestUnknownRankModeIsRefused(t *testing.T) {
	check(t, []refused{
		{"page", func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Page(ctx, "b", 0, 1, 3)
			return err
		}, store.ErrInvalid, "mode"},
		{"standing", func(ctx context.Context, s *store.Store) error {
			_, _, err := s.Boards().Standing(ctx, "b", "k", 3)
			return err
		}, store.ErrInvalid, "mode"},
		{"around", func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Around(ctx, "b", "k", 1, 255)
			return err
		}, store.ErrInvalid, "mode"},
	})
}

func TestMalformedHideIsRefused(t *testing.T) {
	hide := func(keys ...string) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Hide(ctx, "b", true, keys...)
			return err
		}
	}
	hidden := func(after string, limit int) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			_, err := s.Boards().Hidden(ctx, "b", after, limit)
			return err
		}
	}
	check(t, []refused{
		{"too many keys", hide(distinct(store.MaxPage + 1)...), store.ErrTooLarge, "keys"},
		{"a key twice", hide("a", "b", "a"), store.ErrInvalid, "keys[2]"},
		{"list of less than nothing", hidden("", -1), store.ErrInvalid, "limit"},
		{"list too large", hidden("", store.MaxPage+1), store.ErrInvalid, "limit"},
		{"list after a long key", hidden(strings.Repeat("k", store.MaxBoardName+1), 1), store.ErrInvalid, "prefix"},
	})
}

// cursor is one in the middle of a walk.
func cursor(f func(*store.Cursor)) store.Cursor {
	c := store.Cursor{Generation: strings.Repeat("g", store.MaxGeneration), Version: math.MaxInt64, Total: 9, Seen: 3, Score: math.MinInt64, Sequence: math.MaxInt64}
	f(&c)
	return c
}

func TestMalformedWalkIsRefused(t *testing.T) {
	walk := func(from store.Cursor, limit int) func(context.Context, *store.Store) error {
		return func(ctx context.Context, s *store.Store) error {
			page, next, err := s.Boards().Walk(ctx, "b", from, limit)
			if next != from || !cmp.Equal(page, store.Page{}) {
				return nil
			}
			return err
		}
	}
	check(t, []refused{
		{"no entries", walk(store.Cursor{}, 0), store.ErrInvalid, "limit"},
		{"less than nothing", walk(store.Cursor{}, -1), store.ErrInvalid, "limit"},
		{"too many", walk(store.Cursor{}, store.MaxPage+1), store.ErrInvalid, "limit"},
		{"no generation", walk(cursor(func(c *store.Cursor) { c.Generation = "" }), 1), store.ErrInvalid, "from"},
		{"a long generation", walk(cursor(func(c *store.Cursor) { c.Generation += "g" }), 1), store.ErrInvalid, "from"},
		{"a generation that is none", walk(cursor(func(c *store.Cursor) { c.Generation = "a b" }), 1), store.ErrInvalid, "from"},
		{"seen less than nothing", walk(cursor(func(c *store.Cursor) { c.Seen = -1 }), 1), store.ErrInvalid, "from"},
		{"of less than nothing", walk(cursor(func(c *store.Cursor) { c.Total = -1 }), 1), store.ErrInvalid, "from"},
		{"a version of 64 bits", walk(cursor(func(c *store.Cursor) { c.Version = 1 << 63 }), 1), store.ErrInvalid, "from"},
		{"a sequence of 64 bits", walk(cursor(func(c *store.Cursor) { c.Sequence = 1 << 63 }), 1), store.ErrInvalid, "from"},
	})
	s := &spy{}
	if _, _, err := watched(t, s).Boards().Walk(t.Context(), "b", cursor(func(*store.Cursor) {}), store.MaxPage); err != nil || len(s.calls) != 1 {
		t.Errorf("the largest cursor: %v, and the driver saw %q", err, s.calls)
	}
}

// A walk that is done answers no more, and asks no driver.
func TestWalkThatIsDone(t *testing.T) {
	for _, done := range []store.Cursor{
		{Generation: "g", Version: 7, Total: 5, Seen: 5, Score: 1, Sequence: 3},
		{Generation: "g", Version: 0, Total: 0},
	} {
		s := &spy{}
		page, next, err := watched(t, s).Boards().Walk(t.Context(), "b", done, 10)
		if err != nil || next != done || !next.Done() || len(s.calls) != 0 {
			t.Errorf("Walk = %+v, %v, done: %v; the driver saw %q", next, err, next.Done(), s.calls)
		}
		want := store.Page{Total: done.Total, Info: store.BoardInfo{Generation: "g", Sequence: done.Version, Count: done.Total}}
		if diff := cmp.Diff(want, page); diff != "" {
			t.Errorf("the page (-want +got):\n%s", diff)
		}
	}
	for _, open := range []store.Cursor{{}, {Generation: "g", Total: 5, Seen: 4}} {
		if open.Done() {
			t.Errorf("%+v is done", open)
		}
	}
}
