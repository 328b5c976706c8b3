package season

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// Waiver is an operator's word that a season is closed although boards of it cannot be read.
type Waiver struct {
	// Boards are the boards that the result goes without, by name. At least one.
	Boards []string `json:"boards"`
	// By is who decides, at most 128 bytes. Needed.
	By string `json:"by"`
	// Note is why, at most 1024 bytes. Needed.
	Note string `json:"note"`
}

// waiveTries is how often a board has to fail before it counts as one that cannot be read.
const waiveTries = 2

// check tells what is wrong with a waiver, whose boards have to be among those of the seasons.
func (w Waiver) check(boards []Board) error {
	if len(w.Boards) == 0 {
		return fmt.Errorf("%w: boards: name those that the result goes without", ErrRuling)
	}
	for i, board := range w.Boards {
		if !slices.ContainsFunc(boards, func(b Board) bool { return b.Name == board }) {
			return fmt.Errorf("%w: %q", ErrNoBoard, shown(board))
		}
		if slices.Contains(w.Boards[:i], board) {
			return fmt.Errorf("%w: boards: %q comes twice", ErrRuling, board)
		}
	}
	return errors.Join(checkText("by", w.By, maxBy), checkText("note", w.Note, maxReason))
}

// CloseWithout closes a season that is due and waits for boards that cannot be read, or of which
// nobody can vouch for that they have kept their memory, without them: the result says of them
// that they are missing, and nobody gets a title for them. Everything else is as in any close.
// It is an operator's word, and it is final: a board that comes back later changes nothing.
//
// A board that is fine is refused: each named board is looked at, twice, in this very call. When
// the season has its result already, by whomever, that one is answered and Here is false.
//
// Errors: ErrRuling (a field), ErrNoSeason, ErrNoBoard, ErrNotDue, ErrClock, ErrBoardFine,
// ErrClosed, and why the other boards could not be read.
func (s *Service) CloseWithout(ctx context.Context, id string, w Waiver) (Closed, error) {
	if s.isClosed() {
		return Closed{}, ErrClosed
	}
	if err := w.check(s.cfg.Boards); err != nil {
		return Closed{}, err
	}
	k, ok := s.cfg.Parse(id)
	if !ok {
		return Closed{}, fmt.Errorf("%w: %q", ErrNoSeason, shown(id))
	}
	ctx = inBackground(ctx)
	select {
	case s.passing <- struct{}{}:
	case <-ctx.Done():
		return Closed{}, fmt.Errorf("season: close %s: %w", id, context.Cause(ctx))
	}
	defer func() { <-s.passing }()
	if err := s.isReadyToClose(ctx, k); err != nil {
		return Closed{}, err
	}
	w.Boards = slices.Clone(w.Boards)
	var err error
	for range closeTries {
		var res *Result
		var here bool
		epoch := s.shelf.epoch()
		if res, here, err = s.tryWithout(ctx, k, w); err == nil {
			return s.closedWithout(ctx, res, epoch, Closed{k, id, here}, w), nil
		}
		if !errors.Is(err, errAgain) {
			break
		}
	}
	return Closed{}, fmt.Errorf("season: close %s: %w", id, err)
}

// isReadyToClose tells why a season must not be closed yet: it has not begun for this set, its
// Grace is not over by the store's own clock, or that clock is not known well.
func (s *Service) isReadyToClose(ctx context.Context, k int64) error {
	prog, err := s.readProgress(ctx)
	if err != nil {
		return err
	}
	if !prog.started || k < prog.first {
		return fmt.Errorf("%w: %s was before the first of %s", ErrNoSeason, s.cfg.ID(k), s.set)
	}
	if _, fresh := s.n.FleetTime(); !fresh {
		return fmt.Errorf("season: close %s: %w", s.cfg.ID(k), ErrClock)
	}
	now, err := s.durable.Now(ctx)
	if err != nil {
		return fmt.Errorf("season: the store's clock: %w", err)
	}
	if !s.isDue(k, now) {
		return fmt.Errorf("%w: %s, until %s", ErrNotDue, s.cfg.ID(k), s.cfg.End(k).Add(s.cfg.Grace))
	}
	return nil
}

