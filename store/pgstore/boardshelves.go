package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file reads and writes the directory of a board: the counts of its buckets.

const (
	loadShelves = `SELECT s.place, s.sequence, s.buckets FROM unnest($2::bigint[], $3::bigint[]) AS u (place, sequence)
		JOIN {s}.shelves s ON s.board = $1::bigint AND s.place = u.place AND s.sequence = u.sequence`
	upsertShelves = `INSERT INTO {s}.shelves (board, place, sequence, entries, buckets)
		SELECT $1::bigint, u.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[]) AS u
		ON CONFLICT (board, place, sequence) DO UPDATE SET entries = excluded.entries, buckets = excluded.buckets`
	deleteSomeShelves = `DELETE FROM {s}.shelves s USING unnest($2::bigint[], $3::bigint[]) AS u (place, sequence)
		WHERE s.board = $1::bigint AND s.place = u.place AND s.sequence = u.sequence`
	// selectCuts answers, for each bucket, every $5th entry after its first, as many as are
	// asked for.
	selectCuts = `SELECT e.place, e.sequence, u.place, u.sequence
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS u (place, sequence, most)
		CROSS JOIN LATERAL (
			SELECT x.place, x.sequence, row_number() OVER (ORDER BY x.place, x.sequence) - 1 AS n
			FROM (SELECT place, sequence FROM {s}.entries
				WHERE board = $1::bigint AND (place, sequence) >= (u.place, u.sequence)
				ORDER BY place, sequence LIMIT u.most) x) e
		WHERE e.n > 0 AND e.n % $5::bigint = 0 ORDER BY u.place, u.sequence, e.n`
)

// readShelves reads where the shelves start, and the buckets of some or of none.
func (e *editing) readShelves(rows pgx.Rows) error {
	var from standings.Position
	var buckets []byte
	_, err := pgx.ForEachRow(rows, []any{&from.Place, &from.Sequence, &buckets}, func() error {
		s := &standings.Shelf{Buckets: []standings.Bucket{{From: from}}, Stored: true}
		e.shelves = append(e.shelves, s)
		if buckets == nil {
			return nil
		}
		return fillShelf(s, buckets)
	})
	return err
}

// fillShelf gives a shelf its buckets.
func fillShelf(s *standings.Shelf, stored []byte) error {
	buckets, err := standings.DecodeBuckets(stored)
	if err != nil {
		return err
	}
	if buckets[0].From != s.From() {
		return standings.Damaged("a shelf does not start where its first bucket does")
	}
	s.Buckets, s.Loaded = buckets, true
	return nil
}

// directory is the counts of the board.
func (e *editing) directory(ctx context.Context) *standings.Directory {
	if len(e.shelves) == 0 {
		e.shelves = []*standings.Shelf{standings.FirstShelf()}
	}
	d := &standings.Directory{Shelves: e.shelves, Sizes: e.sizes, Until: e.board.counted}
	d.Load = func(from standings.Position) ([]standings.Bucket, error) {
		s := d.Shelves[d.Find(from)]
		err := e.load(ctx, &pgx.Batch{}, []*standings.Shelf{s})
		return s.Buckets, err
	}
	return d
}

// recounted counts what the change counts, and queues the shelves that it changes. What is
// queued before goes to the server with the first question that has to be asked, and what is
// left of it, with the shelves, is answered.
func (e *editing) recounted(ctx context.Context, queued *pgx.Batch) (*pgx.Batch, error) {
	d := e.directory(ctx)
	if missing := missingShelves(d, e.counts); len(missing) > 0 {
		if err := e.load(ctx, queued, missing); err != nil {
			return nil, err
		}
		queued = &pgx.Batch{}
	}
	for _, c := range e.counts {
		if err := d.Add(c.at, c.n); err != nil {
			return nil, err
		}
	}
	cuts := make(map[standings.Position]standings.Position)
	if wanted := d.Cuts(); len(wanted) > 0 {
		if err := e.cut(ctx, queued, wanted, cuts); err != nil {
			return nil, err
		}
		queued = &pgx.Batch{}
	}
	err := d.Balance(func(from standings.Position, _ int64) (standings.Position, error) {
		next, ok := cuts[from]
		if !ok {
			return next, standings.Damaged("a bucket counts more entries than there are")
		}
		return next, nil
	})
	if err == nil {
		saveShelves(e.database, queued, e.board.id, d)
	}
	return queued, err
}

