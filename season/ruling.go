package season

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// Ruling is what an operator decides about a player of a closed season.
type Ruling struct {
	// Key is the player's.
	Key string `json:"key"`
	// Boards are the boards that it is about, by name. Default: all of the season.
	Boards []string `json:"boards,omitempty"`
	// By is who decides, at most 128 bytes. Needed.
	By string `json:"by"`
	// Reason is why, at most 1024 bytes. Needed.
	Reason string `json:"reason"`
}

// Correction is a ruling as it is stored: beside the result, which never changes.
type Correction struct {
	// Time is when it was made, in fleet time.
	Time time.Time `json:"time"`
	// Reinstates tells that it takes an earlier disqualification back.
	Reinstates bool `json:"reinstates,omitempty"`
	Ruling
	// Alias is what the result calls the player from now on, while the player is being erased
	// ([Service.EraseKey]). Empty otherwise.
	Alias string `json:"alias,omitempty"`
}

// Disqualify takes a player out of the standings of a closed season, on the boards that the
// ruling names: those below move up, and the reserve fills in. It answers the standings.
//
// Titles follow: of players who load the profile on this node at once; on other nodes up to 30 s
// later; of players who are online here at once, elsewhere with the node's next look, CloseEvery
// apart. See [Deps].Revoke for what becomes of rewards.
//
// A ruling that changes nothing, because it was made before, is no error and is not stored: a
// call whose answer was lost may be repeated.
//
// Errors: ErrRuling (a field), ErrNoSeason, ErrNoResult (not closed yet), ErrNoBoard, ErrNoPlace,
// ErrCorrections, ErrNewerFormat, ErrClosed, and those of the store; store.OutcomeOf tells
// whether it may have been stored.
func (s *Service) Disqualify(ctx context.Context, id string, r Ruling) (*Standings, error) {
	return s.correct(ctx, id, correction(r, false, s.n.Now()))
}

// Reinstate takes a disqualification back, on the boards that the ruling names. It is like
// [Service.Disqualify] in everything else.
func (s *Service) Reinstate(ctx context.Context, id string, r Ruling) (*Standings, error) {
	return s.correct(ctx, id, correction(r, true, s.n.Now()))
}

// Foresee answers the standings as they would be with one correction more, which is checked like
// that of [Service.Disqualify]. Nothing is written.
func (s *Service) Foresee(ctx context.Context, id string, c Correction) (*Standings, error) {
	res, err := s.corrigible(ctx, id, c)
	if err != nil {
		return nil, err
	}
	list, _, err := s.readCorrections(ctx, id)
	if err != nil {
		return nil, err
	}
	if changes(res, list, c) {
		if len(list) >= MaxCorrections {
			return nil, fmt.Errorf("%w: %s", ErrCorrections, id)
		}
		list = append(slices.Clip(list), c)
	}
	return standingsOf(res, list), nil
}

// Corrections lists the corrections of a closed season, the oldest first, as they are stored now.
func (s *Service) Corrections(ctx context.Context, id string) ([]Correction, error) {
	if _, err := s.resultNow(ctx, id); err != nil {
		return nil, err
	}
	list, _, err := s.readCorrections(ctx, id)
	return list, err
}

// Standings are the result of a closed season with its corrections taken into account, from
// memory after the first read. Corrections made on another node may be missing for up to 30 s.
// Errors are those of [Service.Result]. What is answered is shared and must not be changed.
func (s *Service) Standings(ctx context.Context, id string) (*Standings, error) {
	if err := s.freshIndex(ctx); err != nil {
		return nil, err
	}
	list, err := s.coherent(func() ([]*Standings, error) {
		res, err := s.Result(ctx, id)
		if err != nil {
			return nil, err
		}
		return s.standingsFor(ctx, []*Result{res})
	})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// resultNow is the result of a season, by a read if memory has none: that there was none lately
// is not believed.
func (s *Service) resultNow(ctx context.Context, id string) (*Result, error) {
	k, ok := s.cfg.Parse(id)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNoSeason, shown(id))
	}
	if res, ok := s.shelf.get(k); ok {
		return res, nil
	}
	rec, err := s.read(ctx, resultKey(s.set, id))
	if err != nil {
		return nil, err
	}
	res, err := s.take(k, rec)
	if err == nil && res == nil {
		err = fmt.Errorf("%w: %s", ErrNoResult, id)
	}
	return res, err
}

