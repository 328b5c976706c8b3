package storecopy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
)

const boardFolder = ledgerFolder + "board/"

// boards goes through the boards of the source, then through those that only the target has.
func (p *pass) boards(ctx context.Context) error {
	names, err := p.boardNames(ctx, p.From.Boards())
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.board(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p.Progress(p.sum)
	}
	there, err := p.boardNames(ctx, p.To.Boards())
	if err != nil {
		return err
	}
	for _, name := range there {
		if _, has := slices.BinarySearch(names, name); has {
			continue
		}
		if err := p.lone(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// boardNames are all boards of a store, in order.
func (p *pass) boardNames(ctx context.Context, boards store.Boards) (names []string, err error) {
	for after := ""; ; after = names[len(names)-1] {
		page, err := ask(ctx, p.Clock, func() ([]string, error) { return boards.List(ctx, "", after, store.MaxPage) })
		if err != nil {
			return nil, err
		}
		if names = append(names, page...); len(page) < store.MaxPage {
			return names, nil
		}
	}
}

func (p *pass) info(ctx context.Context, boards store.Boards, name string) (store.BoardInfo, error) {
	return ask(ctx, p.Clock, func() (store.BoardInfo, error) { return boards.Info(ctx, name) })
}

// stride is one page of a walk.
type stride struct {
	entries []store.Standing
	next    store.Cursor
	done    bool
}

func (p *pass) walk(ctx context.Context, boards store.Boards, name string, from store.Cursor) (stride, error) {
	return ask(ctx, p.Clock, func() (stride, error) {
		page, next, err := boards.Walk(ctx, name, from, store.MaxPage)
		return stride{page.Entries, next, next.Done() || len(page.Entries) == 0}, err
	})
}

// shelf is one board on its way.
type shelf struct {
	*pass

	name    string
	source  store.BoardInfo
	there   *store.BoardInfo // nil: the target has none
	mark    *boardMark       // nil: the ledger does not know it
	version store.Version    // of the mark
}

// board deals with one board of the source.
func (p *pass) board(ctx context.Context, name string) error {
	s := &shelf{pass: p, name: name}
	var err error
	if s.source, err = p.info(ctx, p.From.Boards(), name); errors.Is(err, store.ErrNoBoard) {
		return nil // it was dropped meanwhile
	} else if err != nil {
		return err
	}
	p.sum.Boards.Seen++
	if err := s.look(ctx); err != nil {
		return err
	}
	switch judgeBoard(s.source, s.there, s.mark) {
	case boardSame:
		p.sum.Boards.Same++
	case boardCopy:
		return s.copy(ctx)
	case boardCompare:
		return s.compare(ctx)
	case boardConflict:
		return s.refuse(ctx, Conflict, "the target's was written by somebody else")
	case boardRemoved:
		return s.refuse(ctx, Removed, "it was copied before, and somebody else dropped it from the target")
	}
	return nil
}

// look reads what the target and the ledger have.
func (s *shelf) look(ctx context.Context) error {
	info, err := s.info(ctx, s.To.Boards(), s.name)
	switch {
	case err == nil:
		s.there = &info
	case !errors.Is(err, store.ErrNoBoard):
		return err
	}
	found, err := ask(ctx, s.Clock, func() ([]store.Record, error) { return s.to.records.Get(ctx, boardFolder+s.name) })
	if err != nil || found[0].Missing() {
		return err
	}
	s.version, s.mark = found[0].Version, new(boardMark)
	return decode(boardFolder+s.name, found[0].Value, s.mark)
}

// refuse reports what somebody else decided at the target, or overrules them.
func (s *shelf) refuse(ctx context.Context, kind Kind, why string) error {
	if s.Overwrite {
		return s.copy(ctx)
	}
	if kind == Removed {
		s.sum.Boards.Removed++
	} else {
		s.sum.Boards.Conflicts++
	}
	s.Report(Finding{Kind: kind, Board: s.name, Why: why})
	return nil
}

// write puts the mark into the ledger.
func (s *shelf) write(ctx context.Context, m boardMark) error {
	m.Format = ledgerFormat
	if err := s.ledger.put(ctx, boardFolder+s.name, m, store.Is(s.version), &s.version); err != nil {
		return err
	}
	s.mark = &m
	return nil
}

// Restarts is how often a board is begun again whose walk was lost.
const restarts = 3

// errMoving: the board did not hold still.
var errMoving = errors.New("storecopy: the board changes")

// copy makes the target's board anew.
func (s *shelf) copy(ctx context.Context) error {
	if s.DryRun {
		s.sum.Boards.Copied++
		s.sum.Boards.Entries += s.source.Count + s.source.Hidden
		return nil
	}
	for range restarts {
		entries, err := s.attempt(ctx)
		if err == nil {
			s.sum.Boards.Copied++
			s.sum.Boards.Entries += entries
			return nil
		}
		if !errors.Is(err, errMoving) && !errors.Is(err, store.ErrCursor) && !errors.Is(err, store.ErrNoBoard) {
			return err
		}
		if s.source, err = s.info(ctx, s.From.Boards(), s.name); errors.Is(err, store.ErrNoBoard) {
			break
		} else if err != nil {
			return err
		}
	}
	s.sum.Boards.Moving++
	s.Report(Finding{Kind: Moving, Board: s.name, Why: fmt.Sprintf("it was begun %d times and changed too much each time, or somebody else writes into the target's", restarts)})
	return nil
}

// attempt copies the board once: into a board that was not there before.
func (s *shelf) attempt(ctx context.Context) (entries int64, err error) {
	mark := boardMark{Generation: s.source.Generation, Source: s.source.Sequence}
	if err := s.write(ctx, mark); err != nil {
		return 0, err
	}
	to := s.To.Boards()
	if err := to.Drop(ctx, s.name); err != nil { // unknown: it may come later, so nothing is written now
		return 0, err
	}
	spec := store.BoardSpec{Order: s.source.Order, Generation: s.source.Generation}
	if _, err := ask(ctx, s.Clock, func() (store.BoardInfo, error) { return to.Create(ctx, s.name, spec) }); err != nil {
		return 0, err
	}
	h, err := s.hide(ctx)
	if err != nil {
		return 0, err
	}
	if entries, err = s.stream(ctx, h); err != nil {
		return 0, err
	}
	info, err := s.finish(ctx)
	if err != nil {
		return 0, err
	}
	entries += int64(len(h.keys) - h.scored)
	if info.Generation != s.source.Generation || info.Count+info.Hidden != entries {
		return 0, errMoving
	}
	mark.Target, mark.Sealed, mark.Done = info.Sequence, info.Sealed, true
	return entries, s.write(ctx, mark)
}

// hide reads the hidden keys and hides them at the target, before their entries come.
func (s *shelf) hide(ctx context.Context) (h *hidden, err error) {
	h = &hidden{keys: make(map[string]bool)}
	if err := s.eachHidden(ctx, s.From.Boards(), func(page []store.HiddenEntry) error {
		keys := make([]string, len(page))
		for i, e := range page {
			keys[i], h.keys[e.Key] = e.Key, true
			if e.Scored {
				h.entries = append(h.entries, e.Entry)
				h.scored++
			}
		}
		_, err := ask(ctx, s.Clock, func() (int, error) { return s.To.Boards().Hide(ctx, s.name, true, keys...) })
		return err
	}); err != nil {
		return nil, err
	}
	h.sorted(s.source.Order)
	return h, nil
}

// eachHidden calls f with the hidden keys of a board, page by page.
func (s *shelf) eachHidden(ctx context.Context, boards store.Boards, f func([]store.HiddenEntry) error) error {
	for after := ""; ; {
		page, err := ask(ctx, s.Clock, func() ([]store.HiddenEntry, error) { return boards.Hidden(ctx, s.name, after, store.MaxPage) })
		if err != nil || len(page) == 0 {
			return err
		}
		if err := f(page); err != nil {
			return err
		}
		if len(page) < store.MaxPage {
			return nil
		}
		after = page[len(page)-1].Key
	}
}

// stream copies the entries in their order, so that the target gives them rising sequences.
func (s *shelf) stream(ctx context.Context, h *hidden) (entries int64, err error) {
	for at := (stride{}); !at.done; {
		if at, err = s.walk(ctx, s.From.Boards(), s.name, at.next); err != nil {
			return entries, err
		}
		batch := h.woven(s.source.Order, at.entries, at.done)
		if err := s.merge(ctx, batch); err != nil {
			return entries, err
		}
		entries += int64(len(batch))
	}
	return entries, nil
}

// merge writes entries. A batch whose answer was lost is sent again: what it has written is kept.
func (s *shelf) merge(ctx context.Context, entries []store.Entry) error {
	for chunk := range slices.Chunk(entries, store.MaxMerge) {
		if err := s.pace.wait(ctx, len(chunk)); err != nil {
			return err
		}
		batch := store.Batch{Rule: store.Best, Entries: submissions(chunk)}
		if _, err := ask(ctx, s.Clock, func() ([]store.Change, error) { return s.To.Boards().Merge(ctx, s.name, batch) }); err != nil {
			return err
		}
	}
	return nil
}

// finish seals the board if the source's is, and answers it as it is.
func (s *shelf) finish(ctx context.Context) (info store.BoardInfo, err error) {
	if !s.source.Sealed {
		return s.info(ctx, s.To.Boards(), s.name)
	}
	return ask(ctx, s.Clock, func() (store.BoardInfo, error) { return s.To.Boards().Seal(ctx, s.name) })
}

// compare looks whether a board that the ledger does not know is as the source's.
func (s *shelf) compare(ctx context.Context) error {
	same, err := s.same(ctx)
	switch {
	case errors.Is(err, store.ErrCursor), errors.Is(err, store.ErrNoBoard):
		s.sum.Boards.Moving++
		s.Report(Finding{Kind: Moving, Board: s.name, Why: "it changed too much while it was compared"})
		return nil
	case err != nil:
		return err
	case !same:
		return s.refuse(ctx, Conflict, "the target has a board of this name that was not copied")
	}
	s.sum.Boards.Same++
	if s.DryRun {
		return nil
	}
	return s.write(ctx, boardMark{Generation: s.source.Generation, Source: s.source.Sequence, Target: s.there.Sequence, Sealed: s.there.Sealed, Done: true})
}

// same tells whether both boards have the same entries in the same order, and hide the same.
func (s *shelf) same(ctx context.Context) (bool, error) {
	a, b := s.source, *s.there
	if a.Order != b.Order || a.Generation != b.Generation || a.Count != b.Count || a.Hidden != b.Hidden || a.Sealed != b.Sealed {
		return false, nil
	}
	left, err := s.hiddenOf(ctx, s.From.Boards())
	if err != nil {
		return false, err
	}
	right, err := s.hiddenOf(ctx, s.To.Boards())
	if err != nil {
		return false, err
	}
	if !slices.EqualFunc(left, right, func(a, b store.HiddenEntry) bool { return a.Scored == b.Scored && alike(a.Entry, b.Entry) }) {
		return false, nil
	}
	return s.sameWalk(ctx)
}

// hiddenOf are all hidden keys of the board.
func (s *shelf) hiddenOf(ctx context.Context, boards store.Boards) (all []store.HiddenEntry, err error) {
	err = s.eachHidden(ctx, boards, func(page []store.HiddenEntry) error {
		all = append(all, page...)
		return nil
	})
	return all, err
}

func (s *shelf) sameWalk(ctx context.Context) (bool, error) {
	var a, b stride
	for !a.done {
		var err error
		if a, err = s.walk(ctx, s.From.Boards(), s.name, a.next); err != nil {
			return false, err
		}
		if b, err = s.walk(ctx, s.To.Boards(), s.name, b.next); err != nil {
			return false, err
		}
		if !slices.EqualFunc(a.entries, b.entries, func(a, b store.Standing) bool { return alike(a.Entry, b.Entry) }) {
			return false, nil
		}
	}
	return true, nil
}

// lone deals with a board that only the target has.
func (p *pass) lone(ctx context.Context, name string) error {
	s := &shelf{pass: p, name: name}
	if err := s.look(ctx); err != nil || s.there == nil {
		return err
	}
	if s.mark == nil || s.mark.Done && (s.there.Generation != s.mark.Generation || s.there.Sequence != s.mark.Target) {
		p.sum.Boards.Foreign++
		return nil
	}
	if !p.Prune {
		p.sum.Boards.Gone++
		p.Report(Finding{Kind: Gone, Board: name, Why: "the source has it no more"})
		return nil
	}
	p.sum.Boards.Pruned++
	if p.DryRun {
		return nil
	}
	if err := p.To.Boards().Drop(ctx, name); err != nil {
		return err
	}
	_, err := p.to.write(ctx, []store.Write{{Key: boardFolder + name, Op: store.Delete, If: store.Is(s.version)}})
	return err
}
