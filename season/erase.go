package season

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shoalworks/shoal/internal/name"
)

// EraseKey forgets a player in the results and corrections of closed seasons: the place stays,
// with its rank and score, under an alias that says nothing, and without a name; the reasons of
// corrections about the player are taken out. It is the only change of a result, and does not
// move a rank. The alias is another in every season. What the profile held and the boards' entries
// are erased by those who hold them, before.
//
// Of a season that is over and not closed, the result is cleared by the closer. Other nodes may
// show the player for up to 30 s more in standings and on cards, and in [Service.Result] until
// somebody asks there for standings, or their next look, CloseEvery apart. It can be interrupted
// and called again.
//
// Errors: ErrErasing, ErrCalendar, ErrNewerFormat, and those of the store; then some seasons may
// have been cleared.
func (s *Service) EraseKey(ctx context.Context, key string) error {
	if err := name.CheckKey("key", key); err != nil {
		return fmt.Errorf("season: erase: %w", err)
	}
	ctx = inBackground(ctx)
	s.outbox.forget(key)
	prog, err := s.readProgress(ctx)
	if err != nil || !prog.started {
		return err
	}
	last := s.season() - 1
	if last > prog.through {
		if err := s.noteErasure(ctx, erasing{erasedDigest(s.set, key), last}, prog.through); err != nil {
			return fmt.Errorf("season: erase %s: %w", key, err)
		}
	}
	rec, err := s.read(ctx, correctedKey(s.set))
	if err != nil {
		return err
	}
	index, err := decodeCorrected(rec.Value)
	if err != nil {
		return err
	}
	for k := prog.first; k <= last; k += maxLookup {
		if err := s.eraseFrom(ctx, key, index, k, min(last, k+maxLookup-1)); err != nil {
			return fmt.Errorf("season: erase %s: %w", key, err)
		}
	}
	return nil
}

// noteErasure has closers look for the player in the results they make.
func (s *Service) noteErasure(ctx context.Context, x erasing, through int64) error {
	_, err := s.amend(ctx, erasingKey(s.set), func(now []byte) ([]byte, error) {
		e, err := decodeErasing(now)
		if err != nil {
			return nil, err
		}
		next, changed, err := e.adding(x, through)
		if err != nil {
			return nil, err
		}
		if !changed {
			return nil, errKeep
		}
		return encodePlain("erasures", next)
	})
	return err
}

// eraseFrom forgets a player in the seasons from k to last, which are few enough for one read.
// What memory has of a result may be of before an erasure, never of after one that is not stored;
// that memory has none is not believed, since a closer may just have made one.
func (s *Service) eraseFrom(ctx context.Context, key string, index correctedRecord, k, last int64) error {
	var keys []string
	for ; k <= last; k++ {
		keys = append(keys, resultKey(s.set, s.cfg.ID(k)))
	}
	recs, err := s.durable.Get(ctx, keys...)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	for _, rec := range recs {
		if rec.Missing() {
			continue
		}
		res, err := decodeResult(rec.Value)
		if err != nil {
			return fmt.Errorf("read %s: %w", rec.Key, err)
		}
		if !res.holds(key) && index.Seasons[res.Season] == 0 && !res.hasErased() {
			continue // nor has an erasure been cut short there
		}
		if err := s.eraseIn(ctx, res, key); err != nil {
			return err
		}
	}
	return nil
}

// eraseIn forgets a player in one season. The order keeps every reader right whenever it reads:
// the corrections come to speak of the alias too, then the result has it, then they speak of the
// alias only. The first and the last write are made also when no correction is about the player:
// a ruling that comes meanwhile finds the alias, or conflicts and finds nobody (readToCorrect).
// The index tells before and after that memory is old.
func (s *Service) eraseIn(ctx context.Context, res *Result, key string) error {
	id := res.Season
	alias := aliasPrefix + s.n.NewToken("erased", id)[:12]
	isNamed := false
	err := s.amendCorrections(ctx, id, func(now corrections) (next corrections, changed bool) {
		if isNamed = res.holds(key) || now.names(key); isNamed {
			now, alias = now.aliasing(key, alias)
		}
		return now, isNamed
	})
	if err != nil || !isNamed {
		return err
	}
	if err := s.tellErasure(ctx); err != nil {
		return err
	}
	_, err = s.amend(ctx, resultKey(s.set, id), func(now []byte) ([]byte, error) {
		res, err := decodeResult(now)
		if err != nil {
			return nil, err
		}
		if !res.holds(key) {
			return nil, errKeep
		}
		return res.anonymised(key, alias).encode()
	})
	if err != nil {
		return err
	}
	err = s.amendCorrections(ctx, id, func(now corrections) (corrections, bool) { return now.unnamed(key), now.names(key) })
	if err != nil {
		return err
	}
	return s.tellErasure(ctx)
}

// amendCorrections rewrites a season's corrections; their number stays.
func (s *Service) amendCorrections(ctx context.Context, id string, next func(corrections) (corrections, bool)) error {
	_, err := s.amend(ctx, correctionsKey(s.set, id), func(data []byte) ([]byte, error) {
		now, err := decodeCorrections(id, data)
		if err != nil {
			return nil, err
		}
		now, changed := next(now)
		if !changed {
			return nil, errKeep
		}
		return encodePlain("corrections", now)
	})
	return err
}

// tellErasure has every node read results and corrections again, this one at once.
func (s *Service) tellErasure(ctx context.Context) error {
	data, err := s.amend(ctx, correctedKey(s.set), func(now []byte) ([]byte, error) {
		index, err := decodeCorrected(now)
		if err != nil {
			return nil, err
		}
		index.Erased++
		return encodePlain("index of corrections", index)
	})
	if err != nil {
		return err
	}
	return s.takeIndex(data, time.Time{})
}

// eraseLate forgets the players who were erased while seasons were over and not closed, in the
// results of the seasons from k to through. It comes before closedThrough moves over them: until
// then the erasures are noted. Whoever erases notes it before looking at results, and here the
// results are there before the notes are read: one of the two sees the other.
func (s *Service) eraseLate(ctx context.Context, k, through int64) error {
	rec, err := s.read(ctx, erasingKey(s.set))
	if err != nil || rec.Missing() {
		return err
	}
	e, err := decodeErasing(rec.Value)
	if err != nil {
		return err
	}
	for ; k <= through; k++ {
		found, err := s.results(ctx, []int64{k})
		if err != nil {
			return err
		}
		if found[k] == nil {
			continue // cannot be: closedThrough moves over closed seasons only
		}
		keys, err := s.erasedIn(ctx, e, found[k])
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := s.eraseIn(ctx, found[k], key); err != nil {
				return fmt.Errorf("season: erase from %s: %w", s.cfg.ID(k), err)
			}
		}
	}
	return nil
}

// erasedIn lists the players to be forgotten in a result: those who are noted, and those whose
// erasure there was cut short after the result had been cleared.
func (s *Service) erasedIn(ctx context.Context, e erasingRecord, res *Result) ([]string, error) {
	keys := e.within(s.set, res)
	if !res.hasErased() {
		return keys, nil
	}
	now, _, err := s.readCorrections(ctx, res.Season)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(now.Erasing)) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
