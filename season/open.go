package season

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shoalworks/shoal/store"
)

// maxOpened is how many seasons a node remembers as opened; beyond, it opens them again.
const maxOpened = 64

// opened remembers, per season, the generation of each board as this node last saw it, once
// the register names one for each: from then on the node may merge.
type opened struct {
	mu struct {
		sync.Mutex
		ready   map[int64]bool
		written map[int64]map[string]bool   // the boards that have taken a merge since they were ready
		seen    map[int64]map[string]string // also when not ready
	}
}

func newOpened() *opened {
	o := new(opened)
	o.mu.ready, o.mu.written = make(map[int64]bool), make(map[int64]map[string]bool)
	o.mu.seen = make(map[int64]map[string]string)
	return o
}

func (o *opened) isReady(k int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.ready[k]
}

// close has the season opened again before the next merge.
func (o *opened) close(k int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.mu.ready, k)
	delete(o.mu.written, k)
}

// written is how many boards have taken a merge since they were opened.
func (o *opened) written(k int64) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.mu.written[k])
}

// wrote notes that a board has.
func (o *opened) wrote(k int64, board string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.mu.ready[k] {
		return
	}
	if o.mu.written[k] == nil {
		o.mu.written[k] = make(map[string]bool)
	}
	o.mu.written[k][board] = true
}

// saw notes the boards' generations and tells whether one of them is another than before.
func (o *opened) saw(k int64, generations map[string]string, ready bool) (changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, known := o.mu.seen[k]
	if len(o.mu.seen) >= maxOpened && !known {
		clear(o.mu.seen)
		clear(o.mu.ready)
		clear(o.mu.written)
	}
	o.mu.seen[k] = maps.Clone(generations)
	if ready {
		o.mu.ready[k] = true
	}
	for board, g := range before {
		changed = changed || generations[board] != g
	}
	if changed {
		delete(o.mu.written, k)
	}
	return known && changed
}

// maxDefined is how many seasons' boards are defined at a time.
const maxDefined = 4

// defined remembers which seasons' boards their owner has been told of.
type defined struct {
	last atomic.Int64 // 1 + the season asked for last: the usual answer
	mu   struct {
		sync.Mutex
		ks []int64 // in order of use, the latest last
	}
}

// define tells the boards' owner of a season's boards before they are used, and has it forget
// those of the season that was used longest ago. Define and Forget are no store calls, so the
// lock is held across them: whoever comes second finds the boards defined.
func (s *Service) define(k int64) error {
	if s.defined.last.Load() == k+1 {
		return nil
	}
	s.defined.mu.Lock()
	defer s.defined.mu.Unlock()
	ks := s.defined.mu.ks
	if at := slices.Index(ks, k); at >= 0 {
		ks = slices.Delete(ks, at, at+1)
	} else if err := s.defineBoards(k); err != nil {
		return err
	}
	if len(ks) == maxDefined {
		for _, key := range s.namesOf(ks[0]).boards {
			s.boards.Forget(key)
		}
		ks = slices.Delete(ks, 0, 1)
	}
	s.defined.mu.ks = append(ks, k)
	s.defined.last.Store(k + 1)
	return nil
}

func (s *Service) defineBoards(k int64) error {
	for i, key := range s.namesOf(k).boards {
		shape := Shape{Order: s.cfg.Boards[i].Order, CacheFor: s.cfg.CacheFor, Entries: s.cfg.Top}
		if err := s.boards.Define(key, shape); err != nil {
			return fmt.Errorf("season: define %s: %w", key, err)
		}
	}
	return nil
}

// openBoards makes season k's boards ready to be written: see register for the order. A season
// that is over answers store.ErrSealed.
func (s *Service) openBoards(ctx context.Context, k int64) error {
	if s.opened.isReady(k) {
		return nil
	}
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	reg, err := s.openRegister(ctx, k)
	if err != nil {
		return err
	}
	if reg.Unplayed {
		return fmt.Errorf("season: %s was closed unplayed: %w", reg.Season, store.ErrSealed)
	}
	generations, err := s.createBoards(ctx, k)
	if err != nil {
		return err
	}
	reg, err = s.amendRegister(ctx, k, func(reg register) (register, error) {
		next, changed := reg.adding(generations, s.deps.Profiles != nil)
		if !changed {
			return reg, errKeep
		}
		return next, nil
	})
	if err != nil {
		return err
	}
	for board, g := range generations {
		if !reg.valid(board, g) {
			s.log.WarnContext(ctx, "a board of the season is new or lost its memory; it will be filled from the profiles",
				"season", reg.Season, "board", board, "new", reg.names(board, g))
			wake(s.closeKick)
		}
	}
	if s.opened.saw(k, generations, true) {
		s.resendAll()
	}
	return nil
}

