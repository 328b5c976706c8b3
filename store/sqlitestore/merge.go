package sqlitestore

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// merge is the work of one Merge.
type merge struct {
	board string
	batch store.Batch
	sizes standings.Sizes

	// Written by the writer.
	edited
	changes []store.Change
}

// newMerge copies the batch: a caller that leaves early may change its own.
func newMerge(board string, batch store.Batch, z standings.Sizes) *merge {
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
	e, refused, err := edit(ctx, t, m.board, m.sizes)
	if m.refused = refused; err != nil || refused != nil {
		return err
	}
	counted := false
	if m.batch.Rule == store.Sum {
		if counted, err = countSource(ctx, t.conn, e.board.id, m.batch.Source, m.batch.N); err != nil {
			return err
		}
	}
	p := &placing{editing: e, entries: m.batch.Entries}
	if err := p.read(ctx); err != nil {
		return err
	}
	m.changes = make([]store.Change, len(p.entries))
	if counted {
		for i, old := range p.old {
			m.changes[i] = store.Change{Effect: store.Kept, Old: old.Score, New: old.Score}
		}
		return nil
	}
	for i, s := range p.entries {
		p.decisions[i] = standings.Decide(m.batch.Rule, e.board.info.Order, p.old[i].Stored, s)
		m.changes[i] = p.decisions[i].Change
	}
	return p.write(ctx, &m.edited)
}

// placing applies the decisions of one batch. It reads and writes in the order of the keys,
// so that neighbours in the file are met together; sequences follow the order of the batch.
type placing struct {
	*editing
	entries   []store.Submission
	byKey     []int // places of entries
	old       []oldEntry
	decisions []standings.Decision
}

// oldEntry is an entry before a batch.
type oldEntry struct {
	standings.Stored
	position standings.Position
	hidden   bool // its key is
}

const selectEntry = `SELECT place, sequence, epoch, revision FROM entries WHERE board = ? AND key = ?`

// read reads the entries as they are.
func (p *placing) read(ctx context.Context) error {
	p.byKey = make([]int, len(p.entries))
	for i := range p.byKey {
		p.byKey[i] = i
	}
	slices.SortFunc(p.byKey, func(a, b int) int { return strings.Compare(p.entries[a].Key, p.entries[b].Key) })
	p.old, p.decisions = make([]oldEntry, len(p.entries)), make([]standings.Decision, len(p.entries))
	for _, i := range p.byKey {
		old, err := p.board.readEntry(ctx, p.conn, p.entries[i].Key)
		if err != nil {
			return err
		}
		p.old[i] = old
	}
	return nil
}

const (
	insertEntry = `INSERT INTO entries (place, sequence, epoch, revision, meta, board, key) VALUES (?, ?, ?, ?, ?, ?, ?)`
	updateEntry = `UPDATE entries SET place = ?, sequence = ?, epoch = ?, revision = ?, meta = ? WHERE board = ? AND key = ?`
	updateStamp = `UPDATE entries SET epoch = ?, revision = ? WHERE board = ? AND key = ?`
)

// write writes what the decisions change: entries, counts, and the board.
func (p *placing) write(ctx context.Context, o *edited) error {
	sequences, moved := p.sequences(), false
	for _, i := range p.byKey {
		var err error
		if p.decisions[i].Moves() {
			moved, err = true, p.move(ctx, i, sequences[i])
		} else {
			err = p.stamp(ctx, i)
		}
		if err != nil {
			return err
		}
	}
	if !moved {
		return nil
	}
	return p.end(ctx, o)
}

// sequences gives the entries that move their sequences, in the order of the batch.
func (p *placing) sequences() []int64 {
	out := make([]int64, len(p.entries))
	for i, d := range p.decisions {
		if d.Moves() {
			out[i] = p.next()
		}
	}
	return out
}

// stamp stores the newer stamp of an entry that keeps its score.
func (p *placing) stamp(ctx context.Context, i int) error {
	d := p.decisions[i]
	if !d.Stamps {
		return nil
	}
	sql := updateStamp
	if p.old[i].hidden {
		sql = stampHidden
	}
	_, err := p.conn.exec(ctx, sql, int64(d.Stamp.Epoch), int64(d.Stamp.Revision), p.board.id, p.entries[i].Key)
	return err
}

// move stores an entry at its new position.
func (p *placing) move(ctx context.Context, i int, sequence int64) error {
	e, d, old := p.entries[i], p.decisions[i], p.old[i]
	at := standings.Position{Place: standings.PlaceOf(p.board.info.Order, d.Change.New), Sequence: sequence}
	var meta any // NULL when there is none
	if len(e.Meta) > 0 {
		meta, p.board.metas = e.Meta, true
	}
	sql := insertEntry
	switch {
	case old.hidden:
		sql = updateHidden
	case old.Exists:
		sql = updateEntry
		if err := p.leave(ctx, e.Key, old.position, sequence); err != nil {
			return err
		}
	}
	if !old.hidden {
		if err := p.count(ctx, at, 1); err != nil {
			return err
		}
	}
	_, err := p.conn.exec(ctx, sql, at.Place, at.Sequence, int64(d.Stamp.Epoch), int64(d.Stamp.Revision), meta, p.board.id, e.Key)
	return err
}
