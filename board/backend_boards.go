package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// backendKeys is how many keys a Backend looks up in one call.
const backendKeys = 100

// backendBoards is a Backend as the boards of a store.
type backendBoards struct {
	to    Backend
	order func(board string) (store.Order, error)
}

var _ store.Boards = (*backendBoards)(nil)

func unsupported(what string) error {
	return fmt.Errorf("%w: a Backend cannot %s", store.ErrUnsupported, what)
}

// Create implements store.Boards: a Backend has every board.
func (b *backendBoards) Create(_ context.Context, _ string, spec store.BoardSpec) (store.BoardInfo, error) {
	return store.BoardInfo{Order: spec.Order}, nil
}

// Merge implements store.Boards, one key after the other. It is not atomic: when a key fails
// after others were written, the outcome is unknown.
func (b *backendBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	order, err := b.order(board)
	if err != nil {
		return nil, err
	}
	if err := checkBackendBatch(board, batch); err != nil {
		return nil, err
	}
	changes := make([]store.Change, 0, len(batch.Entries))
	for i, e := range batch.Entries {
		c, err := b.write(ctx, board, e, batch.Rule == store.Best, order)
		if err != nil && (i > 0 || errors.Is(err, store.ErrNoBoard)) {
			return nil, fmt.Errorf("%w: %d of %d written, then: %s", store.ErrUnknown, i, len(batch.Entries), err.Error())
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// checkBackendBatch refuses what a Backend would store otherwise than it was meant.
func checkBackendBatch(board string, batch store.Batch) error {
	if batch.Rule != store.Best && batch.Rule != store.Last {
		return sumError(board)
	}
	seen := make(map[string]struct{}, len(batch.Entries))
	for i, e := range batch.Entries {
		if err := checkKey(board, e.Key); err != nil {
			return fmt.Errorf("%w: entries[%d]: %w", store.ErrInvalid, i, err)
		}
		if len(e.Meta) > 0 {
			return unsupported("store metadata")
		}
		if _, twice := seen[e.Key]; twice {
			return &store.InvalidError{Field: fmt.Sprintf("entries[%d].key", i), Problem: fmt.Sprintf("%q comes twice", e.Key)}
		}
		seen[e.Key] = struct{}{}
	}
	return nil
}

// write stores one score. Where the Backend applies the rule, what it did is not known: the
// change says that the score has become this one.
func (b *backendBoards) write(ctx context.Context, board string, e store.Submission, keepBest bool, order store.Order) (store.Change, error) {
	if to, ok := b.to.(BackendSubmitter); ok {
		err := caught("submit", func() error {
			return to.Submit(ctx, board, BackendWrite{Key: e.Key, Score: e.Score, KeepBest: keepBest, Ascending: order == store.Ascending})
		})
		return store.Change{Effect: store.Changed, New: e.Score}, err
	}
	to, ok := b.to.(BackendSetter)
	if !ok {
		return store.Change{}, unsupported("write")
	}
	u := update{score: e.Score, keepBest: keepBest, order: order}
	err := caught("set", func() error { return to.Set(ctx, board, e.Key, u.apply) })
	return u.change(), err
}

// update is the function that a BackendSetter is given. It may be called at any time, again
// and again, even when Set has returned.
type update struct {
	score    int64
	keepBest bool
	order    store.Order
	mu       struct {
		sync.Mutex
		last store.Change
	}
}

func (u *update) apply(old *int64) *int64 {
	c := changeOf(old, u.score, u.keepBest, u.order)
	u.mu.Lock()
	u.mu.last = c
	u.mu.Unlock()
	if c.Effect == store.Kept {
		return nil
	}
	score := u.score
	return &score
}

func (u *update) change() store.Change {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.last
}

// changeOf is what a score does to what is stored.
func changeOf(old *int64, score int64, keepBest bool, order store.Order) store.Change {
	switch {
	case old == nil:
		return store.Change{Effect: store.Created, New: score}
	case *old == score, keepBest && !order.Better(score, *old):
		return store.Change{Effect: store.Kept, Old: *old, New: *old}
	}
	return store.Change{Effect: store.Changed, Old: *old, New: score}
}

// read is the best entries of a board with their ranks.
func (b *backendBoards) read(ctx context.Context, board string, count int, mode store.RankMode) (store.Page, error) {
	order, err := b.order(board)
	if err != nil {
		return store.Page{}, err
	}
	page := store.Page{Info: store.BoardInfo{Order: order}}
	if count == 0 {
		return page, nil
	}
	var rows []BackendRow
	if err := caught("sorted", func() (err error) {
		rows, err = b.to.Sorted(ctx, board, order == store.Ascending, count)
		return err
	}); err != nil {
		return store.Page{}, err
	}
	page.Entries = ranked(standingsOf(rows[:min(count, len(rows))], order), mode)
	page.Total = int64(len(page.Entries))
	page.Info.Count = page.Total
	return page, nil
}

// standingsOf puts rows in the order of scores, equal ones as they came.
func standingsOf(rows []BackendRow, order store.Order) []store.Standing {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(x, y BackendRow) int {
		switch {
		case order.Better(x.Score, y.Score):
			return -1
		case order.Better(y.Score, x.Score):
			return 1
		}
		return 0
	})
	out := make([]store.Standing, len(rows))
	for i, row := range rows {
		out[i] = store.Standing{Entry: store.Entry{Key: row.Key, Score: row.Score}, Rank: int64(i + 1)}
	}
	return out
}

// Page implements store.Boards.
func (b *backendBoards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	if offset > int64(store.MaxPage-limit) {
		return store.Page{}, unsupported(fmt.Sprintf("show entries beyond the first %d", store.MaxPage))
	}
	page, err := b.read(ctx, board, int(offset)+limit, mode)
	if err != nil {
		return store.Page{}, err
	}
	from := min(int(offset), len(page.Entries))
	return cut(page, from, len(page.Entries)), nil
}

// Standing implements store.Boards.
func (b *backendBoards) Standing(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
	page, at, err := b.find(ctx, board, key, mode)
	if err != nil || at < 0 {
		return store.Standing{}, false, err
	}
	return page.Entries[at], true, nil
}

// Around implements store.Boards.
func (b *backendBoards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
	page, at, err := b.find(ctx, board, key, mode)
	if err != nil {
		return store.Page{}, err
	}
	if at < 0 {
		return cut(page, 0, 0), nil
	}
	return cut(page, max(0, at-n), min(len(page.Entries), at+n+1)), nil
}

// find looks for a key on the deepest page; at is -1 when the board does not have it.
func (b *backendBoards) find(ctx context.Context, board, key string, mode store.RankMode) (page store.Page, at int, err error) {
	page, err = b.read(ctx, board, store.MaxPage, mode)
	if err != nil {
		return store.Page{}, 0, err
	}
	at = slices.IndexFunc(page.Entries, func(e store.Standing) bool { return e.Key == key })
	if at < 0 && len(page.Entries) == store.MaxPage {
		return store.Page{}, 0, unsupported(fmt.Sprintf("find a key that is not among the first %d", store.MaxPage))
	}
	return page, at, nil
}

// cut is the entries from one index to another.
func cut(page store.Page, from, to int) store.Page {
	page.Entries = page.Entries[from:to:to]
	if len(page.Entries) > 0 {
		page.Offset = int64(from)
	}
	return page
}

// Scores implements store.Boards.
func (b *backendBoards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	from, ok := b.to.(BackendScores)
	if !ok {
		return nil, unsupported("look up scores: it has no Scores")
	}
	out := make(map[string]store.Entry, len(keys))
	for part := range slices.Chunk(keys, backendKeys) {
		var got map[string]int64
		if err := caught("scores", func() (err error) {
			got, err = from.Scores(ctx, board, slices.Clone(part))
			return err
		}); err != nil {
			return nil, err
		}
		for _, key := range part {
			if score, ok := got[key]; ok {
				out[key] = store.Entry{Key: key, Score: score}
			}
		}
	}
	return out, nil
}

// Info implements store.Boards, for a board that is not longer than the deepest page.
func (b *backendBoards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	page, err := b.read(ctx, board, store.MaxPage, store.Ordinal)
	if err == nil && len(page.Entries) == store.MaxPage {
		err = unsupported(fmt.Sprintf("count more than %d entries", store.MaxPage))
	}
	return page.Info, err
}

// The rest of store.Boards is more than a Backend can do.

// Walk is not supported.
func (b *backendBoards) Walk(_ context.Context, _ string, from store.Cursor, _ int) (store.Page, store.Cursor, error) {
	return store.Page{}, from, unsupported("walk a board")
}

// Remove is not supported.
func (b *backendBoards) Remove(context.Context, string, ...string) (int, error) {
	return 0, unsupported("remove entries")
}

// Erase is not supported.
func (b *backendBoards) Erase(context.Context, string, ...string) (int, error) {
	return 0, unsupported("erase keys")
}

// Hide is not supported.
func (b *backendBoards) Hide(context.Context, string, bool, ...string) (int, error) {
	return 0, unsupported("hide entries")
}

// Hidden is not supported.
func (b *backendBoards) Hidden(context.Context, string, string, int) ([]store.HiddenEntry, error) {
	return nil, unsupported("hide entries")
}

// Seal is not supported.
func (b *backendBoards) Seal(context.Context, string) (store.BoardInfo, error) {
	return store.BoardInfo{}, unsupported("seal a board")
}

// List is not supported.
func (b *backendBoards) List(context.Context, string, string, int) ([]string, error) {
	return nil, unsupported("list boards")
}

// Drop is not supported.
func (b *backendBoards) Drop(context.Context, string) error { return unsupported("drop a board") }

// Check is not supported.
func (b *backendBoards) Check(context.Context, string, bool) (store.BoardCheck, error) {
	return store.BoardCheck{}, unsupported("be checked")
}

// Close does nothing: the Backend is its owner's.
func (b *backendBoards) Close(context.Context) error { return nil }
