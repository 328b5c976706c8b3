package board

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// This file holds the calls that go to the store at once. They take any board's name,
// defined or not; what is cached or queued here of a board that is defined follows.

// Merge applies a batch now, past the queue, and answers what changed. A board that is
// missing answers store.ErrNoBoard: see [Service.Create]. When the cached page shows one of
// the changes it expires. Batches of sums need a Source of the caller's own.
//
// On a board that is defined here a score outside its Min and Max refuses the whole batch, as
// Submit does. Scores of banned keys are written, hidden: a batch is not held up by them. On a
// board that holds store.MaxHidden hidden keys already they are shown, and logged.
//
// Where the node has a request budget, a batch of another rule than store.Sum that is larger
// than what the budget ever holds is written in parts, as it allows: then it is not atomic,
// and when a part fails the outcome is unknown.
func (s *Service) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	if err := s.direct(board); err != nil {
		return nil, err
	}
	if err := checkEntries(board, batch.Entries); err != nil {
		return nil, err
	}
	b := s.boards.Load().byName[board]
	if err := s.screen(ctx, b, board, batch.Entries); err != nil {
		return nil, readError("merge", board, "", err)
	}
	changes, err := s.host.boards.Merge(ctx, board, batch)
	if b == nil {
		return changes, directError("merge", board, err)
	}
	if errors.Is(err, store.ErrNoBoard) {
		b.anew()
	}
	if errors.Is(err, store.ErrSealed) {
		b.sealed.Store(true)
	}
	if b.mayHaveWritten(err) {
		p := b.cache.current.Load()
		if err != nil || p == nil || affects(p.page, b.cfg.MaxEntries, batch, changes) {
			b.cache.expire()
		}
	}
	return changes, directError("merge", board, err)
}

// checkEntries refuses keys that no read would take.
func checkEntries(board string, entries []store.Submission) error {
	for i, e := range entries {
		if err := checkKey(board, e.Key); err != nil {
			return ofEntry(err, i, len(entries))
		}
	}
	return nil
}

// screen checks a batch that comes past the queue: each score against the limits of a board
// that is defined, and the banned keys, which are hidden on the board first.
func (s *Service) screen(ctx context.Context, b *board, name string, entries []store.Submission) error {
	g := new(guard)
	if b != nil {
		g = &b.guard
		for _, e := range entries {
			if err := b.withinLimits(e.Score); err != nil {
				b.counts.refused.Add(1)
				return err
			}
		}
	}
	return s.watch(ctx, name, g, entries)
}

// Create makes the board in the store, or does nothing when it exists, and answers it as it
// is. Cached pages of it are dropped.
func (s *Service) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	if err := s.direct(board); err != nil {
		return store.BoardInfo{}, err
	}
	info, err := s.host.boards.Create(ctx, board, spec)
	if b := s.boards.Load().byName[board]; b != nil && b.mayHaveWritten(err) {
		b.cache.drop()
		b.anew()
		if err == nil {
			b.sealed.Store(info.Sealed)
		}
	}
	return info, directError("create", board, err)
}

// Seal ends all writes to the board, for ever, and answers its final state. What waits in
// the queue will be refused, and submits from now on, until this service sees the board
// without a seal (by Create, Drop or a read of Top): then it has been dropped and made anew.
// Cached pages are dropped.
func (s *Service) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	if err := s.direct(board); err != nil {
		return store.BoardInfo{}, err
	}
	info, err := s.host.boards.Seal(ctx, board)
	if b := s.boards.Load().byName[board]; b != nil && b.mayHaveWritten(err) {
		b.cache.drop()
		if err == nil {
			b.sealed.Store(true)
		}
	}
	return info, directError("seal", board, err)
}

// Info is the board as it is in the store, or store.ErrNoBoard.
func (s *Service) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	if err := s.direct(board); err != nil {
		return store.BoardInfo{}, err
	}
	info, err := s.host.boards.Info(ctx, board)
	return info, directError("info", board, err)
}

