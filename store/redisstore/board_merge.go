package redisstore

import (
	"context"
	"encoding/binary"
	"strconv"

	"github.com/shoalworks/shoal/store"
)

// Merge implements store.Boards. One script reads what is there, decides, and writes.
func (b *boards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	c := boardCall{what: "merge into", board: board, script: b.scripts.merge, intent: writing}
	c.args = b.mergeArgs(batch)
	r, err := b.ask(ctx, c, 5)
	if err != nil {
		return nil, err
	}
	changes, err := r.changes(batch)
	if err != nil {
		return nil, c.misread(err)
	}
	b.remember(board, &r, batch, changes)
	return changes, nil
}

// remember guesses where the entries stand that a batch has changed: it was applied as a whole.
func (b *boards) remember(board string, r *reply, batch store.Batch, changes []store.Change) {
	life := boardLife{text: r.text(4), order: orderOf(r.text(0))}
	before := r.text(3)
	if b.guesses == nil || r.err != nil || life.text == "" || len(before) != 8 {
		return
	}
	b.guesses.live(board, life)
	sequence := number64(before)
	for i, c := range changes {
		if c.Effect == store.Created || c.Effect == store.Changed {
			sequence++
			b.guesses.put(life.text, batch.Entries[i].Key, placeOf(life.order, c.New), sequence)
		}
	}
}

// mergeArgs are the arguments of board_merge.lua.
func (b *boards) mergeArgs(batch store.Batch) []string {
	n := len(batch.Entries)
	numbers, withMeta := make([]byte, 0, n*(placeSize+stampSize)), false
	for _, e := range batch.Entries {
		numbers = binary.BigEndian.AppendUint64(numbers, biased(e.Score))
		if batch.Rule == store.Last {
			numbers = binary.BigEndian.AppendUint64(numbers, e.Stamp.Epoch)
			numbers = binary.BigEndian.AppendUint64(numbers, e.Stamp.Revision)
		}
		withMeta = withMeta || len(e.Meta) > 0
	}
	args := make([]string, 0, 10+2*n)
	args = append(args, b.logArgs(
		batch.Rule.String(), strconv.Itoa(n), strconv.FormatBool(withMeta),
		batch.Source, bytes64(batch.N), strconv.Itoa(b.sizes.sources), string(numbers),
	)...)
	for _, e := range batch.Entries {
		args = append(args, e.Key)
	}
	if withMeta {
		for _, e := range batch.Entries {
			args = append(args, string(e.Meta))
		}
	}
	return args
}

// changes reads what became of each entry of the batch.
func (r *reply) changes(batch store.Batch) ([]store.Change, error) {
	order, effects, before := orderOf(r.text(0)), r.text(1), r.fields(2)
	if n := len(batch.Entries); order == 0 || len(effects) != n || len(before) != n {
		r.fail("%d effects and %d entries in order %d, want %d", len(effects), len(before), order, n)
	}
	if r.err != nil {
		return nil, r.err
	}
	changes := make([]store.Change, len(batch.Entries))
	for i, s := range batch.Entries {
		var err error
		if changes[i], err = changeOf(batch.Rule, order, effects[i], before[i], s); err != nil {
			return nil, err
		}
	}
	return changes, nil
}
