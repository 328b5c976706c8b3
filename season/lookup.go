package season

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// maxLookup is how many results one look reads at most.
const maxLookup = 50

// results answers the results of seasons, nil where there is none yet, from memory or with
// one read. One read is in flight at a time: a thousand players who join at once cost one. A
// caller that gives up strands nobody.
func (s *Service) results(ctx context.Context, ks []int64) (_ map[int64]*Result, err error) {
	out, missing := s.shelved(ks)
	if len(missing) == 0 {
		return out, nil
	}
	release, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { release(err) }()
	if out, missing = s.shelved(ks); len(missing) == 0 {
		return out, nil
	}
	epoch := s.shelf.epoch()
	keys := make([]string, len(missing))
	for i, k := range missing {
		keys[i] = resultKey(s.set, s.cfg.ID(k))
	}
	recs, err := s.durable.Get(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("season: read results of %s: %w", s.set, err)
	}
	for i, rec := range recs {
		res, err := s.take(missing[i], rec, epoch)
		if err != nil {
			return nil, err
		}
		if res != nil {
			out[missing[i]] = res
		}
	}
	return out, nil
}

// shelved splits seasons into what memory answers for and what has to be read. Of a season
// that recently had no result, memory answers that there is none, until it is known to be closed.
func (s *Service) shelved(ks []int64) (out map[int64]*Result, missing []int64) {
	out = make(map[int64]*Result, len(ks))
	now := s.clock.Now()
	for _, k := range ks {
		if r, ok := s.shelf.get(k); ok {
			out[k] = r
		} else if s.shelf.isClosed(k) || !s.shelf.isAbsent(k, now) {
			missing = append(missing, k)
		}
	}
	return out, missing
}

// take keeps what a read of a season's result found; epoch is the shelf's before the read.
func (s *Service) take(k int64, rec store.Record, epoch uint64) (*Result, error) {
	if rec.Missing() {
		s.shelf.setAbsent(k, s.clock.Now())
		return nil, nil
	}
	res, err := s.resultOf(k, rec)
	if err != nil {
		return nil, err
	}
	if res.hasErased() {
		s.docket.forget(res.Season) // corrections that were read before may not know the alias
	}
	s.shelf.put(res, epoch)
	return res, nil
}

// resultOf is the result in a record, which has to be that of season k.
func (s *Service) resultOf(k int64, rec store.Record) (*Result, error) {
	res, err := decodeResult(rec.Value)
	if err != nil {
		return nil, fmt.Errorf("season: read %s: %w", rec.Key, err)
	}
	if res.K != k || res.Season != s.cfg.ID(k) {
		return nil, fmt.Errorf("season: read %s: it is the result of %s, season %d", rec.Key, shown(res.Season), res.K)
	}
	return res, nil
}

// Result is the result of a closed season by its id, from memory after the first read. A text
// that is no id is ErrNoSeason, a season that is not closed ErrNoResult. Past seasons are read
// from results only, never from boards.
func (s *Service) Result(ctx context.Context, id string) (*Result, error) {
	k, ok := s.cfg.Parse(id)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNoSeason, shown(id))
	}
	found, err := s.results(ctx, []int64{k})
	if err != nil {
		return nil, err
	}
	if found[k] == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoResult, id)
	}
	return found[k], nil
}