// missingShelves are those that the counts fall on and that are not loaded.
func missingShelves(d *standings.Directory, counts []counting) (missing []*standings.Shelf) {
	seen := make([]bool, len(d.Shelves))
	for _, c := range counts {
		i := d.Find(c.at)
		if i < 0 || seen[i] || d.Until != nil && c.at.Compare(*d.Until) >= 0 {
			continue
		}
		if seen[i] = true; !d.Shelves[i].Loaded {
			missing = append(missing, d.Shelves[i])
		}
	}
	return missing
}

// load sends what is queued and reads the buckets of shelves.
func (e *editing) load(ctx context.Context, queued *pgx.Batch, shelves []*standings.Shelf) error {
	places, sequences := make([]int64, len(shelves)), make([]int64, len(shelves))
	byFrom := make(map[standings.Position]*standings.Shelf, len(shelves))
	for i, s := range shelves {
		from := s.From()
		places[i], sequences[i], byFrom[from] = from.Place, from.Sequence, s
	}
	queued.Queue(e.database.sql(loadShelves), e.board.id, places, sequences).Query(func(rows pgx.Rows) error {
		var from standings.Position
		var buckets []byte
		_, err := pgx.ForEachRow(rows, []any{&from.Place, &from.Sequence, &buckets}, func() error {
			s := byFrom[from]
			delete(byFrom, from)
			return fillShelf(s, buckets)
		})
		return err
	})
	if err := e.transaction.send(ctx, queued); err != nil {
		return err
	}
	if len(byFrom) > 0 {
		return standings.Damaged("a shelf has gone")
	}
	return nil
}

// cut sends what is queued and reads where buckets are to be cut: after each start the next.
func (e *editing) cut(ctx context.Context, queued *pgx.Batch, wanted []standings.Cut, cuts map[standings.Position]standings.Position) error {
	places, sequences, most := make([]int64, len(wanted)), make([]int64, len(wanted)), make([]int64, len(wanted))
	for i, c := range wanted {
		places[i], sequences[i], most[i] = c.From.Place, c.From.Sequence, c.Times*e.sizes.Bucket+1
	}
	queued.Queue(e.database.sql(selectCuts), e.board.id, places, sequences, most, e.sizes.Bucket).Query(func(rows pgx.Rows) error {
		var at, from, last, start standings.Position
		_, err := pgx.ForEachRow(rows, []any{&at.Place, &at.Sequence, &from.Place, &from.Sequence}, func() error {
			if from != start {
				start, last = from, from
			}
			cuts[last], last = at, at
			return nil
		})
		return err
	})
	return e.transaction.send(ctx, queued)
}

// saveShelves queues what has changed of the directory.
func saveShelves(d *database, batch *pgx.Batch, board int64, counts *standings.Directory) {
	if n := len(counts.Dropped); n > 0 {
		places, sequences := make([]int64, n), make([]int64, n)
		for i, from := range counts.Dropped {
			places[i], sequences[i] = from.Place, from.Sequence
		}
		batch.Queue(d.sql(deleteSomeShelves), board, places, sequences)
	}
	var places, sequences, entries []int64
	var buckets [][]byte
	for _, s := range counts.Shelves {
		if !s.Changed {
			continue
		}
		from := s.From()
		places, sequences = append(places, from.Place), append(sequences, from.Sequence)
		entries, buckets = append(entries, s.Entries()), append(buckets, standings.EncodeBuckets(s.Buckets))
	}
	if len(places) > 0 {
		batch.Queue(d.sql(upsertShelves), board, places, sequences, entries, buckets)
	}
}
