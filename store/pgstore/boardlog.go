package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file writes the log of a board: see standings.WalkLog.

// leaving is an entry that leaves its position at a version, or stands there again from it on.
type leaving struct {
	key     string
	at      standings.Position
	version int64
}

const (
	// insertMoved logs entries as they still are. The LIMIT keeps the planner from reading all
	// entries when many leave.
	insertMoved = `INSERT INTO {s}.moved (board, log, place, sequence, at, since, key, meta)
		SELECT $1::bigint, $2::bigint, e.place, e.sequence, u.at, u.since, u.key, e.meta
		FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS u (key, at, since)
		CROSS JOIN LATERAL (SELECT place, sequence, meta FROM {s}.entries WHERE board = $1::bigint AND key = u.key LIMIT 1) e`
	insertShown = `INSERT INTO {s}.moved (board, log, place, sequence, at, since, key)
		SELECT $1::bigint, $2::bigint, u.place, u.sequence, 9223372036854775807, u.since, u.key
		FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) AS u (place, sequence, since, key)`
	closeShown = `DELETE FROM {s}.moved m USING unnest($3::bigint[], $4::bigint[]) AS u (place, sequence)
		WHERE m.board = $1::bigint AND m.log = $2::bigint AND m.place = u.place AND m.sequence = u.sequence
			AND m.at = 9223372036854775807
		RETURNING m.place, m.sequence, m.since`
)

// logged begins what is to be written with what the log needs. A log that becomes too long on
// the way ends, and gets nothing.
func (e *editing) logged(ctx context.Context) (*pgx.Batch, error) {
	first := &pgx.Batch{}
	log := &e.board.log
	if log.From == 0 || len(e.leaving)+len(e.shown) == 0 {
		return first, nil
	}
	since, err := e.closed(ctx)
	if err != nil {
		return nil, err
	}
	number := log.Number
	left, shown := e.logLeaving(since), e.logShown()
	if log.From == 0 {
		return first, nil
	}
	if len(left.keys) > 0 {
		first.Queue(e.database.sql(insertMoved), e.board.id, number, left.keys, left.versions, left.since)
	}
	if len(shown.keys) > 0 {
		first.Queue(e.database.sql(insertShown), e.board.id, number, shown.places, shown.sequences, shown.versions, shown.keys)
	}
	return first, nil
}

// closed ends the rows of shown entries that leave, and answers since when they stood there.
func (e *editing) closed(ctx context.Context) (since map[standings.Position]int64, err error) {
	if e.board.log.Shown == 0 || len(e.leaving) == 0 {
		return nil, nil
	}
	places, sequences := make([]int64, len(e.leaving)), make([]int64, len(e.leaving))
	for i, l := range e.leaving {
		places[i], sequences[i] = l.at.Place, l.at.Sequence
	}
	since = make(map[standings.Position]int64)
	b := &pgx.Batch{}
	b.Queue(e.database.sql(closeShown), e.board.id, e.board.log.Number, places, sequences).Query(func(rows pgx.Rows) error {
		var at standings.Position
		var from int64
		_, err := pgx.ForEachRow(rows, []any{&at.Place, &at.Sequence, &from}, func() error {
			since[at] = from
			return nil
		})
		return err
	})
	return since, e.transaction.send(ctx, b)
}

// logRows are rows of a log as columns.
type logRows struct {
	keys                               []string
	places, sequences, versions, since []int64
}

func (r *logRows) add(l leaving, since int64) {
	r.keys = append(r.keys, l.key)
	r.places, r.sequences = append(r.places, l.at.Place), append(r.sequences, l.at.Sequence)
	r.versions, r.since = append(r.versions, l.version), append(r.since, since)
}

func (e *editing) logLeaving(since map[standings.Position]int64) (rows logRows) {
	log := &e.board.log
	for _, l := range e.leaving {
		from, ok := since[l.at]
		if !ok {
			from = l.at.Sequence
		}
		if log.Wants(from) {
			rows.add(l, from)
			log.Add(e.sizes.WalkLog)
		}
	}
	return rows
}

func (e *editing) logShown() (rows logRows) {
	log := &e.board.log
	for _, l := range e.shown {
		if log.Wants(l.at.Sequence) {
			rows.add(l, 0)
			log.Shown++
			log.Add(e.sizes.WalkLog)
		}
	}
	return rows
}
