package season

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/doc"
)

const (
	maxWalk    = 2000 // seasons that one look for unprocessed ones passes over
	sweepWidth = 64   // players processed at once in the background
)

// candidates lists closed seasons, as far as is known, that a profile is not processed for:
// at most maxLookup, in order; more when there are others.
func (s *Service) candidates(done Processed, p progress) (ks []int64, more bool) {
	now := s.clock.Now()
	last := s.season() - 1
	done = done.From(p.first)
	for k := done.Through + 1; k <= last && k <= done.Through+maxWalk; k++ {
		switch {
		case done.Has(k) || done.Full(k):
		case !s.shelf.isClosed(k) && s.shelf.isAbsent(k, now):
		case len(ks) == maxLookup:
			return ks, true
		default:
			ks = append(ks, k)
		}
	}
	return ks, false
}

// grantTo processes closed seasons for a player, and corrections of those that are processed.
// Titles, rewards and the marks are one transaction; the listener hears of the titles when it is
// stored. more tells that there are seasons left.
func (s *Service) grantTo(ctx context.Context, p *player) (titles []Title, more bool, err error) {
	prog, err := s.begin(ctx)
	if err != nil {
		return nil, true, err
	}
	if err := s.freshIndex(ctx); err != nil {
		return nil, true, err
	}
	news := s.shelf.news()
	block, err := s.rules.block(p.session.Data())
	if err != nil {
		return nil, false, err
	}
	created := s.cfg.Season(p.session.Created())
	ks, more := s.candidates(s.rules.processed(block, created), prog)
	again := s.corrected(block)
	if len(again) > maxLookup {
		again, more = again[:maxLookup], true
	}
	standings, err := s.standingsIn(ctx, append(ks, again...))
	if err != nil {
		return nil, true, err
	}
	if len(standings) > 0 {
		if titles, err = s.store(ctx, p, prog.first, standings); err != nil {
			return titles, true, err
		}
	}
	if !more {
		p.setLooked(news)
	}
	return titles, more, nil
}

// corrected lists seasons that were corrected, as far as is known, since a block's titles were.
func (s *Service) corrected(block doc.Value) []int64 {
	now := s.clock.Now()
	return s.rules.outdated(block, func(id string) int { return s.docket.count(id, now) })
}

// standingsIn is how those of the seasons stand that are closed.
func (s *Service) standingsIn(ctx context.Context, ks []int64) ([]*Standings, error) {
	return s.coherent(func() ([]*Standings, error) {
		found, err := s.results(ctx, ks)
		if err != nil {
			return nil, err
		}
		results := make([]*Result, 0, len(ks))
		for _, k := range ks {
			if found[k] != nil {
				results = append(results, found[k])
			}
		}
		return s.standingsFor(ctx, results)
	})
}

// store grants the titles of results in one transaction and tells of them when it is durable. If
// that is refused, because the profile does not take one of the rewards, each season is tried by
// itself, so that only what is refused is kept back.
func (s *Service) store(ctx context.Context, p *player, first int64, standings []*Standings) ([]Title, error) {
	told, err := s.commit(p, first, standings)
	if err != nil && len(standings) > 1 {
		var errs []error
		for _, st := range standings {
			if p.gone() {
				break
			}
			t, err := s.commit(p, first, []*Standings{st})
			told.titles, told.changes = append(told.titles, t.titles...), append(told.changes, t.changes...)
			if err != nil && len(errs) < 3 {
				errs = append(errs, err)
			}
		}
		err = errors.Join(errs...)
	}
	return told.titles, errors.Join(err, s.tell(ctx, p, told))
}

// commit is the transaction of store, in memory.
func (s *Service) commit(p *player, first int64, standings []*Standings) (tidings, error) {
	o := occasion{
		key: p.session.Key(), created: s.cfg.Season(p.session.Created()), first: first,
		results: standings, settled: p.allSettled(), revocable: s.deps.Revoke != nil,
	}
	var g grants
	err := p.session.Change("season "+s.set+": results", func(data doc.Value) ([]doc.Op, error) {
		var err error
		if g, err = s.rules.grant(data, o); err != nil {
			return nil, err
		}
		more, err := s.gameOps(g.revoked, g.rewarded)
		if err == nil && len(g.ops)+len(more) == 0 {
			err = errNothing
		}
		return append(g.ops, more...), err
	})
	if errors.Is(err, errNothing) {
		return tidings{}, nil
	}
	if err != nil {
		return tidings{}, fmt.Errorf("season: titles of %s: %w", p.session.Key(), err)
	}
	for _, id := range g.owed {
		if k, ok := s.cfg.Parse(id); ok {
			p.forget([]int64{k})
		}
	}
	return tidings{g.titles, g.changes}, nil
}

// tell has titles stored, and then tells the listeners: what is told may be paid for outside the
// profile, so a journal, which a fast store can forget, is not enough. When they cannot be
// stored now they are held back until a later save.
func (s *Service) tell(ctx context.Context, p *player, t tidings) error {
	if t.none() {
		return nil
	}
	saving, cancel := s.within(ctx, syncWait)
	defer cancel()
	if err := p.session.Save(saving); err != nil {
		p.hold(t)
		return fmt.Errorf("season: save the titles of %s: %w", p.session.Key(), err)
	}
	s.counts.titles.Add(uint64(len(t.titles)))
	if s.deps.OnTitle != nil && len(t.titles) > 0 {
		s.tellGame(ctx, "OnTitle", func() { s.deps.OnTitle(ctx, p.session, t.titles) })
	}
	if s.deps.OnCorrected != nil && len(t.changes) > 0 {
		s.tellGame(ctx, "OnCorrected", func() { s.deps.OnCorrected(ctx, p.session, t.changes) })
	}
	return nil
}

// sweep processes closed seasons for open sessions that have not been looked at since the
// last one was closed or corrected, and titles that still wait for a sync. more tells that some are left.
func (s *Service) sweep(ctx context.Context) (more bool, err error) {
	news := s.shelf.news()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		wg   sync.WaitGroup
		gate = make(chan struct{}, sweepWidth)
		mu   sync.Mutex
		errs []error
	)
	for _, p := range s.players.all() {
		if ctx.Err() != nil {
			break
		}
		unheard := p.takeUnheard()
		if unheard.none() && p.looked() >= news {
			continue
		}
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			left, err := s.sweepOne(ctx, p, unheard)
			mu.Lock()
			defer mu.Unlock()
			more = more || left
			if isShort(err) {
				stop() // the others would wait for the budget, too, one after the other
			}
			if err != nil && len(errs) < 3 {
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return more, errors.Join(errs...)
}

func (s *Service) sweepOne(ctx context.Context, p *player, unheard tidings) (more bool, err error) {
	if err := s.tell(ctx, p, unheard); err != nil {
		return false, err
	}
	_, more, err = s.grantTo(ctx, p)
	if err != nil {
		return false, err
	}
	s.pay(ctx, p)
	return more, nil
}
