package sim

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// boards is a process's handle on the boards. Every call parks at the turnstile.
type boards struct{ p *Process }

// BoardCall is a call of a board's store that was applied without an error.
type BoardCall struct {
	Op    string // "create", "merge", "remove", "hide", "seal", "drop"; "page", "standing", "around" are reads
	Board string
	Made  uint64      // the step after which the process made the call
	Batch store.Batch // merge
	Keys  []string    // remove and hide
	Read  BoardRead
}

// BoardRead is a read and its answer.
type BoardRead struct {
	Key    string // standing and around
	Offset int64  // page
	Limit  int    // page; how many on each side of the key for around
	Mode   store.RankMode
	Page   store.Page // of a standing that was found the one entry
}

// doBoard makes a call of one unit and answers what the driver answered. Twins are told apart
// by what they ask for.
func doBoard[T any](ctx context.Context, b *boards, o op, c *BoardCall, call func(context.Context, store.Boards) (T, error)) (T, error) {
	detached := context.WithoutCancel(ctx)
	w := b.p.w
	c.Made = w.Steps()
	var out T
	errs := b.p.call(ctx, request{
		part: Boards, op: o, key: c.Board, units: 1,
		apply: func(int) (err error) {
			out, err = call(detached, w.boards)
			if err == nil {
				w.watch.Ranked(b.p, c)
			}
			return err
		},
		content: func() uint64 { return foldText(0, c.words()) },
		tell:    func(int) string { return c.words() },
	})
	if errs[0] != nil {
		var none T
		return none, errs[0]
	}
	return out, nil
}

// words is what the call asks for.
func (c *BoardCall) words() string {
	switch c.Op {
	case "merge":
		return fmt.Sprintf("merge %v %d %v", c.Batch.Rule, c.Batch.N, c.Batch.Entries)
	case "page", "standing", "around", "walk":
		return fmt.Sprintf("%s %s %d %d %v", c.Op, c.Read.Key, c.Read.Offset, c.Read.Limit, c.Read.Mode)
	}
	return fmt.Sprintf("%s %v", c.Op, c.Keys)
}

// Create implements store.Boards.
func (b *boards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	return doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "create", Board: board}, func(ctx context.Context, d store.Boards) (store.BoardInfo, error) {
		return d.Create(ctx, board, spec)
	})
}

// Merge implements store.Boards.
func (b *boards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	return doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "merge", Board: board, Batch: batch}, func(ctx context.Context, d store.Boards) ([]store.Change, error) {
		return d.Merge(ctx, board, batch)
	})
}

// Page implements store.Boards.
func (b *boards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	c := &BoardCall{Op: "page", Board: board, Read: BoardRead{Offset: offset, Limit: limit, Mode: mode}}
	return doBoard(ctx, b, opBoardRead, c, func(ctx context.Context, d store.Boards) (_ store.Page, err error) {
		c.Read.Page, err = d.Page(ctx, board, offset, limit, mode)
		return c.Read.Page, err
	})
}

// Standing implements store.Boards.
func (b *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
	c := &BoardCall{Op: "standing", Board: board, Read: BoardRead{Key: key, Mode: mode}}
	found := false
	s, err := doBoard(ctx, b, opBoardRead, c, func(ctx context.Context, d store.Boards) (store.Standing, error) {
		s, ok, err := d.Standing(ctx, board, key, mode)
		if found = ok; ok {
			c.Read.Page.Entries = []store.Standing{s}
		}
		return s, err
	})
	return s, found && err == nil, err
}

// Around implements store.Boards.
func (b *boards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
	c := &BoardCall{Op: "around", Board: board, Read: BoardRead{Key: key, Limit: n, Mode: mode}}
	return doBoard(ctx, b, opBoardRead, c, func(ctx context.Context, d store.Boards) (_ store.Page, err error) {
		c.Read.Page, err = d.Around(ctx, board, key, n, mode)
		return c.Read.Page, err
	})
}

// Scores implements store.Boards.
func (b *boards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	return doBoard(ctx, b, opBoardRead, &BoardCall{Op: "scores", Board: board, Keys: keys}, func(ctx context.Context, d store.Boards) (map[string]store.Entry, error) {
		return d.Scores(ctx, board, keys...)
	})
}

// Remove implements store.Boards.
func (b *boards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	return doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "remove", Board: board, Keys: keys}, func(ctx context.Context, d store.Boards) (int, error) {
		return d.Remove(ctx, board, keys...)
	})
}

// Erase implements store.Boards.
func (b *boards) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	return doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "erase", Board: board, Keys: keys}, func(ctx context.Context, d store.Boards) (int, error) {
		return d.Erase(ctx, board, keys...)
	})
}

// Walk implements store.Boards.
func (b *boards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (page store.Page, next store.Cursor, err error) {
	next, err = doBoard(ctx, b, opBoardRead, &BoardCall{Op: "walk", Board: board, Read: BoardRead{Offset: from.Seen, Limit: limit}}, func(ctx context.Context, d store.Boards) (next store.Cursor, err error) {
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
	return doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "hide", Board: board, Keys: keys}, func(ctx context.Context, d store.Boards) (int, error) {
		return d.Hide(ctx, board, hidden, keys...)
	})
}

// Hidden implements store.Boards.
func (b *boards) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	return doBoard(ctx, b, opBoardRead, &BoardCall{Op: "hidden", Board: board, Keys: []string{after}}, func(ctx context.Context, d store.Boards) ([]store.HiddenEntry, error) {
		return d.Hidden(ctx, board, after, limit)
	})
}

// Check implements store.Boards.
func (b *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	return doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "check", Board: board}, func(ctx context.Context, d store.Boards) (store.BoardCheck, error) {
		return d.Check(ctx, board, repair)
	})
}

// Seal implements store.Boards.
func (b *boards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	return doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "seal", Board: board}, func(ctx context.Context, d store.Boards) (store.BoardInfo, error) {
		return d.Seal(ctx, board)
	})
}

// Info implements store.Boards.
func (b *boards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	return doBoard(ctx, b, opBoardRead, &BoardCall{Op: "info", Board: board}, func(ctx context.Context, d store.Boards) (store.BoardInfo, error) {
		return d.Info(ctx, board)
	})
}

// List implements store.Boards.
func (b *boards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	return doBoard(ctx, b, opBoardRead, &BoardCall{Op: "list", Board: prefix, Keys: []string{after}}, func(ctx context.Context, d store.Boards) ([]string, error) {
		return d.List(ctx, prefix, after, limit)
	})
}

// Drop implements store.Boards.
func (b *boards) Drop(ctx context.Context, board string) error {
	_, err := doBoard(ctx, b, opBoardWrite, &BoardCall{Op: "drop", Board: board}, func(ctx context.Context, d store.Boards) (struct{}, error) {
		return struct{}{}, d.Drop(ctx, board)
	})
	return err
}

// Close implements store.Boards. The memory stays.
func (b *boards) Close(context.Context) error { return nil }
