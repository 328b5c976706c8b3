package board

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// ErrCursor is a cursor of Walk that is damaged, or of another board.
var ErrCursor = errors.New("board: not a cursor of the board")

// Walk shows the board page by page as it was when the walk began, however it changes
// meanwhile: every entry once, in order, with its ordinal rank. The empty cursor begins a
// walk; next is the cursor of the next page, and empty when all was shown. limit is at most
// store.MaxPage; 0 is that many.
//
// A cursor is opaque text of up to 176 bytes that may stand in a URL. It may be used again,
// on every node, and then answers the same page: after a failed or lost answer repeat the
// call. The board remembers what a walk needs for store.WalkFor after the last page, as long as
// no more than store.MaxWalkLog entries have changed and walks of fewer than store.MaxWalks
// later states have begun; afterwards, or when the board was dropped, the answer is
// store.ErrCursor: begin again. A cursor that is damaged or of another board is refused with
// [ErrCursor].
//
// The board need not be defined. One that is missing answers store.ErrNoBoard, unless it is
// defined: then it is empty. Entries are the caller's own.
func (s *Service) Walk(ctx context.Context, board, cursor string, limit int) (page store.Page, next string, err error) {
	if err := s.direct(board); err != nil {
		return store.Page{}, "", err
	}
	if err := checkCount(board, "count", limit, store.MaxPage); err != nil {
		return store.Page{}, "", err
	}
	var from store.Cursor
	if cursor != "" {
		var ok bool
		if from, ok = parseCursor(board, cursor); !ok {
			return store.Page{}, "", &RefusedError{Board: board, Field: "cursor", Problem: "is damaged, or of another board", Reason: ErrCursor}
		}
	}
	page, to, err := s.walk(ctx, board, from, limit)
	if err != nil || to == (store.Cursor{}) {
		return page, "", readError("walk", board, "", err)
	}
	return page, formatCursor(board, to), nil
}

// walk reads one page of a walk. The zero cursor is the beginning, and the end.
func (s *Service) walk(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	if limit == 0 {
		limit = store.MaxPage
	}
	if err := s.enter(ctx, board); err != nil {
		return store.Page{}, from, err
	}
	defer s.leave()
	page, to, err := s.host.boards.Walk(ctx, board, from, limit)
	switch {
	case errors.Is(err, store.ErrNoBoard) && from != store.Cursor{}:
		return store.Page{}, from, fmt.Errorf("%w: %w", store.ErrCursor, err)
	case err != nil:
		if b := s.boards.Load().byName[board]; b != nil {
			page, err = b.orEmpty(store.Page{}, err)
		}
		return page, store.Cursor{}, err
	case to.Done() || to == store.Cursor{}:
		return page, store.Cursor{}, nil
	case !walked(to) || to.Seen <= from.Seen:
		return store.Page{}, from, fmt.Errorf("%w: the store does not get on: %+v after %+v", store.ErrUnavailable, to, from)
	}
	return page, to, nil
}

// walkTries is how often All asks for a page; before each repetition it waits, first
// walkPause, then twice as long as before.
const (
	walkTries = 5
	walkPause = 250 * time.Millisecond
)

// All is the whole board as it was when the iteration began, the best first, by [Service.Walk].
// It holds one page at a time. A page that could not be read is asked for again a few times,
// for about four seconds; each call of the store is bounded by CallTimeout. The last thing an
// iteration that fails yields is an error: what it has shown until then is right, and not all.
func (s *Service) All(ctx context.Context, board string) iter.Seq2[store.Standing, error] {
	return func(yield func(store.Standing, error) bool) {
		var from store.Cursor
		if err := s.direct(board); err != nil {
			yield(store.Standing{}, err)
			return
		}
		for {
			page, to, err := s.walkOn(ctx, board, from)
			if err != nil {
				yield(store.Standing{}, readError("all", board, "", err))
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if to == (store.Cursor{}) {
				return
			}
			from = to
		}
	}
}

// walkOn reads a page of a walk, and repeats what may succeed when it is repeated.
func (s *Service) walkOn(ctx context.Context, board string, from store.Cursor) (page store.Page, to store.Cursor, err error) {
	pause := walkPause
	for try := 1; ; try++ {
		callCtx, cancel := s.bounded(ctx)
		page, to, err = s.walk(callCtx, board, from, store.MaxPage)
		cancel()
		passing := errors.Is(err, store.ErrUnavailable) || store.OutcomeOf(err) == store.Unknown
		if !passing || errors.Is(err, ErrClosed) || try == walkTries || ctx.Err() != nil {
			return page, to, err
		}
		if err := clock.Sleep(ctx, s.host.clock, pause); err != nil {
			return store.Page{}, from, err
		}
		pause *= 2
	}
}
