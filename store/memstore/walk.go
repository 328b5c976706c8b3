package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// walks are the versions of a board that are being walked.
type walks struct {
	kept    []version // in the order of their sequence; at most store.MaxWalks
	changes uint64    // entries that changed since the board was made
}

// version is a board as it was when walks of it began.
type version struct {
	sequence uint64
	standing frozen[*entry]
	changes  uint64    // the board's, then
	called   time.Time // the last call of a walk
}

func (w *walks) any() bool { return len(w.kept) > 0 }

// forget forgets the versions that nobody has called for long enough, or that too much has
// changed since.
func (w *walks) forget(now time.Time) {
	w.kept = slices.DeleteFunc(w.kept, func(v version) bool {
		return now.Sub(v.called) >= store.WalkFor || w.changes-v.changes > store.MaxWalkLog
	})
}

// at is the place of the version with the sequence among those that are kept, or where it
// would be.
func (w *walks) at(sequence uint64) (place int, found bool) {
	return slices.BinarySearchFunc(w.kept, sequence, func(v version, sequence uint64) int {
		return cmp.Compare(v.sequence, sequence)
	})
}

// keep adds a version, in place of the one that was called longest ago when there are many.
func (w *walks) keep(v version) {
	v.changes = w.changes
	if len(w.kept) >= store.MaxWalks {
		oldest := 0
		for i, other := range w.kept {
			if other.called.Before(w.kept[oldest].called) {
				oldest = i
			}
		}
		w.kept = slices.Delete(w.kept, oldest, oldest+1)
	}
	place, _ := w.at(v.sequence)
	w.kept = slices.Insert(w.kept, place, v)
}

// clone shares the standings, which do not change.
func (w *walks) clone() walks { return walks{kept: slices.Clone(w.kept), changes: w.changes} }

// walk is the next page of a walk. Versions that are to be forgotten have been.
func (b *board) walk(from store.Cursor, limit int, now time.Time) (store.Page, store.Cursor, error) {
	if from == (store.Cursor{}) {
		from = store.Cursor{Generation: b.spec.Generation, Version: b.sequence, Total: int64(b.standing.size)}
	}
	if from.Generation != b.spec.Generation {
		return store.Page{}, from, store.ErrCursor
	}
	standing, ok := b.asOf(from.Version, now)
	if !ok || !fits(standing, from) {
		return store.Page{}, from, store.ErrCursor
	}
	p := store.Page{
		Total: from.Total,
		Info:  store.BoardInfo{Order: b.spec.Order, Generation: from.Generation, Count: from.Total, Sequence: from.Version},
	}
	if from.Seen == from.Total {
		return p, from, nil
	}
	p.Offset = from.Seen
	for e := range standing.from(int(from.Seen)) {
		from.Seen++
		from.Score, from.Sequence = e.Score, e.Sequence
		if p.Entries = append(p.Entries, e.ranked(from.Seen)); len(p.Entries) == limit {
			break
		}
	}
	return p, from, nil
}

// asOf is the standings at the sequence, if the board still has them, and keeps them.
func (b *board) asOf(sequence uint64, now time.Time) (frozen[*entry], bool) {
	place, found := b.walks.at(sequence)
	switch {
	case found:
		b.walks.kept[place].called = now
		return b.walks.kept[place].standing, true
	case sequence != b.sequence:
		return frozen[*entry]{}, false
	}
	v := version{sequence: sequence, standing: b.standing.freeze(), called: now}
	b.walks.keep(v)
	return v.standing, true
}

// fits tells whether the cursor is one of a walk of these standings: a version that came
// again after the store had gone back is another one.
func fits(standing frozen[*entry], c store.Cursor) bool {
	if c.Total != int64(standing.size) || c.Seen < 0 || c.Seen > c.Total {
		return false
	}
	if c.Seen == 0 {
		return true
	}
	e := standing.at(int(c.Seen) - 1)
	return e.Score == c.Score && e.Sequence == c.Sequence
}

// Walk implements store.Boards.
func (h *boards) Walk(ctx context.Context, name string, from store.Cursor, limit int) (page store.Page, next store.Cursor, err error) {
	next = from
	err = h.write(ctx, "walk", name, func(b *board) error {
		page, next, err = b.walk(from, limit, h.memory.clock.Now())
		return err
	})
	if err != nil {
		return store.Page{}, from, err
	}
	return page, next, nil
}
