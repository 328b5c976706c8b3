package sqlitestore

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// rank is the rank of an entry, in the snapshot that c reads. The competition rank is that of
// the place before the first entry of the same score, so it costs what the ordinal one does.
// The dense one counts the better scores: its cost grows with their number.
func (b boardRow) rank(ctx context.Context, c *conn, mode store.RankMode, at position) (int64, error) {
	var better int64
	var err error
	switch mode {
	case store.Ordinal:
		better, err = b.better(ctx, c, at)
	case store.Competition:
		better, err = b.better(ctx, c, position{place: at.place})
	case store.Dense:
		better, err = c.number(ctx, countPlaces, b.id, at.place)
	}
	return better + 1, err
}

// countPlaces jumps from score to score in the index.
const countPlaces = `WITH RECURSIVE better (place) AS (
		SELECT min(place) FROM entries INDEXED BY standings WHERE board = ?1
		UNION ALL
		SELECT (SELECT min(place) FROM entries INDEXED BY standings WHERE board = ?1 AND place > better.place)
			FROM better WHERE place < ?2)
	SELECT count(*) FROM better WHERE place < ?2`

// rankAll ranks consecutive standings, the first of which has rank first and offset others
// before it.
func rankAll(mode store.RankMode, page []store.Standing, first, offset int64) {
	for i := range page {
		ordinal := offset + int64(i) + 1
		switch {
		case i == 0:
			page[i].Rank = first
		case mode == store.Ordinal:
			page[i].Rank = ordinal
		case page[i].Score == page[i-1].Score:
			page[i].Rank = page[i-1].Rank
		case mode == store.Competition:
			page[i].Rank = ordinal
		default:
			page[i].Rank = page[i-1].Rank + 1
		}
	}
}
