package sqlitestore

import (
	"context"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// rank is the rank of an entry, in the snapshot that c reads. The competition rank is that of
// the place before the first entry of the same score, so it costs what the ordinal one does.
// The dense one counts the better scores: its cost grows with their number.
func (b boardRow) rank(ctx context.Context, c *conn, mode store.RankMode, at standings.Position) (int64, error) {
	var better int64
	var err error
	switch mode {
	case store.Ordinal:
		better, err = b.better(ctx, c, at)
	case store.Competition:
		better, err = b.better(ctx, c, standings.Position{Place: at.Place})
	case store.Dense:
		better, err = b.betterPlaces(ctx, c, at.Place)
	}
	return better + 1, err
}

// rankStatements are the statements that a rank takes.
func rankStatements() []string {
	return []string{"BEGIN", selectBoard, selectWhole, selectOwnShelf, sumShelves, countInside, "COMMIT"}
}

const (
	// jumpPlaces goes from score to score in the index, at most so many times.
	jumpPlaces = `WITH RECURSIVE better (place) AS (
			SELECT min(place) FROM entries INDEXED BY standings WHERE board = ?1
			UNION ALL
			SELECT (SELECT min(place) FROM entries INDEXED BY standings WHERE board = ?1 AND place > better.Place)
				FROM better WHERE place < ?2
			LIMIT ?3)
		SELECT count(*), max(place) FROM better WHERE place < ?2`
	// scanPlaces goes from entry to entry.
	scanPlaces = `SELECT count(*) FROM (SELECT DISTINCT place FROM entries INDEXED BY standings
		WHERE board = ? AND place > ? AND place < ?)`
)

// betterPlaces is how many scores are better than that of the place. It jumps from score to
// score, which is fast when many entries share them. When that has taken as long as looking
// at every better entry would, it does so with the rest: so it is never slower than twice
// the better way.
func (b boardRow) betterPlaces(ctx context.Context, c *conn, place int64) (int64, error) {
	better, err := b.better(ctx, c, standings.Position{Place: place})
	if err != nil || better <= 0 {
		return 0, err
	}
	jumps := better/standings.JumpWorth + 1
	row, err := c.first(ctx, jumpPlaces, b.id, place, jumps)
	if err != nil {
		return 0, err
	}
	jumped, last := integer(row[0]), integer(row[1])
	if jumped < jumps {
		return jumped, nil
	}
	rest, err := c.number(ctx, scanPlaces, b.id, last, place)
	return jumped + rest, err
}
