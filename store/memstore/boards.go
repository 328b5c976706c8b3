package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// boardMap is the memory behind all handles on the boards.
type boardMap struct {
	clock clock.Clock // tells when a walk is forgotten
	mu    struct {
		sync.RWMutex
		boards map[string]*board
	}
}

func newBoardMap(c clock.Clock) *boardMap {
	m := &boardMap{clock: c}
	m.mu.boards = make(map[string]*board)
	return m
}

func (m *boardMap) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.boards = make(map[string]*board)
}

func (m *boardMap) snapshot() map[string]*board {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return cloneBoards(m.mu.boards)
}

func (m *boardMap) restore(boards map[string]*board) {
	boards = cloneBoards(boards)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.boards = boards
}

func cloneBoards(boards map[string]*board) map[string]*board {
	out := make(map[string]*board, len(boards))
	for name, b := range boards {
		out[name] = b.clone()
	}
	return out
}

// boards is one handle on the boards.
type boards struct {
	gate
	memory *boardMap
}

// read calls f with the board while nobody writes.
func (h *boards) read(ctx context.Context, operation, name string, f func(*board)) error {
	if err := h.enter(ctx, operation); err != nil {
		return err
	}
	defer h.leave()
	h.memory.mu.RLock()
	defer h.memory.mu.RUnlock()
	b, ok := h.memory.mu.boards[name]
	if !ok {
		return fmt.Errorf("memstore: %s %s: %w", operation, name, store.ErrNoBoard)
	}
	f(b)
	return nil
}

// write calls f with the board while nobody else reads or writes.
func (h *boards) write(ctx context.Context, operation, name string, f func(*board) error) error {
	if err := h.enter(ctx, operation); err != nil {
		return err
	}
	defer h.leave()
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	b, ok := h.memory.mu.boards[name]
	if !ok {
		return fmt.Errorf("memstore: %s %s: %w", operation, name, store.ErrNoBoard)
	}
	if b.walks.any() {
		b.walks.forget(h.memory.clock.Now())
	}
	if err := f(b); err != nil {
		return fmt.Errorf("memstore: %s %s: %w", operation, name, err)
	}
	return nil
}

// Create implements store.Boards.
func (h *boards) Create(ctx context.Context, name string, spec store.BoardSpec) (store.BoardInfo, error) {
	if err := h.enter(ctx, "create"); err != nil {
		return store.BoardInfo{}, err
	}
	defer h.leave()
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	b, ok := h.memory.mu.boards[name]
	if !ok {
		b = newBoard(spec)
		h.memory.mu.boards[name] = b
	}
	if b.spec.Order != spec.Order {
		return store.BoardInfo{}, fmt.Errorf("memstore: create %s: it exists %s, not %s: %w", name, b.spec.Order, spec.Order, store.ErrInvalid)
	}
	return b.info(), nil
}

// Merge implements store.Boards.
func (h *boards) Merge(ctx context.Context, name string, batch store.Batch) (changes []store.Change, err error) {
	err = h.write(ctx, "merge", name, func(b *board) error {
		if b.sealed {
			return store.ErrSealed
		}
		changes = b.merge(batch)
		return nil
	})
	return changes, err
}

// Page implements store.Boards.
func (h *boards) Page(ctx context.Context, name string, offset int64, limit int, mode store.RankMode) (page store.Page, err error) {
	err = h.read(ctx, "page", name, func(b *board) {
		page = b.page(int(min(offset, int64(b.standing.size))), limit, mode)
	})
	return page, err
}

// Standing implements store.Boards.
func (h *boards) Standing(ctx context.Context, name, key string, mode store.RankMode) (s store.Standing, ok bool, err error) {
	err = h.read(ctx, "standing", name, func(b *board) {
		var e *entry
		if e, ok = b.visible(key); ok {
			s = e.ranked(b.rank(e, b.standing.position(e), mode))
		}
	})
	return s, ok, err
}

// Around implements store.Boards.
func (h *boards) Around(ctx context.Context, name, key string, n int, mode store.RankMode) (page store.Page, err error) {
	err = h.read(ctx, "around", name, func(b *board) {
		e, ok := b.visible(key)
		if !ok {
			page = b.page(0, 0, mode)
			return
		}
		at := b.standing.position(e)
		first := max(0, at-n)
		page = b.page(first, at-first+1+n, mode)
	})
	return page, err
}

// Scores implements store.Boards.
func (h *boards) Scores(ctx context.Context, name string, keys ...string) (map[string]store.Entry, error) {
	found := make(map[string]store.Entry, len(keys))
	err := h.read(ctx, "scores", name, func(b *board) {
		for _, key := range keys {
			if e, ok := b.visible(key); ok {
				found[key] = e.copy()
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Remove implements store.Boards.
func (h *boards) Remove(ctx context.Context, name string, keys ...string) (removed int, err error) {
	err = h.write(ctx, "remove", name, func(b *board) error {
		if b.sealed {
			return store.ErrSealed
		}
		removed = b.remove(keys)
		return nil
	})
	return removed, err
}

// Erase implements store.Boards.
func (h *boards) Erase(ctx context.Context, name string, keys ...string) (erased int, err error) {
	err = h.write(ctx, "erase", name, func(b *board) error {
		erased = b.erase(keys)
		return nil
	})
	return erased, err
}

// Seal implements store.Boards.
func (h *boards) Seal(ctx context.Context, name string) (info store.BoardInfo, err error) {
	err = h.write(ctx, "seal", name, func(b *board) error {
		b.sealed = true
		info = b.info()
		return nil
	})
	return info, err
}

// Info implements store.Boards.
func (h *boards) Info(ctx context.Context, name string) (info store.BoardInfo, err error) {
	err = h.read(ctx, "info", name, func(b *board) { info = b.info() })
	return info, err
}

// List implements store.Boards. It looks at every board.
func (h *boards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if err := h.enter(ctx, "list"); err != nil {
		return nil, err
	}
	defer h.leave()
	h.memory.mu.RLock()
	defer h.memory.mu.RUnlock()
	var names []string
	for name := range maps.Keys(h.memory.mu.boards) {
		if name > after && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(limit, len(names))], nil
}

// Drop implements store.Boards.
func (h *boards) Drop(ctx context.Context, name string) error {
	if err := h.enter(ctx, "drop"); err != nil {
		return err
	}
	defer h.leave()
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	delete(h.memory.mu.boards, name)
	return nil
}

// Close implements store.Boards. The memory stays for other handles.
func (h *boards) Close(context.Context) error {
	h.close()
	return nil
}
