package season

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// This file finds out what of values that came too late has been counted all the same.

// isDecided tells that nothing is counted for season k any more: it has a result, or never gets
// one.
func (s *Service) isDecided(ctx context.Context, k int64, why error) (bool, error) {
	if errors.Is(why, ErrNoSeason) {
		return true, nil
	}
	found, err := s.results(ctx, []int64{k})
	return found[k] != nil, err
}

// counted is what a closed season's board has of players. known is false when the board is
// gone: dropped, or without its memory; no register vouches for another life of it.
func (s *Service) counted(ctx context.Context, id string, b Board, list []parcel) (scores map[string]store.Entry, known bool, err error) {
	key := BoardKey(s.set, b.Name, id)
	keys := make([]string, len(list))
	for i, p := range list {
		keys[i] = p.key
	}
	scores, err = s.boards.Scores(ctx, key, keys...)
	var info store.BoardInfo
	if err == nil { // after the scores: a life that has ended never comes back
		info, err = s.boards.Info(ctx, key)
	}
	if errors.Is(err, store.ErrNoBoard) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("season: read %s: %w", key, err)
	}
	rec, err := s.read(ctx, registerKey(s.set, id))
	if err != nil || rec.Missing() {
		return nil, false, err
	}
	reg, err := decodeRegister(rec.Value)
	return scores, err == nil && reg.valid(b.Name, info.Generation), err
}

// refuseByResult reports values that the result of a season shows to be missing. It has the
// best of each board only.
func (s *Service) refuseByResult(ctx context.Context, k int64, b Board, list []parcel, why error) error {
	found, err := s.results(ctx, []int64{k})
	if err != nil {
		return err
	}
	var places BoardResult // nobody's, when there is no result
	if res := found[k]; res != nil {
		for i := range res.Boards {
			if res.Boards[i].Board == b.Name {
				places = res.Boards[i]
			}
		}
	}
	for _, p := range list {
		score, ok := number(p.stats, b.Stat)
		if !ok {
			continue
		}
		if at, has, missing := places.lacks(p.key, score, b.Order); missing {
			s.report(ctx, Refused{Key: p.key, Season: s.cfg.ID(k), Board: b.Name, Score: score, Counted: at.Score, Has: has, Err: why})
		}
	}
	return nil
}

// lacks tells whether a value was not counted: the player has another one, or has no place
// although the list has room for everybody, or the value is better than the last place. Of
// others, who would have no place with it, nothing can be told, and nothing depends on it.
func (b *BoardResult) lacks(key string, score int64, order store.Order) (at Placed, has, missing bool) {
	var last Placed
	for _, places := range [][]Placed{b.Top, b.Reserve} {
		for _, p := range places {
			if p.Key == key {
				return p, true, p.Score != score
			}
			last = p
		}
	}
	if b.Total <= int64(len(b.Top)+len(b.Reserve)) {
		return Placed{}, false, true
	}
	return Placed{}, false, order.Better(score, last.Score)
}
