package sim

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// boards is a process's handle on the boards. Every call parks at the turnstile.
type boards struct{ p *Process }

// doBoard makes a call of one unit and answers what the driver answered.
func doBoard[T any](ctx context.Context, b *boards, o op, board string, call func(context.Context, store.Boards) (T, error)) (T, error) {
	detached := context.WithoutCancel(ctx)
	var out T
	errs := b.p.call(ctx, request{
		part: Boards, op: o, key: board, units: 1,
		apply: func(int) (err error) {
			out, err = call(detached, b.p.w.boards)
			return err
		},
	})
	if errs[0] != nil {
		var none T
		return none, errs[0]
	}
	return out, nil
}

// Create implements store.Boards.
func (b *boards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	return doBoard(ctx, b, opBoardWrite, board, func(ctx context.Context, d store.Boards) (store.BoardInfo, error) {
		return d.Create(ctx, board, spec)
	})
}

// Merge implements store.Boards.
func (b *boards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	return doBoard(ctx, b, opBoardWrite, board, func(ctx context.Context, d store.Boards) ([]store.Change, error) {
		return d.Merge(ctx, board, batch)
	})
}

// Page implements store.Boards.
func (b *boards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	return doBoard(ctx, b, opBoardRead, board, func(ctx context.Context, d store.Boards) (store.Page, error) {
		return d.Page(ctx, board, offset, limit, mode)
	})
}

// Standing implements store.Boards.
func (b *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
	found := false
	s, err := doBoard(ctx, b, opBoardRead, board, func(ctx context.Context, d store.Boards) (store.Standing, error) {
		s, ok, err := d.Standing(ctx, board, key, mode)
		found = ok
		return s, err
	})
	return s, found && err == nil, err
}

// Around implements store.Boards.
func (b *boards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
	return doBoard(ctx, b, opBoardRead, board, func(ctx context.Context, d store.Boards) (store.Page, error) {
		return d.Around(ctx, board, key, n, mode)
	})
}

// Scores implements store.Boards.
func (b *boards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	return doBoard(ctx, b, opBoardRead, board, func(ctx context.Context, d store.Boards) (map[string]store.Entry, error) {
		return d.Scores(ctx, board, keys...)
	})
}

// Remove implements store.Boards.
func (b *boards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	return doBoard(ctx, b, opBoardWrite, board, func(ctx context.Context, d store.Boards) (int, error) {
		return d.Remove(ctx, board, keys...)
	})
}

// Walk implements store.Boards.
func (b *boards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (page store.Page, next store.Cursor, err error) {
	next, err = doBoard(ctx, b, opBoardRead, board, func(ctx context.Context, d store.Boards) (next store.Cursor, err error) {
		page, next, err = d.Walk(ctx, board, from, limit)
		return next, err
	})
	if err != nil {
		return store.Page{}, from, err
	}
	return page, next, nil
}

// Hide implements store.Boards.
func (b *boards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	return doBoard(ctx, b, opBoardWrite, board, func(ctx context.Context, d store.Boards) (int, error) {
		return d.Hide(ctx, board, hidden, keys...)
	})
}

// Hidden implements store.Boards.
func (b *boards) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	return doBoard(ctx, b, opBoardRead, board, func(ctx context.Context, d store.Boards) ([]store.HiddenEntry, error) {
		return d.Hidden(ctx, board, after, limit)
	})
}

// Check implements store.Boards.
func (b *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	return doBoard(ctx, b, opBoardWrite, board, func(ctx context.Context, d store.Boards) (store.BoardCheck, error) {
		return d.Check(ctx, board, repair)
	})
}

// Seal implements store.Boards.
func (b *boards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	return doBoard(ctx, b, opBoardWrite, board, func(ctx context.Context, d store.Boards) (store.BoardInfo, error) {
		return d.Seal(ctx, board)
	})
}

// Info implements store.Boards.
func (b *boards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	return doBoard(ctx, b, opBoardRead, board, func(ctx context.Context, d store.Boards) (store.BoardInfo, error) {
		return d.Info(ctx, board)
	})
}

// List implements store.Boards.
func (b *boards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	return doBoard(ctx, b, opBoardRead, prefix, func(ctx context.Context, d store.Boards) ([]string, error) {
		return d.List(ctx, prefix, after, limit)
	})
}

// Drop implements store.Boards.
func (b *boards) Drop(ctx context.Context, board string) error {
	_, err := doBoard(ctx, b, opBoardWrite, board, func(ctx context.Context, d store.Boards) (struct{}, error) {
		return struct{}{}, d.Drop(ctx, board)
	})
	return err
}

// Close implements store.Boards. The memory stays.
func (b *boards) Close(context.Context) error { return nil }
