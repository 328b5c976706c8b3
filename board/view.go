package board

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/shoalworks/shoal/store"
)

// View is the reads of a service with another way to share ranks among equals. What the
// reads of Service guarantee holds for those of a view. The zero View is none.
type View struct {
	s    *Service
	mode store.RankMode
}

// By is the reads in the ranks of a mode. Those of Service itself are by [store.Ordinal].
// Another mode than those of the store is refused by each call, with store.ErrInvalid.
func (s *Service) By(mode store.RankMode) View { return View{s, mode} }

// Top is [Service.Top] in the view's ranks. All modes share the cached page, and its reads.
func (v View) Top(ctx context.Context, board string, count int) (store.Page, error) {
	if err := v.check(board); err != nil {
		return store.Page{}, err
	}
	return v.s.top(ctx, v.mode, board, count)
}

// Standing is [Service.Standing] in the view's ranks.
func (v View) Standing(ctx context.Context, board, key string) (st store.Standing, ok bool, err error) {
	if err := v.check(board); err != nil {
		return store.Standing{}, false, err
	}
	return v.s.standing(ctx, v.mode, board, key)
}

// Around is [Service.Around] in the view's ranks.
func (v View) Around(ctx context.Context, board, key string, n int) (store.Page, error) {
	if err := v.check(board); err != nil {
		return store.Page{}, err
	}
	return v.s.around(ctx, v.mode, board, key, n)
}

// Page is [Service.Page] in the view's ranks.
func (v View) Page(ctx context.Context, board string, offset int64, limit int) (store.Page, error) {
	if err := v.check(board); err != nil {
		return store.Page{}, err
	}
	return v.s.page(ctx, v.mode, board, offset, limit)
}

// Card is [Service.Card] in the view's ranks.
func (v View) Card(ctx context.Context, board, key string, count int) (Card, error) {
	if err := v.check(board); err != nil {
		return Card{}, err
	}
	return v.s.card(ctx, v.mode, board, key, count)
}

func (v View) check(board string) error {
	if v.mode <= store.Dense {
		return nil
	}
	return &RefusedError{Board: board, Field: "mode", Problem: fmt.Sprintf("ordinal, competition or dense expected, got %d", v.mode), Reason: store.ErrInvalid}
}

// views are the entries of a cached page in the other ranks. Each is made when it is first
// asked for, and kept as long as the page is.
type views struct {
	modes [store.Dense + 1]atomic.Pointer[[]store.Standing]
}

// of is the page in the ranks of the mode.
func (v *views) of(page store.Page, mode store.RankMode) store.Page {
	if mode == store.Ordinal {
		return page
	}
	made := v.modes[mode].Load()
	if made == nil {
		entries := ranked(page.Entries, mode)
		v.modes[mode].CompareAndSwap(nil, &entries) // all callers get the same entries
		made = v.modes[mode].Load()
	}
	page.Entries = *made
	return page
}
