package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file finds ranks and offsets: see standings.Directory.

// ownShelf is the shelf that a position is on, and how many entries the better shelves count.
type ownShelf struct {
	from    standings.Position
	buckets []byte // nil when there is none
	better  int64
}

const (
	// shelfOf is the shelf at or before a position; the place of it is a, the sequence b.
	shelfOf = `SELECT place, sequence, buckets FROM {s}.shelves
		WHERE board = b.id AND (place, sequence) <= (e.place, CASE WHEN $3::boolean THEN 0 ELSE e.sequence END)
		ORDER BY place DESC, sequence DESC LIMIT 1`
	betterShelves = `(SELECT coalesce(sum(entries), 0)::bigint FROM {s}.shelves
		WHERE board = b.id AND (place, sequence) < (o.place, o.sequence))`
	// selectPlace is a board, an entry of it, and the shelf that the entry is on, or the first
	// position of its place.
	selectPlace = `SELECT ` + boardColumns + `, e.place, e.sequence, e.meta, o.place, o.sequence, o.buckets, ` + betterShelves + `
		FROM {s}.boards b
		LEFT JOIN LATERAL (SELECT place, sequence, meta FROM {s}.entries WHERE board = b.id AND key = $2::text LIMIT 1) e ON true
		LEFT JOIN LATERAL (` + shelfOf + `) o ON true
		WHERE b.name = $1::text`
	selectOwnShelf = `SELECT o.place, o.sequence, o.buckets, ` + betterShelves + `
		FROM (SELECT $1::bigint AS id, $2::bigint AS place, $3::bigint AS sequence) b
		CROSS JOIN LATERAL (SELECT place, sequence, buckets FROM {s}.shelves
			WHERE board = b.id AND (place, sequence) <= (b.place, b.sequence) ORDER BY place DESC, sequence DESC LIMIT 1) o`
	// between are the entries from one position to before another. The bounds of the place say
	// nothing new, but only from them the planner sees that there are few: without them it
	// starts parallel workers, in tens of milliseconds, for the ranks of a large board's middle.
	between = `board = $1::bigint AND place BETWEEN $2::bigint AND $4::bigint
		AND (place, sequence) >= ($2::bigint, $3::bigint) AND (place, sequence) < ($4::bigint, $5::bigint)`
	countInside = `SELECT count(*) FROM {s}.entries WHERE ` + between
	sumShelves  = `SELECT coalesce(sum(entries), 0)::bigint FROM {s}.shelves WHERE board = $1::bigint
		AND (place, sequence) < ($2::bigint, $3::bigint)`
	// jumpPlaces goes from score to score in the index, at most so many times.
	jumpPlaces = `WITH RECURSIVE better (place) AS (
			SELECT (SELECT min(place) FROM {s}.entries WHERE board = $1::bigint)
			UNION ALL
			SELECT (SELECT min(place) FROM {s}.entries WHERE board = $1::bigint AND place > better.place)
				FROM better WHERE place < $2::bigint),
		few AS (SELECT place FROM better LIMIT $3::bigint)
		SELECT count(*), coalesce(max(place), 0)::bigint FROM few WHERE place < $2::bigint`
	// scanPlaces goes from entry to entry.
	scanPlaces = `SELECT count(DISTINCT place) FROM {s}.entries
		WHERE board = $1::bigint AND place > $2::bigint AND place < $3::bigint`
	// selectPageShelf is the last shelf before which no more than $2 entries are counted.
	selectPageShelf = `SELECT s.place, s.sequence, s.before, s.entries, s.buckets FROM (
			SELECT place, sequence, entries, buckets,
				(sum(entries) OVER (ORDER BY place, sequence ROWS UNBOUNDED PRECEDING) - entries)::bigint AS before
			FROM {s}.shelves WHERE board = ` + boardNamed + `) s
		WHERE s.before <= $2::bigint ORDER BY s.place DESC, s.sequence DESC LIMIT 1`
)

// place is where an entry stands.
type place struct {
	board  boardRow
	exists bool
	entry  store.Entry
	at     standings.Position
	own    ownShelf
}

// place reads a board, the entry of a key, and the shelf of what its rank is counted to.
func (s *snapshot) place(ctx context.Context, board, key string, mode store.RankMode) (p place, err error) {
	b := &pgx.Batch{}
	var at, sequence, shelf, shelfSequence *int64
	s.queue(b, selectPlace, board, key, mode != store.Ordinal).QueryRow(func(row pgx.Row) error {
		return s.found(row, &p.board, &at, &sequence, &p.entry.Meta, &shelf, &shelfSequence, &p.own.buckets, &p.own.better)
	})
	if err := s.send(ctx, b); err != nil || at == nil || sequence == nil {
		return p, err
	}
	p.exists, p.at = true, standings.Position{Place: *at, Sequence: *sequence}
	p.entry.Key, p.entry.Sequence = key, uint64(*sequence)
	p.entry.Score = standings.ScoreAt(p.board.info.Order, *at)
	if shelf != nil && shelfSequence != nil {
		p.own.from = standings.Position{Place: *shelf, Sequence: *shelfSequence}
	}
	return p, nil
}