// corrigible is the result that a correction is about, if it can be.
func (s *Service) corrigible(ctx context.Context, id string, c Correction) (*Result, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	if s.foreign.Load() {
		return nil, fmt.Errorf("%w: %s", ErrCalendar, s.set)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	res, err := s.resultNow(ctx, id)
	if err != nil {
		return nil, err
	}
	return res, c.concerns(res)
}

// readCorrections reads the corrections of a season as they are stored.
func (s *Service) readCorrections(ctx context.Context, id string) ([]Correction, store.Version, error) {
	rec, err := s.read(ctx, correctionsKey(s.set, id))
	if err != nil {
		return nil, 0, err
	}
	list, err := decodeCorrections(id, rec.Value)
	return list, rec.Version, err
}

// correct stores a correction unless it changes nothing, and answers how the season then stands.
func (s *Service) correct(ctx context.Context, id string, c Correction) (*Standings, error) {
	res, err := s.corrigible(ctx, id, c)
	if err != nil {
		return nil, err
	}
	list, err := s.add(ctx, res, c)
	if err != nil {
		return nil, fmt.Errorf("season: correct %s: %w", id, err)
	}
	// What is stored is known here at once: promised, listed, and looked at by the loop.
	s.docket.promise(map[string]int{id: len(list)}, time.Time{})
	s.docket.put(id, list, len(list), s.clock.Now())
	s.shelf.stir()
	wake(s.closeKick)
	return s.docket.standings(res, list), nil
}

// add appends a correction to the season's record by compare-and-set. Before each try the index
// promises it, so that no reader who trusts the index misses one. An unknown outcome is read
// back by the version; a write that arrives later either is fenced by the next try's or is found
// by it, and then there is nothing left to change.
func (s *Service) add(ctx context.Context, res *Result, c Correction) ([]Correction, error) {
	id, key := res.Season, correctionsKey(s.set, res.Season)
	var last error
	for range amendTries {
		list, version, err := s.readCorrections(ctx, id)
		if err != nil {
			return nil, err
		}
		if !changes(res, list, c) {
			return list, nil
		}
		if len(list) >= MaxCorrections {
			return nil, fmt.Errorf("%w: %s", ErrCorrections, id)
		}
		list = append(slices.Clip(list), c)
		if err := s.promise(ctx, id, len(list)); err != nil {
			return nil, err
		}
		data, err := encodeCorrections(id, list)
		if err != nil {
			return nil, err
		}
		put := store.Write{Key: key, Op: store.Put, Value: data, If: store.Is(version), Version: s.n.NewVersion("corrections", key)}
		if last = s.durable.Commit(ctx, store.Tx{put})[0]; last == nil {
			return list, nil
		}
		if errors.Is(last, store.ErrConflict) {
			continue
		}
		if store.OutcomeOf(last) == store.NotDone {
			break
		}
		if _, now, err := s.readCorrections(ctx, id); err == nil && now == put.Version {
			return list, nil
		}
	}
	return nil, fmt.Errorf("write %s: %w", key, last)
}

// promise raises the index of corrections for a season.
func (s *Service) promise(ctx context.Context, id string, n int) error {
	_, err := s.amend(ctx, correctedKey(s.set), func(now []byte) ([]byte, error) {
		index, err := decodeCorrected(now)
		if err != nil {
			return nil, err
		}
		next, changed := index.promising(id, n)
		if !changed {
			return nil, errKeep
		}
		return encodePlain("index of corrections", next)
	})
	return err
}