// tryWithout is tryClose for a close without boards.
func (s *Service) tryWithout(ctx context.Context, k int64, w Waiver) (res *Result, here bool, err error) {
	id := s.cfg.ID(k)
	recs, err := s.durable.Get(ctx, resultKey(s.set, id), registerKey(s.set, id))
	if err != nil {
		return nil, false, fmt.Errorf("read result: %w", err)
	}
	if !recs[0].Missing() {
		res, err := s.resultOf(k, recs[0])
		return res, false, err
	}
	if recs[1].Missing() {
		return nil, false, fmt.Errorf("%w: nobody played %s", ErrBoardFine, id)
	}
	reg, err := decodeRegister(recs[1].Value)
	if err != nil {
		return nil, false, err
	}
	if reg.Unplayed {
		return nil, false, fmt.Errorf("%w: nobody played %s", ErrBoardFine, id)
	}
	if err := s.define(k); err != nil {
		return nil, false, err
	}
	for _, b := range s.cfg.Boards {
		if slices.Contains(w.Boards, b.Name) {
			if err := s.isBroken(ctx, reg, b); err != nil {
				return nil, false, err
			}
		}
	}
	if res, err = s.compute(ctx, k, reg, w.Boards); err != nil {
		return nil, false, err
	}
	return s.create(ctx, res, w)
}

// isBroken is nil when a board cannot be closed now: it does not answer, or the register does
// not vouch for it. It tries what a close would do; sealing a board that is due harms nothing.
func (s *Service) isBroken(ctx context.Context, reg register, b Board) error {
	for range waiveTries {
		err := s.tryBoard(ctx, reg, b)
		if ctx.Err() != nil {
			return fmt.Errorf("look at board %s: %w", b.Name, context.Cause(ctx))
		}
		if isShort(err) { // nobody has looked at it
			return fmt.Errorf("look at board %s: %w", b.Name, err)
		}
		if err == nil {
			return fmt.Errorf("%w: %s of %s", ErrBoardFine, b.Name, reg.Season)
		}
		s.log.WarnContext(ctx, "a board cannot be closed", "season", reg.Season, "board", b.Name, "err", err)
	}
	return nil
}

func (s *Service) tryBoard(ctx context.Context, reg register, b Board) error {
	info, err := s.boards.Info(ctx, BoardKey(s.set, b.Name, reg.Season))
	if err != nil {
		return err
	}
	if !reg.valid(b.Name, info.Generation) {
		return ErrMemory
	}
	if err := s.seal(ctx, reg.Season, b); err != nil {
		return err
	}
	_, err = s.sealedPage(ctx, reg, b)
	return err
}

// closedWithout takes up a result that an operator asked for.
func (s *Service) closedWithout(ctx context.Context, res *Result, epoch uint64, c Closed, w Waiver) Closed {
	s.shelf.put(res, epoch)
	s.waits.clear(res.K)
	s.announce(ctx, res, c.Here)
	if c.Here {
		s.log.WarnContext(ctx, "season closed without boards", "season", res.Season, "boards", w.Boards, "by", w.By, "note", w.Note)
	}
	wake(s.closeKick)
	return c
}

// isMissing tells that a season in memory was closed without a board.
func (s *Service) isMissing(k int64, board string) bool {
	res, ok := s.shelf.get(k)
	return ok && slices.ContainsFunc(res.Boards, func(b BoardResult) bool { return b.Missing && b.Board == board })
}

// refuseMissing reports the values of a board that the result goes without: they are not
// counted, whatever the board holds, and it may never answer again.
func (s *Service) refuseMissing(ctx context.Context, k int64, b Board, list []parcel) {
	for _, p := range list {
		if score, ok := number(p.stats, b.Stat); ok {
			s.report(ctx, Refused{Key: p.key, Season: s.cfg.ID(k), Board: b.Name, Score: score, Err: store.ErrSealed})
		}
	}
}
