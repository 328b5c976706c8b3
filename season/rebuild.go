package season

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// lostBoards lists those of the season's boards that the register does not vouch for: missing,
// of another generation, or never opened safely.
func (s *Service) lostBoards(ctx context.Context, reg register, boards []Board) ([]Board, error) {
	var lost []Board
	for _, b := range boards {
		info, err := s.boards.Info(ctx, BoardKey(s.set, b.Name, reg.Season))
		switch {
		case errors.Is(err, store.ErrNoBoard):
			lost = append(lost, b)
		case err != nil:
			return nil, fmt.Errorf("board %s: %w", b.Name, err)
		case !reg.valid(b.Name, info.Generation):
			lost = append(lost, b)
		}
	}
	return lost, nil
}

// life is a board and the generation that it had when its filling began.
type life struct {
	board      Board
	generation string
}

// rebuild fills boards of a season that is over from the profiles, and has the register vouch
// for them. Why it stays right:
//
//   - What the register comes to name is the generation noted before the scan, and it is
//     written after the scan. A board that loses its memory in between has another one for
//     ever, so the register then vouches for a life that no page can be of.
//   - A rebuild that is interrupted writes nothing: the next closer finds the board lost and
//     fills it again.
//   - Two nodes may rebuild at once: Create answers both the same life, the merges repeat each
//     other, and the one that comes late finds the board sealed or the register right.
//   - A rebuild that was overtaken takes nothing back: its write to the register is conditional
//     on what was read before the board's generation was compared once more.
func (s *Service) rebuild(ctx context.Context, k int64, lost []Board) error {
	lives, err := s.fill(ctx, k, lost)
	if err != nil {
		return err
	}
	_, err = s.amendRegister(ctx, k, func(reg register) (register, error) {
		next, changed := reg, false
		for _, l := range lives {
			if err := s.sameLife(ctx, k, l); err != nil {
				return reg, err
			}
			if !reg.valid(l.board.Name, l.generation) {
				next, changed = next.with(l.board.Name, boardReg{Generation: l.generation, Rebuilt: true}), true
			}
		}
		if !changed {
			return reg, errKeep
		}
		return next, nil
	})
	if err != nil {
		return err
	}
	for _, l := range lives {
		s.log.WarnContext(ctx, "a board that lost its memory was rebuilt from the profiles",
			"season", s.cfg.ID(k), "board", l.board.Name)
	}
	return nil
}

// sameLife tells whether a board still has the generation it was filled in.
func (s *Service) sameLife(ctx context.Context, k int64, l life) error {
	info, err := s.boards.Info(ctx, BoardKey(s.set, l.board.Name, s.cfg.ID(k)))
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		return fmt.Errorf("board %s: %w", l.board.Name, err)
	}
	if err != nil || info.Generation != l.generation {
		return fmt.Errorf("board %s: again, while it was filled: %w", l.board.Name, ErrMemory)
	}
	return nil
}

// fill creates boards where they are missing and merges the season's values of all profiles.
func (s *Service) fill(ctx context.Context, k int64, lost []Board) ([]life, error) {
	if s.deps.Profiles == nil {
		return nil, fmt.Errorf("board %s: %w, and there are no profiles to rebuild it from", lost[0].Name, ErrMemory)
	}
	lives := make([]life, 0, len(lost))
	for _, b := range lost {
		info, err := s.createBoard(ctx, k, b)
		if err != nil {
			return nil, err
		}
		if info.Sealed {
			return nil, s.unseal(ctx, k, life{b, info.Generation})
		}
		lives = append(lives, life{b, info.Generation})
	}
	var list []parcel
	err := s.deps.Profiles.Scan(ctx, func(p Profile) error {
		stats, ok := s.rules.statsIn(p.Data, k)
		if !ok {
			return nil
		}
		list = append(list, parcel{slot: slot{k, p.Key}, stats: stats, meta: s.rules.nameIn(p.Data), stamp: p.Stamp})
		if len(list) < chunkSize {
			return nil
		}
		err := s.fillWith(ctx, k, lives, list)
		list = list[:0]
		return err
	})
	if err == nil {
		err = s.fillWith(ctx, k, lives, list)
	}
	if err != nil {
		return nil, fmt.Errorf("rebuild from the profiles: %w", err)
	}
	return lives, nil
}

// unseal deals with a sealed board that the register, as last read, does not vouch for. Either
// another node has just finished it; or it was sealed in the moment after it had lost its
// memory, and is dropped, to be made anew. Dropping is safe whenever it lands: the truth is in
// the profiles until there is a result, and a result is made only from pages of the generation
// that the register names.
func (s *Service) unseal(ctx context.Context, k int64, l life) error {
	rec, err := s.read(ctx, registerKey(s.set, s.cfg.ID(k)))
	if err != nil {
		return err
	}
	reg, err := decodeRegister(rec.Value)
	if err != nil {
		return err
	}
	if reg.valid(l.board.Name, l.generation) {
		return errAgain
	}
	s.log.WarnContext(ctx, "a board was sealed after it had lost its memory; it is dropped and rebuilt from the profiles",
		"season", reg.Season, "board", l.board.Name)
	if err := s.boards.Drop(ctx, BoardKey(s.set, l.board.Name, reg.Season)); err != nil {
		return fmt.Errorf("drop board %s: %w", l.board.Name, err)
	}
	return errAgain
}

