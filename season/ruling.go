package season

import (
	"context"
	"errors"
	"fmt"
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
// Titles follow with the next load, and at once for players who are online on this node. Other
// nodes look at what was corrected at most 30 s before a load, and with their next look (every
// CloseEvery) for whoever is online there. See [Deps].Revoke for what becomes of rewards.
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
	k, err := s.corrigible(id, c)
	if err != nil {
		return nil, err
	}
	res, now, _, err := s.readToCorrect(ctx, k, c)
	if err != nil {
		return nil, err
	}
	if changes(res, now.List, c) {
		if len(now.List) >= MaxCorrections {
			return nil, fmt.Errorf("%w: %s", ErrCorrections, id)
		}
		now = now.with(c)
	}
	return standingsOf(res, now.List), nil
}

// Corrections lists the corrections of a closed season, the oldest first, as they are stored now.
func (s *Service) Corrections(ctx context.Context, id string) ([]Correction, error) {
	if _, err := s.resultNow(ctx, id); err != nil {
		return nil, err
	}
	now, _, err := s.readCorrections(ctx, id)
	return now.List, err
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
	return s.readResult(ctx, k)
}

// readResult reads the result of a season from the store.
func (s *Service) readResult(ctx context.Context, k int64) (*Result, error) {
	epoch := s.shelf.epoch()
	rec, err := s.read(ctx, resultKey(s.set, s.cfg.ID(k)))
	if err != nil {
		return nil, err
	}
	res, err := s.take(k, rec, epoch)
	if err == nil && res == nil {
		err = fmt.Errorf("%w: %s", ErrNoResult, s.cfg.ID(k))
	}
	return res, err
}

// corrigible is the season that a correction is for, if it can be made at all.
func (s *Service) corrigible(id string, c Correction) (k int64, err error) {
	if s.isClosed() {
		return 0, ErrClosed
	}
	if s.foreign.Load() {
		return 0, fmt.Errorf("%w: %s", ErrCalendar, s.set)
	}
	if err := c.check(); err != nil {
		return 0, err
	}
	k, ok := s.cfg.Parse(id)
	if !ok {
		return 0, fmt.Errorf("%w: %q", ErrNoSeason, shown(id))
	}
	return k, nil
}

// readCorrections reads the corrections of a season as they are stored.
func (s *Service) readCorrections(ctx context.Context, id string) (corrections, store.Version, error) {
	rec, err := s.read(ctx, correctionsKey(s.set, id))
	if err != nil {
		return corrections{}, 0, err
	}
	list, err := decodeCorrections(id, rec.Value)
	return list, rec.Version, err
}

// readToCorrect reads what a correction is added to, and the result that it is about. The result
// is read after the corrections, and not from memory: an erasure writes to the corrections before
// and after it rewrites the result, so a ruling about somebody who was erased either finds nobody,
// or is written beside an erasure that finds it, or conflicts.
func (s *Service) readToCorrect(ctx context.Context, k int64, c Correction) (*Result, corrections, store.Version, error) {
	list, version, err := s.readCorrections(ctx, s.cfg.ID(k))
	if err != nil {
		return nil, corrections{}, 0, err
	}
	res, err := s.readResult(ctx, k)
	if err == nil {
		err = c.concerns(res)
	}
	return res, list, version, err
}

// correct stores a correction unless it changes nothing, and answers how the season then stands.
func (s *Service) correct(ctx context.Context, id string, c Correction) (*Standings, error) {
	ctx = inBackground(ctx)
	k, err := s.corrigible(id, c)
	if err != nil {
		return nil, err
	}
	res, list, err := s.add(ctx, k, c)
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
// promises it, so that no reader who trusts the index misses one.
func (s *Service) add(ctx context.Context, k int64, c Correction) (*Result, []Correction, error) {
	var late lateWrite
	var last error
	for range amendTries {
		res, now, version, err := s.readToCorrect(ctx, k, c)
		if err != nil {
			return nil, nil, late.or(err)
		}
		if late.landed(now.List, version, c) || !changes(res, now.List, c) {
			return res, now.List, nil
		}
		if len(now.List) >= MaxCorrections {
			return nil, nil, late.or(fmt.Errorf("%w: %s", ErrCorrections, res.Season))
		}
		next := now.with(c)
		if err := s.promise(ctx, res.Season, len(next.List)); err != nil {
			return nil, nil, late.or(err)
		}
		last = s.putCorrections(ctx, next, version)
		switch {
		case last == nil:
			return res, next.List, nil
		case errors.Is(last, store.ErrConflict):
		case store.OutcomeOf(last) == store.NotDone:
			return nil, nil, late.or(last)
		case late.err == nil:
			late = lateWrite{last, version, len(now.List)}
		}
	}
	return nil, nil, late.or(last)
}

func (s *Service) putCorrections(ctx context.Context, c corrections, before store.Version) error {
	key := correctionsKey(s.set, c.Season)
	data, err := encodePlain("corrections", c)
	if err != nil {
		return err
	}
	put := store.Write{Key: key, Op: store.Put, Value: data, If: store.Is(before), Version: s.n.NewVersion("corrections", key)}
	if err := s.durable.Commit(ctx, store.Tx{put})[0]; err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// lateWrite is a write of a correction whose outcome is unknown: it may be stored, or be on its
// way. Others may have ruled on top of it, so what counts is whether it is in the list, not how
// the player stands.
type lateWrite struct {
	err     error         // nil: there is none
	version store.Version // the one that it was to follow
	at      int           // where the correction is if it landed
}

// landed tells whether the write is in the list. It never will be when others followed upon the
// version that it was to follow.
func (w *lateWrite) landed(list []Correction, version store.Version, c Correction) bool {
	if w.err == nil || version == w.version {
		return false
	}
	if w.at < len(list) && list[w.at].is(c) {
		return true
	}
	*w = lateWrite{}
	return false
}

// or is why there is no further try. While the write may still land its outcome is unknown.
func (w *lateWrite) or(err error) error {
	if w.err == nil || errors.Is(err, w.err) {
		return err
	}
	return fmt.Errorf("%w; an earlier try may be stored: %w", err, w.err)
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
