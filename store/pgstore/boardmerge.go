package pgstore

import (
	"context"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Merge implements store.Boards: two round trips for a board of some 400,000 entries or a large
// batch, three for few entries of a larger board, and one more when a bucket has become too large.
func (h *boards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	keys := make([]string, len(batch.Entries))
	for i, e := range batch.Entries {
		keys[i] = e.Key
	}
	w := edit{operation: "merge into", board: board, keys: keys}
	if batch.Rule == store.Sum {
		w.source = batch.Source
	}
	var changes []store.Change
	err := h.change(ctx, w, func(e *editing) error {
		changes = e.merge(batch)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

const (
	upsertSource = `INSERT INTO {s}.sources (board, source, n, used) VALUES ($1::bigint, $2::text, $3::bigint,
			1 + coalesce((SELECT max(used) FROM {s}.sources WHERE board = $1::bigint), 0))
		ON CONFLICT (board, source) DO UPDATE SET n = excluded.n, used = excluded.used`
	forgetSources = `DELETE FROM {s}.sources WHERE board = $1::bigint AND source IN (
		SELECT source FROM {s}.sources WHERE board = $1::bigint ORDER BY used DESC OFFSET $2::bigint)`
	upsertStamps = `INSERT INTO {s}.entries AS e (board, key, place, sequence, epoch, revision)
		SELECT $1::bigint, u.* FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS u
		ON CONFLICT (board, key) DO UPDATE SET epoch = excluded.epoch, revision = excluded.revision`
	updateHidden = `UPDATE {s}.hidden h SET scored = true, place = u.place, sequence = u.sequence,
			epoch = u.epoch, revision = u.revision, meta = u.meta
		FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[])
			AS u (key, place, sequence, epoch, revision, meta)
		WHERE h.board = $1::bigint AND h.key = u.key`
	stampHidden = `UPDATE {s}.hidden h SET epoch = u.epoch, revision = u.revision
		FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS u (key, epoch, revision)
		WHERE h.board = $1::bigint AND h.key = u.key`
)

// rows are entries as columns.
type rows struct {
	keys              []string
	places, sequences []int64
	epochs, revisions []int64
	metas             [][]byte
	described         bool // some have metadata
}

func (r *rows) add(s store.Submission, at standings.Position, stamp store.Stamp) {
	r.keys = append(r.keys, s.Key)
	r.places, r.sequences = append(r.places, at.Place), append(r.sequences, at.Sequence)
	r.epochs, r.revisions = append(r.epochs, int64(stamp.Epoch)), append(r.revisions, int64(stamp.Revision))
	var meta []byte // NULL when there is none
	if len(s.Meta) > 0 {
		meta, r.described = s.Meta, true
	}
	r.metas = append(r.metas, meta)
}

// merge decides what the batch does to each entry, and collects what is to be written. Entries
// are written in the order of their keys, so that neighbours in the index are met together;
// sequences follow the order of the batch.
func (e *editing) merge(batch store.Batch) []store.Change {
	changes := make([]store.Change, len(batch.Entries))
	if batch.Rule == store.Sum && e.counted >= batch.N {
		for i, s := range batch.Entries {
			score := e.known[s.Key].Score
			changes[i] = store.Change{Effect: store.Kept, Old: score, New: score}
		}
		return changes
	}
	if batch.Rule == store.Sum {
		e.countSource(batch.Source, batch.N)
	}
	var m merging
	order := e.board.info.Order
	for i, s := range batch.Entries {
		old := e.known[s.Key]
		d := standings.Decide(batch.Rule, order, old.Stored, s)
		changes[i] = d.Change
		switch {
		case d.Moves():
			at := standings.Position{Place: standings.PlaceOf(order, d.Change.New), Sequence: e.next()}
			m.moved = append(m.moved, move{s, old, at, d.Stamp})
		case d.Stamps && old.hidden:
			m.hiddenStamps.add(s, old.at, d.Stamp)
		case d.Stamps:
			m.stamped = append(m.stamped, move{s, old, old.at, d.Stamp})
		}
	}
	m.collect(e, batch.Rule == store.Last)
	return changes
}

// countSource remembers that the batch was counted.
func (e *editing) countSource(source string, n uint64) {
	e.queue(upsertSource, e.board.id, source, int64(n))
	if e.counted == 0 {
		e.queue(forgetSources, e.board.id, int64(standings.SourcesMost))
	}
}

// move is an entry that gets a new position, or a new stamp where it is.
type move struct {
	submission store.Submission
	old        oldEntry
	at         standings.Position
	stamp      store.Stamp
}

// merging is what a batch changes.
type merging struct {
	moved, stamped []move
	hiddenStamps   rows
}

// collect queues everything.
func (m *merging) collect(e *editing, stamps bool) {
	byKey := func(a, b move) int { return strings.Compare(a.submission.Key, b.submission.Key) }
	slices.SortFunc(m.moved, byKey)
	slices.SortFunc(m.stamped, byKey)
	var placed, hidden, stamped rows
	for _, v := range m.moved {
		if v.old.hidden {
			hidden.add(v.submission, v.at, v.stamp)
			continue
		}
		if v.old.Exists {
			e.leave(v.submission.Key, v.old.at, v.at.Sequence)
		}
		e.count(v.at, 1)
		placed.add(v.submission, v.at, v.stamp)
	}
	for _, v := range m.stamped {
		stamped.add(v.submission, v.at, v.stamp)
	}
	id := e.board.id
	if len(placed.keys) > 0 {
		e.queue(placed.upsert(stamps), placed.arguments(id, stamps)...)
	}
	if r := stamped; len(r.keys) > 0 {
		e.queue(upsertStamps, id, r.keys, r.places, r.sequences, r.epochs, r.revisions)
	}
	if r := hidden; len(r.keys) > 0 {
		e.queue(updateHidden, id, r.keys, r.places, r.sequences, r.epochs, r.revisions, r.metas)
	}
	if r := m.hiddenStamps; len(r.keys) > 0 {
		e.queue(stampHidden, id, r.keys, r.epochs, r.revisions)
	}
}

// upsert is the statement that writes entries: it names no more columns than are needed,
// because each costs. Without a join there is nothing that the planner could get wrong.
func (r *rows) upsert(stamps bool) string {
	const (
		plain     = `INSERT INTO {s}.entries AS e (board, key, place, sequence`
		values    = `) SELECT $1::bigint, u.* FROM unnest($2::text[], $3::bigint[], $4::bigint[]`
		conflict  = `) AS u ON CONFLICT (board, key) DO UPDATE SET place = excluded.place, sequence = excluded.sequence`
		stamp     = `, epoch = excluded.epoch, revision = excluded.revision`
		meta      = `, meta = excluded.meta`
		clearMeta = `, meta = NULL`
	)
	switch {
	case stamps && r.described:
		return plain + `, epoch, revision, meta` + values + `, $5::bigint[], $6::bigint[], $7::bytea[]` + conflict + stamp + meta
	case stamps:
		return plain + `, epoch, revision` + values + `, $5::bigint[], $6::bigint[]` + conflict + stamp + clearMeta
	case r.described:
		return plain + `, meta` + values + `, $5::bytea[]` + conflict + meta
	}
	return plain + values + conflict + clearMeta
}

func (r *rows) arguments(board int64, stamps bool) []any {
	out := []any{board, r.keys, r.places, r.sequences}
	if stamps {
		out = append(out, r.epochs, r.revisions)
	}
	if r.described {
		out = append(out, r.metas)
	}
	return out
}
