package pgstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// turns lets the changes of one board that this process makes go one after the other. The
// server would do that, too, but each that waits there holds a connection, and a board that is
// locked for long (by a process that was paused) would take all of them from everybody else.
// Callers wait in the order in which they come, for as long as a call may take at most; there
// are as many as there are callers.
type turns struct {
	mu struct {
		sync.Mutex
		boards map[string]*turn
	}
}

// turn is the one of a board.
type turn struct {
	taken chan struct{} // holds a token while somebody has it
	users int           // who have it or wait for it; of turns.mu
}

// take waits for the board's turn, which give ends.
func (q *turns) take(ctx context.Context, d *database, board string) (give func(), err error) {
	t := q.join(board)
	ctx, cancel := clock.WithTimeout(ctx, d.options.Clock, d.options.CallDeadline)
	defer cancel()
	select {
	case t.taken <- struct{}{}:
		return func() {
			<-t.taken
			q.part(board, t)
		}, nil
	case <-ctx.Done():
		q.part(board, t)
		return nil, fmt.Errorf("%w: others change the board: %w", store.ErrUnavailable, context.Cause(ctx))
	}
}

func (q *turns) join(board string) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.mu.boards[board]
	if t == nil {
		if q.mu.boards == nil {
			q.mu.boards = make(map[string]*turn)
		}
		t = &turn{taken: make(chan struct{}, 1)}
		q.mu.boards[board] = t
	}
	t.users++
	return t
}

func (q *turns) part(board string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(q.mu.boards, board)
	}
}
