package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// postgresResult is what came of boards on PostgreSQL.
type postgresResult struct {
	windows   []postgresWindows
	rank      [3]spread // top, middle, end
	roundTrip spread
}

// postgresWindows is what came of windows of one size.
type postgresWindows struct {
	size          int
	driver, plain pace
}

// postgresBoards writes windows into a board, and into a table with the same indexes without
// anything around it.
func (b *engineBench) postgresBoards(ctx context.Context) (r postgresResult, err error) {
	e, err := pgstore.Open(ctx, b.ground.postgres, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	t := &handTable{ground: b.ground}
	if err := t.create(ctx); err != nil {
		return r, err
	}
	if _, err := e.Boards().Create(ctx, benchBoard, store.BoardSpec{Order: store.Descending, Generation: "bench"}); err != nil {
		return r, err
	}
	driver := &writing{bench: b, name: "driver", write: merging(e.Boards(), benchBoard, store.Last)}
	plain := &writing{bench: b, name: "plain upsert", write: t.upsert}
	for _, size := range windowSizes() {
		paces, err := b.contest(ctx, driver.windows(size), plain.windows(size))
		if err != nil {
			return r, err
		}
		r.windows = append(r.windows, postgresWindows{size, paces[0], paces[1]})
	}
	b.say("  ranks")
	s := &session{boards: e.Boards()}
	for i, offset := range [...]int64{0, int64(b.options.Max / 2), int64(b.options.Max - asked)} {
		if r.rank[i], err = b.ranks(ctx, s, offset, store.Ordinal); err != nil {
			return r, err
		}
	}
	r.roundTrip, err = b.latencies(ctx, func() error {
		var one int
		return b.ground.plain.QueryRow(ctx, "SELECT 1").Scan(&one)
	})
	return r, err
}

// handTable is a table of entries that somebody keeps by hand.
type handTable struct {
	ground   *ground
	sequence int64
}

func (t *handTable) create(ctx context.Context) error {
	for _, text := range []string{
		`CREATE TABLE {s}.hand_entries (board bigint NOT NULL, key text COLLATE "C" NOT NULL, place bigint NOT NULL,
			sequence bigint NOT NULL, epoch bigint, revision bigint, meta bytea, PRIMARY KEY (board, key))`,
		`CREATE INDEX hand_standings ON {s}.hand_entries (board, place, sequence)`,
	} {
		if _, err := t.ground.plain.Exec(ctx, strings.ReplaceAll(text, "{s}", t.ground.name)); err != nil {
			return err
		}
	}
	return nil
}

// upsert writes a window in one statement, in the order of the keys.
func (t *handTable) upsert(ctx context.Context, entries []store.Submission) error {
	slices.SortFunc(entries, func(a, b store.Submission) int { return strings.Compare(a.Key, b.Key) })
	n := len(entries)
	keys, places, sequences, epochs := make([]string, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, e := range entries {
		t.sequence++
		keys[i], places[i], sequences[i], epochs[i] = e.Key, ^e.Score, t.sequence, int64(e.Stamp.Epoch) //nolint:gosec // small
	}
	_, err := t.ground.plain.Exec(ctx, `INSERT INTO `+t.ground.name+`.hand_entries AS old (board, key, place, sequence, epoch, revision)
		SELECT 1, u.*, 0 FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS u
		ON CONFLICT (board, key) DO UPDATE SET place = excluded.place, sequence = excluded.sequence,
			epoch = excluded.epoch, revision = excluded.revision`, keys, places, sequences, epochs)
	return err
}
