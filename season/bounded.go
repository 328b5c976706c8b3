package season

import (
	"context"
	"iter"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// callWait bounds each call of a store, so that one that hangs does not hold up the rest; what
// it waited for the request budget before does not count. A write that is cut so has an unknown
// outcome, like any other; all of them are repeatable.
const callWait = 15 * time.Second

// onTerms is ctx for one call of a store, in the class of what it is for.
func onTerms(ctx context.Context, n *node.Node) (context.Context, context.CancelFunc) {
	class := classOf(ctx)
	return n.On(ctx, node.Terms{Class: class, Wait: budgetWait(class), Call: callWait})
}

// boundedRecords gives every call of the records its class and a deadline.
type boundedRecords struct {
	store.Records
	node *node.Node
}

// Get reads as many at once as the budget has, so that a look at many results holds up no load.
func (r boundedRecords) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	var out []store.Record
	for {
		n := min(len(keys), max(1, r.node.Room(classOf(ctx), node.KindRead)))
		recs, err := r.get(ctx, keys[:n])
		if err != nil {
			return nil, err
		}
		if n == len(keys) && out == nil {
			return recs, nil
		}
		if out, keys = append(out, recs...), keys[n:]; len(keys) == 0 {
			return out, nil
		}
	}
}

func (r boundedRecords) get(ctx context.Context, keys []string) ([]store.Record, error) {
	ctx, cancel := onTerms(ctx, r.node)
	defer cancel()
	return r.Records.Get(ctx, keys...)
}

func (r boundedRecords) Scan(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
	return r.Records.Scan(ctx, rng)
}

func (r boundedRecords) Commit(ctx context.Context, txs ...store.Tx) []error {
	ctx, cancel := onTerms(ctx, r.node)
	defer cancel()
	return r.Records.Commit(ctx, txs...)
}

// Now is asked of no budget.
func (r boundedRecords) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := clock.WithTimeout(ctx, r.node.Clock(), callWait)
	defer cancel()
	return r.Records.Now(ctx)
}

// boundedBoards does the same for boards. Top and Standing are for a caller who waits, and are
// bounded by the caller's context.
type boundedBoards struct {
	Boards
	node *node.Node
}

func bounded[T any](ctx context.Context, b boundedBoards, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := onTerms(ctx, b.node)
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
