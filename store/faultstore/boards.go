package faultstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// boards decorates boards.
type boards struct {
	port
	next store.Boards
}

// nothing is the answer of a call that answers only an error.
type nothing struct{}

// standing is the answer of Standing.
type standing struct {
	standing store.Standing
	ok       bool
}

// Create implements store.Boards.
func (b *boards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	return through(ctx, b.port, b.call("create", true, board), func(ctx context.Context) (store.BoardInfo, error) {
		return b.next.Create(ctx, board, spec)
	})
}

// Merge implements store.Boards.
func (b *boards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	batch.Entries = slices.Clone(batch.Entries) // it may be needed after the call
	for i := range batch.Entries {
		batch.Entries[i].Meta = bytes.Clone(batch.Entries[i].Meta)
	}
	return through(ctx, b.port, b.call("merge", true, board), func(ctx context.Context) ([]store.Change, error) {
		return b.next.Merge(ctx, board, batch)
	})
}

// Page implements store.Boards.
func (b *boards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	return through(ctx, b.port, b.call("page", false, board), func(ctx context.Context) (store.Page, error) {
		return b.next.Page(ctx, board, offset, limit, mode)
	})
}

// Standing implements store.Boards.
func (b *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
	s, err := through(ctx, b.port, b.call("standing", false, board, key), func(ctx context.Context) (standing, error) {
		s, ok, err := b.next.Standing(ctx, board, key, mode)
		return standing{s, ok}, err
	})
	return s.standing, s.ok, err
}

// Around implements store.Boards.
func (b *boards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
	return through(ctx, b.port, b.call("around", false, board, key), func(ctx context.Context) (store.Page, error) {
		return b.next.Around(ctx, board, key, n, mode)
	})
}

// Scores implements store.Boards.
func (b *boards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	return through(ctx, b.port, b.call("scores", false, board), func(ctx context.Context) (map[string]store.Entry, error) {
		return b.next.Scores(ctx, board, keys...)
	})
}

// Remove implements store.Boards.
func (b *boards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	keys = slices.Clone(keys) // it may be needed after the call
	return through(ctx, b.port, b.call("remove", true, board), func(ctx context.Context) (int, error) {
		return b.next.Remove(ctx, board, keys...)
	})
}

// Erase implements store.Boards.
func (b *boards) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	keys = slices.Clone(keys) // it may be needed after the call
	return through(ctx, b.port, b.call("erase", true, board), func(ctx context.Context) (int, error) {
		return b.next.Erase(ctx, board, keys...)
	})
}

// walked is the answer of Walk.
type walked struct {
	page store.Page
	next store.Cursor
}

// Walk implements store.Boards.
func (b *boards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	w, err := through(ctx, b.port, b.call("walk", false, board), func(ctx context.Context) (walked, error) {
		page, next, err := b.next.Walk(ctx, board, from, limit)
		return walked{page, next}, err
	})
	if err != nil {
		return store.Page{}, from, err
	}
	return w.page, w.next, nil
}

// Hide implements store.Boards.
func (b *boards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	keys = slices.Clone(keys) // it may be needed after the call
	return through(ctx, b.port, b.call("hide", true, board), func(ctx context.Context) (int, error) {
		return b.next.Hide(ctx, board, hidden, keys...)
	})
}

// Hidden implements store.Boards.
func (b *boards) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	return through(ctx, b.port, b.call("hidden", false, board), func(ctx context.Context) ([]store.HiddenEntry, error) {
		return b.next.Hidden(ctx, board, after, limit)
	})
}

// Check implements store.Boards.
func (b *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	return through(ctx, b.port, b.call("check", repair, board), func(ctx context.Context) (store.BoardCheck, error) {
		return b.next.Check(ctx, board, repair)
	})
}

// Seal implements store.Boards.
func (b *boards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	return through(ctx, b.port, b.call("seal", true, board), func(ctx context.Context) (store.BoardInfo, error) {
		return b.next.Seal(ctx, board)
	})
}

// Info implements store.Boards.
func (b *boards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	return through(ctx, b.port, b.call("info", false, board), func(ctx context.Context) (store.BoardInfo, error) {
		return b.next.Info(ctx, board)
	})
}

// List implements store.Boards.
func (b *boards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	return through(ctx, b.port, b.call("list", false, prefix), func(ctx context.Context) ([]string, error) {
		return b.next.List(ctx, prefix, after, limit)
	})
}

// Drop implements store.Boards.
func (b *boards) Drop(ctx context.Context, board string) error {
	_, err := through(ctx, b.port, b.call("drop", true, board), func(ctx context.Context) (nothing, error) {
		return nothing{}, b.next.Drop(ctx, board)
	})
	return err
}

// Close implements store.Boards. It meets no faults.
func (b *boards) Close(ctx context.Context) error {
	b.close()
	return b.next.Close(ctx)
}
