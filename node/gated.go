package node

import (
	"context"
	"iter"

	"github.com/shoalworks/shoal/store"
)

// For is the store as one class of calls sees it: each call waits at the gate until the
// budget allows it, and a call that is not let through answers [ErrBudget], which is a
// store.ErrUnavailable. Without limits it is [Node.Store] itself.
func (n *Node) For(c Class) *store.Store { return n.classes[c-1] }

// Spare tells whether a read of the class could be made now without waiting. A loop that
// looks again and again leaves a spent budget alone by it.
func (n *Node) Spare(c Class) bool {
	return n.gate == nil || n.gate.spare(c, demand{KindRead: 1})
}

// Gate counts the calls that passed, waited and were refused, by class. Without limits it
// is empty.
func (n *Node) Gate() map[Class]GateCount {
	if n.gate == nil {
		return nil
	}
	return n.gate.stats()
}

// openGate prepares the store for each class.
func (n *Node) openGate() {
	if !n.opts.Limits.limited() {
		for i := range n.classes {
			n.classes[i] = n.st
		}
		return
	}
	n.gate = newGate(n.opts.Limits, n.opts.Clock, n.countPlayers)
	for i := range n.classes {
		c := Class(i + 1)
		n.classes[i] = n.st.Through(
			func(r store.Records) store.Records { return gatedRecords{r, n.gate, c} },
			func(b store.Boards) store.Boards { return gatedBoards{b, n.gate, c} },
		)
	}
}

// gatedRecords passes the gate before each call.
type gatedRecords struct {
	store.Records
	gate  *gate
	class Class
}

func (g gatedRecords) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	ctx, end, err := g.gate.on(ctx, g.class, demand{KindRead: len(keys)})
	if err != nil {
		return nil, err
	}
	defer end()
	return g.Records.Get(ctx, keys...)
}

func (g gatedRecords) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		ctx, end, err := g.gate.on(ctx, g.class, demand{KindList: 1})
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		defer end()
		g.Records.Scan(ctx, r)(yield)
	}
}

func (g gatedRecords) Commit(ctx context.Context, txs ...store.Tx) []error {
	writes := 0
	for _, tx := range txs {
		writes += len(tx)
	}
	ctx, end, err := g.gate.on(ctx, g.class, demand{KindWrite: writes})
	if err != nil {
		errs := make([]error, len(txs))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	defer end()
	return g.Records.Commit(ctx, txs...)
}

// gatedBoards passes the gate before each call.
type gatedBoards struct {
	store.Boards
	gate  *gate
	class Class
}

func (g gatedBoards) ordered(ctx context.Context) (context.Context, context.CancelFunc, error) {
	return g.gate.on(ctx, g.class, demand{KindOrderedRead: 1})
}

func (g gatedBoards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	ctx, end, err := g.changing(ctx, 1)
	if err != nil {
		return store.BoardInfo{}, err
	}
	defer end()
	return g.Boards.Create(ctx, board, spec)
}

func (g gatedBoards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return store.Page{}, err
	}
	defer end()
	return g.Boards.Page(ctx, board, offset, limit, mode)
}

func (g gatedBoards) Standing(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return store.Standing{}, false, err
	}
	defer end()
	return g.Boards.Standing(ctx, board, key, mode)
}

func (g gatedBoards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return store.Page{}, err
	}
	defer end()
	return g.Boards.Around(ctx, board, key, n, mode)
}

func (g gatedBoards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return g.Boards.Scores(ctx, board, keys...)
}

func (g gatedBoards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return store.Page{}, from, err
	}
	defer end()
	return g.Boards.Walk(ctx, board, from, limit)
}

func (g gatedBoards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	ctx, end, err := g.changing(ctx, len(keys))
	if err != nil {
		return 0, err
	}
	defer end()
	return g.Boards.Hide(ctx, board, hidden, keys...)
}

func (g gatedBoards) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return g.Boards.Hidden(ctx, board, after, limit)
}

func (g gatedBoards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return store.BoardInfo{}, err
	}
	defer end()
	return g.Boards.Info(ctx, board)
}

func (g gatedBoards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	ctx, end, err := g.ordered(ctx)
	if err != nil {
		return store.BoardCheck{}, err
	}
	defer end()
	return g.Boards.Check(ctx, board, repair)
}

func (g gatedBoards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	ctx, end, err := g.changing(ctx, 1)
	if err != nil {
		return store.BoardInfo{}, err
	}
	defer end()
	return g.Boards.Seal(ctx, board)
}

func (g gatedBoards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	ctx, end, err := g.gate.on(ctx, g.class, demand{KindList: 1})
	if err != nil {
		return nil, err
	}
	defer end()
	return g.Boards.List(ctx, prefix, after, limit)
}

func (g gatedBoards) Drop(ctx context.Context, board string) error {
	ctx, end, err := g.changing(ctx, 1)
	if err != nil {
		return err
	}
	defer end()
	return g.Boards.Drop(ctx, board)
}
