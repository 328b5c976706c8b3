package season

import (
	"context"
	"iter"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// callWait bounds each call of a store, so that one that hangs does not hold up the rest. A
// write that is cut so has an unknown outcome, like any other; all of them are repeatable.
const callWait = 15 * time.Second

// boundedRecords gives every call of the records a deadline on the node's clock.
type boundedRecords struct {
	store.Records
	clock clock.Clock
}

func (r boundedRecords) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	ctx, cancel := clock.WithTimeout(ctx, r.clock, callWait)
	defer cancel()
	return r.Records.Get(ctx, keys...)
}

func (r boundedRecords) Scan(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
	return r.Records.Scan(ctx, rng)
}

func (r boundedRecords) Commit(ctx context.Context, txs ...store.Tx) []error {
	ctx, cancel := clock.WithTimeout(ctx, r.clock, callWait)
	defer cancel()
	return r.Records.Commit(ctx, txs...)
}

func (r boundedRecords) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := clock.WithTimeout(ctx, r.clock, callWait)
	defer cancel()
	return r.Records.Now(ctx)
}

// boundedBoards does the same for boards. Top and Standing are for a caller who waits, and are
// bounded by the caller's context.
type boundedBoards struct {
	Boards
	clock clock.Clock
}

func bounded[T any](ctx context.Context, b boundedBoards, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := clock.WithTimeout(ctx, b.clock, callWait)
	defer cancel()
	return call(ctx)
}

func (b boundedBoards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	return bounded(ctx, b, func(ctx context.Context) (store.BoardInfo, error) { return b.Boards.Create(ctx, board, spec) })
}

func (b boundedBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	return bounded(ctx, b, func(ctx context.Context) ([]store.Change, error) { return b.Boards.Merge(ctx, board, batch) })
}

func (b boundedBoards) Page(ctx context.Context, board string, offset int64, limit int) (store.Page, error) {
	return bounded(ctx, b, func(ctx context.Context) (store.Page, error) { return b.Boards.Page(ctx, board, offset, limit) })
}

func (b boundedBoards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	return bounded(ctx, b, func(ctx context.Context) (map[string]store.Entry, error) { return b.Boards.Scores(ctx, board, keys...) })
}

func (b boundedBoards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	return bounded(ctx, b, func(ctx context.Context) (store.BoardInfo, error) { return b.Boards.Seal(ctx, board) })
}

func (b boundedBoards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	return bounded(ctx, b, func(ctx context.Context) (store.BoardInfo, error) { return b.Boards.Info(ctx, board) })
}

func (b boundedBoards) Drop(ctx context.Context, board string) error {
	_, err := bounded(ctx, b, func(ctx context.Context) (any, error) { return nil, b.Boards.Drop(ctx, board) })
	return err
}
