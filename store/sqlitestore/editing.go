package sqlitestore

import (
	"context"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// editing is a change of a board in progress: its row and its counts are written when it
// ends.
type editing struct {
	conn   *conn
	board  boardRow
	sizes  standings.Sizes
	counts *standings.Directory // nil until something is counted
}

// edit begins to change a board, or answers why it takes no writes.
func edit(ctx context.Context, t *transaction, board string, z standings.Sizes) (e *editing, refused, err error) {
	b, ok, err := findBoard(ctx, t.conn, board)
	if err != nil {
		return nil, nil, err
	}
	if refused = refuse(b, ok); refused != nil {
		return nil, refused, nil
	}
	return begin(t, b, z), nil, nil
}

// editSealed is edit that a seal does not stop.
func editSealed(ctx context.Context, t *transaction, board string, z standings.Sizes) (e *editing, refused, err error) {
	b, ok, err := findBoard(ctx, t.conn, board)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, store.ErrNoBoard, nil
	}
	return begin(t, b, z), nil, nil
}

func begin(t *transaction, b boardRow, z standings.Sizes) *editing {
	b.log.Forget(b.called.since(t.at))
	return &editing{conn: t.conn, board: b, sizes: z}
}

// refuse is why a board takes no writes.
func refuse(b boardRow, exists bool) error {
	switch {
	case !exists:
		return store.ErrNoBoard
	case b.info.Sealed:
		return store.ErrSealed
	}
	return nil
}

// next gives the next sequence.
func (e *editing) next() int64 {
	e.board.info.Sequence++
	return int64(e.board.info.Sequence)
}

// count counts n entries more, or fewer, at p.
func (e *editing) count(ctx context.Context, p standings.Position, n int64) (err error) {
	if e.counts == nil {
		if e.counts, err = openDirectory(ctx, e.conn, e.board, e.sizes); err != nil {
			return err
		}
	}
	e.board.info.Count += n
	return e.counts.Add(p, n)
}

// leave takes an entry out of the counts, whose row is still there.
func (e *editing) leave(ctx context.Context, key string, at standings.Position, version int64) error {
	if err := e.leaves(ctx, key, at, version); err != nil {
		return err
	}
	return e.count(ctx, at, -1)
}

// edited is how a change of a board ended. It is written by the writer.
type edited struct {
	refused error
	stale   bool // rows of an ended log are left
}

// change has the writer apply w, whose end is o.
func (h *boards) change(ctx context.Context, w work, o *edited, size, bytes int) error {
	if err := h.file.writer.do(ctx, w, size, bytes); err != nil {
		return err
	}
	if o.stale {
		h.sweeper.wake()
	}
	return o.refused
}

// end writes the counts and the board's row.
func (e *editing) end(ctx context.Context, o *edited) error {
	o.stale = e.board.log.Stale
	if e.counts != nil {
		if err := saveDirectory(ctx, e.conn, e.board.id, e.counts); err != nil {
			return err
		}
	}
	return e.board.save(ctx, e.conn)
}