// fillWith merges values into the boards that are being filled, in parts that the request
// budget has room for.
func (s *Service) fillWith(ctx context.Context, k int64, lives []life, list []parcel) error {
	for len(list) > 0 {
		now, err := s.afford(ctx, len(list), len(lives), true)
		if err != nil {
			return err
		}
		err = s.fillPart(now.paid.With(ctx), k, lives, list[:now.parcels])
		now.paid.Refund()
		if err != nil {
			return err
		}
		list = list[now.parcels:]
	}
	return nil
}

func (s *Service) fillPart(ctx context.Context, k int64, lives []life, list []parcel) error {
	for _, l := range lives {
		entries := make([]store.Submission, 0, len(list))
		for _, p := range list {
			if score, ok := number(p.stats, l.board.Stat); ok {
				entries = append(entries, store.Submission{Key: p.key, Score: score, Stamp: p.stamp, Meta: p.meta})
			}
		}
		if len(entries) == 0 {
			continue
		}
		_, err := s.boards.Merge(ctx, BoardKey(s.set, l.board.Name, s.cfg.ID(k)), store.Batch{Rule: store.Last, Entries: entries})
		if errors.Is(err, store.ErrSealed) {
			return errAgain
		}
		if err != nil {
			return fmt.Errorf("board %s: %w", l.board.Name, err)
		}
	}
	return nil
}

// statsIn is what a profile has of season k: its block's counters, or what it owes.
func (r *rules) statsIn(data doc.Value, k int64) (doc.Value, bool) {
	block, err := r.block(data)
	if err != nil {
		return doc.Value{}, false
	}
	id := r.cfg.ID(k)
	if member, _ := block.Member("season"); !member.IsNull() {
		if season, _ := member.AsString(); season == id {
			stats, ok := block.Member("stats")
			return stats, ok
		}
	}
	owed, _ := block.Member("owed")
	return owed.Member(id)
}

// inspect looks after the boards of the running season: one that lost its memory is filled
// from the profiles by the node that first claims it, and every node sends its sessions'
// values again. That is for the players to see; the register does not vouch for it, and the
// board is rebuilt again at the close, when every profile holds its final values.
func (s *Service) inspect(ctx context.Context) error {
	k := s.season()
	rec, err := s.read(ctx, registerKey(s.set, s.cfg.ID(k)))
	if err != nil || rec.Missing() {
		return err
	}
	reg, err := decodeRegister(rec.Value)
	if err != nil || reg.Unplayed {
		return err
	}
	if err := s.define(k); err != nil {
		return err
	}
	generations := make(map[string]string, len(s.cfg.Boards))
	var refill []Board
	for _, b := range s.cfg.Boards {
		named := reg.Boards[b.Name]
		info, err := s.boards.Info(ctx, BoardKey(s.set, b.Name, reg.Season))
		if errors.Is(err, store.ErrNoBoard) && named.Generation != "" {
			info, err = s.createBoard(ctx, k, b)
		}
		if errors.Is(err, store.ErrNoBoard) {
			continue
		}
		if err != nil {
			return fmt.Errorf("season: inspect board %s of %s: %w", b.Name, reg.Season, err)
		}
		generations[b.Name] = info.Generation
		if named.Generation != "" && !reg.valid(b.Name, info.Generation) && named.Refilled != info.Generation {
			refill = append(refill, b)
		}
	}
	if s.opened.saw(k, generations, false) {
		s.resendAll()
	}
	if len(refill) == 0 || s.deps.Profiles == nil {
		return nil
	}
	return s.refill(ctx, k, refill, generations)
}

// refill claims the filling of boards and does it.
func (s *Service) refill(ctx context.Context, k int64, boards []Board, generations map[string]string) error {
	var mine []Board
	_, err := s.amendRegister(ctx, k, func(reg register) (register, error) {
		mine = mine[:0]
		next := reg
		for _, b := range boards {
			named := reg.Boards[b.Name]
			if named.Refilled == generations[b.Name] {
				continue
			}
			named.Refilled = generations[b.Name]
			next = next.with(b.Name, named)
			mine = append(mine, b)
		}
		if len(mine) == 0 {
			return reg, errKeep
		}
		return next, nil
	})
	if err != nil || len(mine) == 0 {
		return err
	}
	if _, err := s.fill(ctx, k, mine); err != nil {
		return fmt.Errorf("season: refill the boards of %s: %w", s.cfg.ID(k), err)
	}
	s.log.InfoContext(ctx, "boards of the running season were refilled from the profiles", "season", s.cfg.ID(k), "boards", len(mine))
	return nil
}
