package sqlitestore

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// merge is the work of one Merge.
type merge struct {
	board string
	batch store.Batch
	sizes sizes

	// Written by the writer.
	refused error
	changes []store.Change
}

// newMerge copies the batch: a caller that leaves early may change its own.
func newMerge(board string, batch store.Batch, z sizes) *merge {
	batch.Entries = slices.Clone(batch.Entries)
	for i := range batch.Entries {
		batch.Entries[i].Meta = bytes.Clone(batch.Entries[i].Meta)
	}
	return &merge{board: board, batch: batch, sizes: z}
}

// bytes is roughly what the batch holds of memory.
func (m *merge) bytes() int {
	n := 0
	for _, e := range m.batch.Entries {
		n += len(e.Key) + len(e.Meta)
	}
	return n
}

// apply implements work.
func (m *merge) apply(ctx context.Context, t *transaction) error {
	b, ok, err := findBoard(ctx, t.conn, m.board)
	if err != nil {
		return err
	}
	if m.refused = refuse(b, ok); m.refused != nil {
		return nil //nolint:nilerr // the refusal is this job's own; the transaction goes on
	}
	counted := false
	if m.batch.Rule == store.Sum {
		if counted, err = countSource(ctx, t.conn, b.id, m.batch.Source, m.batch.N); err != nil {
			return err
		}
	}
	p := &placing{conn: t.conn, board: b, entries: m.batch.Entries, sizes: m.sizes}
	if err := p.read(ctx); err != nil {
		return err
	}
	m.changes = make([]store.Change, len(p.entries))
	if counted {
		for i, old := range p.old {
			m.changes[i] = store.Change{Effect: store.Kept, Old: old.score, New: old.score}
		}
		return nil
	}
	for i, e := range p.entries {
		p.decisions[i] = decide(m.batch.Rule, b.info.Order, p.old[i].standing, e)
		m.changes[i] = p.decisions[i].change
	}
	return p.write(ctx)
}

// refuse is why a board takes no writes.
func refuse(b boardRow, exists bool) error {
	switch {
	case !exists:
		return store.ErrNoBoard
	case b.info.Sealed:
		return store.ErrSealed
	}
	return nil
}

// placing applies the decisions of one batch. It reads and writes in the order of the keys,
// so that neighbours in the file are met together; sequences follow the order of the batch.
type placing struct {
	conn      *conn
	board     boardRow
	entries   []store.Submission
	sizes     sizes
	byKey     []int // places of entries
	old       []oldEntry
	decisions []decision
}

// oldEntry is an entry before a batch.
type oldEntry struct {
	standing
	position position
}

const selectEntry = `SELECT place, sequence, epoch, revision FROM entries WHERE board = ? AND key = ?`

// read reads the entries as they are.
func (p *placing) read(ctx context.Context) error {
	p.byKey = make([]int, len(p.entries))
	for i := range p.byKey {
		p.byKey[i] = i
	}
	slices.SortFunc(p.byKey, func(a, b int) int { return strings.Compare(p.entries[a].Key, p.entries[b].Key) })
	p.old, p.decisions = make([]oldEntry, len(p.entries)), make([]decision, len(p.entries))
	for _, i := range p.byKey {
		old, err := readEntry(ctx, p.conn, p.board, p.entries[i].Key)
		if err != nil {
			return err
		}
		p.old[i] = old
	}
	return nil
}

func readEntry(ctx context.Context, c *conn, b boardRow, key string) (oldEntry, error) {
	row, err := c.first(ctx, selectEntry, b.id, key)
	if err != nil || row == nil {
		return oldEntry{}, err
	}
	at := position{place: integer(row[0]), sequence: integer(row[1])}
	return oldEntry{
		position: at,
		standing: standing{
			exists: true,
			score:  scoreAt(b.info.Order, at.place),
			stamp:  store.Stamp{Epoch: uint64(integer(row[2])), Revision: uint64(integer(row[3]))},
		},
	}, nil
}

const (
	insertEntry = `INSERT INTO entries (place, sequence, epoch, revision, meta, board, key) VALUES (?, ?, ?, ?, ?, ?, ?)`
	updateEntry = `UPDATE entries SET place = ?, sequence = ?, epoch = ?, revision = ?, meta = ? WHERE board = ? AND key = ?`
	updateStamp = `UPDATE entries SET epoch = ?, revision = ? WHERE board = ? AND key = ?`
)

// write writes what the decisions change: entries, counts, and the board.
func (p *placing) write(ctx context.Context) error {
	sequences := p.sequences()
	var counts *directory
	for _, i := range p.byKey {
		d := p.decisions[i]
		if !d.moves() {
			if err := p.stamp(ctx, i); err != nil {
				return err
			}
			continue
		}
		if counts == nil {
			var err error
			if counts, err = openDirectory(ctx, p.conn, p.board.id, p.sizes); err != nil {
				return err
			}
		}
		if err := p.move(ctx, i, sequences[i], counts); err != nil {
			return err
		}
	}
	if counts == nil {
		return nil
	}
	if err := saveDirectory(ctx, p.conn, p.board.id, counts); err != nil {
		return err
	}
	return p.board.save(ctx, p.conn)
}

// sequences gives the entries that move their sequences, in the order of the batch.
func (p *placing) sequences() []int64 {
	out := make([]int64, len(p.entries))
	for i, d := range p.decisions {
		if d.moves() {
			p.board.info.Sequence++
			out[i] = int64(p.board.info.Sequence)
		}
	}
	return out
}

// stamp stores the newer stamp of an entry that keeps its score.
func (p *placing) stamp(ctx context.Context, i int) error {
	d := p.decisions[i]
	if !d.stamps {
		return nil
	}
	_, err := p.conn.exec(ctx, updateStamp, int64(d.stamp.Epoch), int64(d.stamp.Revision), p.board.id, p.entries[i].Key)
	return err
}

// move stores an entry at its new position.
func (p *placing) move(ctx context.Context, i int, sequence int64, counts *directory) error {
	e, d, old := p.entries[i], p.decisions[i], p.old[i]
	at := position{place: placeOf(p.board.info.Order, d.change.New), sequence: sequence}
	var meta any // NULL when there is none
	if len(e.Meta) > 0 {
		meta, p.board.metas = e.Meta, true
	}
	sql := insertEntry
	if old.exists {
		sql = updateEntry
		if err := counts.add(old.position, -1); err != nil {
			return err
		}
	} else {
		p.board.info.Count++
	}
	if err := counts.add(at, 1); err != nil {
		return err
	}
	_, err := p.conn.exec(ctx, sql, at.place, at.sequence, int64(d.stamp.Epoch), int64(d.stamp.Revision), meta, p.board.id, e.Key)
	return err
}
