package season

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// This file tells values that came too late by the result of their season, when its boards are
// gone: dropped, or without their memory. The result has the best of each board only.

// refuseByResult reports values that the result of a closed season shows to be missing.
func (s *Service) refuseByResult(ctx context.Context, k int64, b Board, list []parcel, why error) error {
	found, err := s.results(ctx, []int64{k})
	if err != nil {
		return err
	}
	res := found[k]
	if res == nil {
		return fmt.Errorf("season: %w: %s", ErrNoResult, s.cfg.ID(k))
	}
	for i := range res.Boards {
		if res.Boards[i].Board != b.Name {
			continue
		}
		for _, p := range list {
			score, ok := number(p.stats, b.Stat)
			if !ok {
				continue
			}
			if at, has, missing := res.Boards[i].lacks(p.key, score, b.Order); missing {
				s.report(ctx, Refused{Key: p.key, Season: res.Season, Board: b.Name, Score: score, Counted: at.Score, Has: has, Err: why})
			}
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