// openRegister reads the season's register, or creates it: opening.
func (s *Service) openRegister(ctx context.Context, k int64) (register, error) {
	return s.amendRegister(ctx, k, func(reg register) (register, error) {
		if reg.Format != 0 {
			return reg, errKeep
		}
		return newRegister(s.cfg.ID(k)), nil
	})
}

// amendRegister is amend for registers; a missing one is the zero register.
func (s *Service) amendRegister(ctx context.Context, k int64, next func(register) (register, error)) (register, error) {
	data, err := s.amend(ctx, registerKey(s.set, s.cfg.ID(k)), func(now []byte) ([]byte, error) {
		var reg register
		if now != nil {
			var err error
			if reg, err = decodeRegister(now); err != nil {
				return nil, err
			}
		}
		reg, err := next(reg)
		if err != nil {
			return nil, err
		}
		return reg.encode()
	})
	if err != nil || data == nil {
		return register{}, err
	}
	return decodeRegister(data)
}

// createBoards creates what is missing of a season's boards and answers every board's
// generation.
func (s *Service) createBoards(ctx context.Context, k int64) (map[string]string, error) {
	if err := s.define(k); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(s.cfg.Boards))
	for _, b := range s.cfg.Boards {
		info, err := s.createBoard(ctx, k, b)
		if err != nil {
			return nil, err
		}
		out[b.Name] = info.Generation
	}
	return out, nil
}

// createBoard creates a board or answers the one there is. An unknown outcome is asked again:
// creating twice is creating once, and the board's own generation is what counts. A board that
// another release has made with the other order stays as it is until the season's end.
func (s *Service) createBoard(ctx context.Context, k int64, b Board) (store.BoardInfo, error) {
	id := s.cfg.ID(k)
	key := BoardKey(s.set, b.Name, id)
	spec := store.BoardSpec{Order: b.Order, Generation: s.n.NewToken("generation", key)}
	info, err := s.boards.Create(ctx, key, spec)
	if store.OutcomeOf(err) == store.Unknown && ctx.Err() == nil {
		info, err = s.boards.Create(ctx, key, spec)
	}
	if errors.Is(err, store.ErrInvalid) {
		if there, otherwise := s.boards.Info(ctx, key); otherwise == nil && there.Order != b.Order {
			s.log.WarnContext(ctx, "a board has another order than is configured, and keeps it in this season",
				"season", id, "board", b.Name, "order", there.Order, "configured", b.Order)
			info, err = there, nil
		}
	}
	if err != nil {
		return store.BoardInfo{}, fmt.Errorf("season: create board %s of %s: %w", b.Name, id, err)
	}
	return info, nil
}

// resendAll has every open session's values sent again, because a board has forgotten them.
func (s *Service) resendAll() {
	for _, p := range s.players.all() {
		p.changed.Add(1)
		p.unsettle()
	}
}

// isOver tells whether season k takes no values any more, and why. Besides its seal, a season
// with a result is refused here, before any board is asked. Within Grace no season has one: its
// last values need no look for it, and so no budget for reads.
func (s *Service) isOver(ctx context.Context, k int64) (why, err error) {
	fleet, fresh := s.n.FleetTime()
	if k >= s.cfg.Season(fleet) {
		return nil, nil
	}
	p, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	if k < p.first {
		return fmt.Errorf("%w: %s was before the first of %s", ErrNoSeason, s.cfg.ID(k), s.set), nil
	}
	if s.shelf.isClosed(k) {
		return store.ErrSealed, nil
	}
	if fresh && !s.isDue(k, fleet) {
		return nil, nil
	}
	found, err := s.results(ctx, []int64{k})
	if err != nil {
		return nil, err
	}
	if found[k] != nil {
		return store.ErrSealed, nil
	}
	return nil, nil
}