// Remove deletes entries, and what was submitted for their keys before the call and waits in
// this service's queue; a write of them that is under way is waited for. It answers how many
// entries the store had, and drops cached pages. When the removal was not done the queue is as
// before; when its outcome is unknown the queued values are gone: call again until it is done.
//
// What waits on other nodes is written later. A write of this service whose outcome was
// unknown may also still arrive at the store afterwards.
func (s *Service) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	if err := s.direct(board); err != nil {
		return 0, err
	}
	b := s.boards.Load().byName[board]
	if b == nil {
		n, err := s.host.boards.Remove(ctx, board, keys...)
		return n, directError("remove", board, err)
	}
	taken, err := s.claim(ctx, b, keys)
	if err != nil {
		return 0, directError("remove", board, err)
	}
	n, err := s.host.boards.Remove(ctx, board, keys...)
	err = orMissing(err) // a board that was never written has no entries
	if errors.Is(err, store.ErrSealed) {
		b.sealed.Store(true)
	}
	removed := b.mayHaveWritten(err)
	if removed {
		b.cache.drop()
		b.mirror.forget(keys...)
	}
	b.release([]batch{{values: taken}}, removed)
	s.arm()
	return n, directError("remove", board, err)
}

// Erase is Remove that a seal does not stop, for persons who must be forgotten: of a sealed
// board the store forgets the keys (store.Boards.Erase). What a sealed board was read for
// before, such as a season's result, is its reader's to erase.
func (s *Service) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	n, err := s.Remove(ctx, board, keys...)
	if !errors.Is(err, store.ErrSealed) {
		return n, err
	}
	n, err = s.host.boards.Erase(ctx, board, keys...)
	if b := s.boards.Load().byName[board]; b != nil && b.mayHaveWritten(err) {
		b.cache.drop()
	}
	return n, directError("erase", board, err)
}

// claim takes what waits for the keys out of the queue once none of it is under way.
func (s *Service) claim(ctx context.Context, b *board, keys []string) ([]pending, error) {
	for flushed := false; ; {
		taken, landing, held := b.claim(keys)
		switch {
		case landing != nil:
			if err := await(ctx, landing); err != nil {
				return nil, fmt.Errorf("%w: a write of it is under way: %w", store.ErrUnavailable, err)
			}
		case held && flushed:
			return nil, fmt.Errorf("%w: sums of it could not be written yet", store.ErrUnavailable)
		case held:
			flushed = true
			if err := s.FlushNow(ctx); err != nil {
				return nil, fmt.Errorf("%w: sums of it come first: %w", store.ErrUnavailable, err)
			}
		default:
			return taken, nil
		}
	}
}

// Drop deletes the board with all its entries, and what waits for it in this service's queue;
// a write that is under way is waited for. Cached pages are dropped. When the drop was not
// done the queue is as before. A later submit creates the board anew, and so does what waits
// on other nodes, or a write of this service whose outcome was unknown. A missing board is
// done.
func (s *Service) Drop(ctx context.Context, board string) error {
	if err := s.direct(board); err != nil {
		return err
	}
	b := s.boards.Load().byName[board]
	if b == nil {
		return directError("drop", board, s.host.boards.Drop(ctx, board))
	}
	taken, landing := b.claimAll()
	for landing != nil {
		if err := await(ctx, landing); err != nil {
			return directError("drop", board, fmt.Errorf("%w: a write is under way: %w", store.ErrUnavailable, err))
		}
		taken, landing = b.claimAll()
	}
	err := s.host.boards.Drop(ctx, board)
	removed := b.mayHaveWritten(err)
	if removed {
		b.cache.drop()
		b.check(false)
		b.anew()
		b.sealed.Store(b.sealed.Load() && err != nil)
	}
	b.release(taken, removed)
	b.resume()
	s.arm()
	return directError("drop", board, err)
}

// direct admits a call that goes to the store.
func (s *Service) direct(board string) error {
	if s.drain.hasBegun() {
		return closedError(board)
	}
	return checkBoard(board)
}

// mayHaveWritten notes a write of the board unless it was not done.
func (b *board) mayHaveWritten(err error) bool {
	if store.OutcomeOf(err) == store.NotDone {
		return false
	}
	b.wrote.Add(1)
	return true
}

func directError(op, board string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("board: %s %s: %w", op, board, err)
}
