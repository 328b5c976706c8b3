package redisstore

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// PassTime sets the servers' clock forward, as far as the walks of this engine's boards are
// concerned.
func (e *Engine) PassTime(d time.Duration) { e.boards.ahead.Add(d.Microseconds()) }

// SmallBoards has boards take everything in the smallest steps: how much one script looks at
// for a dense rank, and entries more than asked for that one script of a walk looks at.
func (e *Engine) SmallBoards() { e.boards.sizes.dense, e.boards.sizes.stretch = 1, 1 }

// LimitBoards changes how many sources of sums and how many rows of a log a board keeps.
func (e *Engine) LimitBoards(sources, walkLog int) {
	e.boards.sizes.sources, e.boards.sizes.walkLog = sources, walkLog
}

// BoardKey is the key of one part of a board.
func (e *Engine) BoardKey(board, part string) string { return e.boards.keys.board(board, part) }

// BoardList is the key of the list of boards.
func (e *Engine) BoardList() string { return e.boards.keys.boards("list") }

// BeginDense begins the walk of a deep dense rank.
func (e *Engine) BeginDense(ctx context.Context, board string) (store.Cursor, error) {
	w := &walking{boards: e.boards, call: boardCall{what: "walk of", board: board}}
	_, at, err := w.begin(ctx, standings.PassingTag())
	return at, err
}

// KeepWalk does what a later call of a walk does after it has read the board at the cursor, when
// it is long ago that one was written down.
func (e *Engine) KeepWalk(ctx context.Context, board string, from store.Cursor) error {
	w := &walking{boards: e.boards, call: boardCall{what: "walk of", board: board}}
	_, _, err := w.keep(ctx, bytes64(from.Version), from.Tag)
	return err
}