// ownShelf reads the shelf of a position.
func (s *snapshot) ownShelf(ctx context.Context, r boardRow, at standings.Position) (o ownShelf, err error) {
	b := &pgx.Batch{}
	s.queue(b, selectOwnShelf, r.id, at.Place, at.Sequence).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&o.from.Place, &o.from.Sequence, &o.buckets, &o.better)
		if isMissing(err) {
			return nil
		}
		return err
	})
	return o, s.send(ctx, b)
}

// rankFrom is the position to which the better entries are counted for a rank: the first of
// its score, unless everybody has their own.
func rankFrom(mode store.RankMode, at standings.Position) standings.Position {
	if mode == store.Ordinal {
		return at
	}
	return standings.Position{Place: at.Place}
}

// rank is the rank of an entry, whose shelf, or that of rankFrom, is own. The dense one counts
// the better scores: its cost grows with their number.
func (s *snapshot) rank(ctx context.Context, r boardRow, mode store.RankMode, at standings.Position, own ownShelf) (int64, error) {
	better, err := s.better(ctx, r, rankFrom(mode, at), own, &pgx.Batch{})
	if err == nil && mode == store.Dense && better > 0 {
		better, err = s.betterPlaces(ctx, r, at.Place, better)
	}
	return better + 1, err
}

// better is how many entries are better than a position, whose shelf is own. What is queued is
// sent along.
func (s *snapshot) better(ctx context.Context, r boardRow, at standings.Position, own ownShelf, b *pgx.Batch) (int64, error) {
	var inside int64
	count := func(row pgx.Row) error { return row.Scan(&inside) }
	if end := r.counted; end != nil && at.Compare(*end) >= 0 {
		var counted int64
		s.queue(b, sumShelves, r.id, end.Place, end.Sequence).QueryRow(func(row pgx.Row) error { return row.Scan(&counted) })
		s.queue(b, countInside, r.id, end.Place, end.Sequence, at.Place, at.Sequence).QueryRow(count)
		err := s.send(ctx, b)
		return counted + inside, err
	}
	if own.buckets == nil {
		return 0, standings.Damaged("a board with entries has none")
	}
	buckets, err := standings.DecodeBuckets(own.buckets)
	if err != nil {
		return 0, err
	}
	bucket, before := standings.BetterThan(buckets, at)
	s.queue(b, countInside, r.id, bucket.From.Place, bucket.From.Sequence, at.Place, at.Sequence).QueryRow(count)
	err = s.send(ctx, b)
	return own.better + before + inside, err
}

// betterPlaces is how many scores are better than that of the place, which so many entries are
// better than. It jumps from score to score, which is fast when many entries share them. When
// that has taken as long as looking at every better entry would, it does so with the rest: so
// it is never slower than twice the better way.
func (s *snapshot) betterPlaces(ctx context.Context, r boardRow, place, better int64) (int64, error) {
	jumps := better/standings.JumpWorth + 1
	var jumped, last, rest int64
	b := &pgx.Batch{}
	s.queue(b, jumpPlaces, r.id, place, jumps).QueryRow(func(row pgx.Row) error { return row.Scan(&jumped, &last) })
	if err := s.send(ctx, b); err != nil || jumped < jumps {
		return jumped, err
	}
	b = &pgx.Batch{}
	s.queue(b, scanPlaces, r.id, last, place).QueryRow(func(row pgx.Row) error { return row.Scan(&rest) })
	err := s.send(ctx, b)
	return jumped + rest, err
}

// locate reads a board, and where the entry at an offset is: so many entries behind a
// position. For the offset 0 it reads the first entries instead.
func (s *snapshot) locate(ctx context.Context, r *boardRow, board string, offset int64, limit int,
) (from standings.Position, inside int64, top []store.Standing, err error) {
	b := &pgx.Batch{}
	s.board(b, r, board)
	if offset == 0 {
		s.queue(b, selectTop, board, int64(limit)).Query(func(rows pgx.Rows) error {
			return eachEntry(rows, func(at standings.Position, e store.Entry) {
				e.Score = standings.ScoreAt(r.info.Order, at.Place)
				top = append(top, store.Standing{Entry: e})
			})
		})
		return from, 0, top, s.last(ctx, b)
	}
	var before, entries int64
	var stored []byte
	s.queue(b, selectPageShelf, board, offset).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&from.Place, &from.Sequence, &before, &entries, &stored)
		if isMissing(err) {
			return nil
		}
		return err
	})
	if err := s.send(ctx, b); err != nil || offset >= r.info.Count {
		return from, 0, nil, err
	}
	from, inside, err = r.located(stored, offset-before, entries)
	return from, inside, nil, err
}

// located is where the entry is that comes after so many of a stored shelf.
func (b *boardRow) located(stored []byte, inside, entries int64) (standings.Position, int64, error) {
	switch {
	case inside < entries:
		buckets, err := standings.DecodeBuckets(stored)
		if err != nil {
			return standings.Position{}, 0, err
		}
		own, rest := standings.Locate(buckets, inside)
		return own.From, rest, nil
	case b.counted != nil:
		return *b.counted, inside - entries, nil
	}
	return standings.Position{}, 0, standings.Damaged("they count fewer entries than there are")
}
