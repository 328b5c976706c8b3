package memstore

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// This file holds one board and its rules, without locks.

// entry is a stored entry. It is replaced, never changed, because it stands in a sorted
// sequence.
type entry struct {
	store.Entry
	stamp store.Stamp
}

type board struct {
	spec     store.BoardSpec
	sequence uint64
	sealed   bool
	entries  map[string]*entry
	standing blocks[*entry]      // the entries that are not hidden
	hidden   map[string]struct{} // keys, with an entry or without
	sources  map[string]uint64   // the last N of each source of sums
	walks    walks
}

func newBoard(spec store.BoardSpec) *board {
	b := &board{spec: spec, entries: make(map[string]*entry), hidden: make(map[string]struct{}), sources: make(map[string]uint64)}
	b.standing.compare = b.compare
	return b
}

// compare is the total order of the board: the better score, then the lower sequence, then
// the smaller key.
func (b *board) compare(x, y *entry) int {
	if x.Score != y.Score {
		if b.spec.Order.Better(x.Score, y.Score) {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(x.Sequence, y.Sequence), strings.Compare(x.Key, y.Key))
}

func (b *board) info() store.BoardInfo {
	return store.BoardInfo{
		Order:      b.spec.Order,
		Generation: b.spec.Generation,
		Count:      int64(b.standing.size),
		Hidden:     int64(len(b.hidden)),
		Sequence:   b.sequence,
		Sealed:     b.sealed,
	}
}

// merge applies a batch to a board that is not sealed.
func (b *board) merge(batch store.Batch) []store.Change {
	changes := make([]store.Change, len(batch.Entries))
	if batch.Rule == store.Sum && batch.N <= b.sources[batch.Source] {
		for i, s := range batch.Entries {
			changes[i] = b.kept(s.Key)
		}
		return changes
	}
	if batch.Rule == store.Sum {
		b.sources[strings.Clone(batch.Source)] = batch.N
	}
	for i, s := range batch.Entries {
		changes[i] = b.submit(batch.Rule, s)
	}
	return changes
}

func (b *board) kept(key string) store.Change {
	if old, ok := b.entries[key]; ok {
		return store.Change{Effect: store.Kept, Old: old.Score, New: old.Score}
	}
	return store.Change{Effect: store.Kept}
}

func (b *board) submit(rule store.Rule, s store.Submission) store.Change {
	old, ok := b.entries[s.Key]
	if !ok {
		b.place(s, s.Score, stampUnder(rule, s.Stamp, store.Stamp{}))
		return store.Change{Effect: store.Created, New: s.Score}
	}
	score := old.Score
	switch rule {
	case store.Best:
		if b.spec.Order.Better(s.Score, old.Score) {
			score = s.Score
		}
	case store.Last:
		if !s.Stamp.After(old.stamp) {
			return b.kept(s.Key)
		}
		score = s.Score
	case store.Sum:
		var fits bool
		if score, fits = add(old.Score, s.Score); !fits {
			return store.Change{Effect: store.Overflow, Old: old.Score, New: old.Score}
		}
	}
	stamp := stampUnder(rule, s.Stamp, old.stamp)
	if score == old.Score {
		old.stamp = stamp // not part of the order
		return b.kept(s.Key)
	}
	b.standing.remove(old)
	b.place(s, score, stamp)
	return store.Change{Effect: store.Changed, Old: old.Score, New: score}
}

// stampUnder is the stamp that an entry has after a submission under the rule: only Last
// reads and writes stamps.
func stampUnder(rule store.Rule, submitted, old store.Stamp) store.Stamp {
	if rule == store.Last {
		return submitted
	}
	return old
}

// place stores an entry that is not in the standings at this moment.
func (b *board) place(s store.Submission, score int64, stamp store.Stamp) {
	b.change(1)
	e := &entry{Entry: store.Entry{Key: s.Key, Score: score, Sequence: b.sequence}, stamp: stamp}
	if len(s.Meta) > 0 {
		e.Meta = bytes.Clone(s.Meta)
	}
	b.entries[s.Key] = e
	if !b.isHidden(s.Key) {
		b.standing.insert(e)
	}
}

// change raises the sequence for a change of n entries.
func (b *board) change(n int) {
	b.sequence++
	b.walks.changes += uint64(n)
}

// add is a + b, and whether it fits into an int64.
func add(a, b int64) (sum int64, fits bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}

// remove deletes entries from a board that is not sealed. It raises the sequence when there
// were any, so that a cache bound to the sequence notices.
func (b *board) remove(keys []string) int {
	n := 0
	for _, key := range keys {
		if e, ok := b.entries[key]; ok {
			b.standing.remove(e)
			delete(b.entries, key)
			n++
		}
	}
	if n > 0 {
		b.change(n)
	}
	return n
}

// erase forgets keys, hidden ones too, and returns how many were known.
func (b *board) erase(keys []string) int {
	n := 0
	for _, key := range keys {
		e, ok := b.entries[key]
		if ok && !b.isHidden(key) {
			b.standing.remove(e)
		}
		if ok || b.isHidden(key) {
			n++
		}
		delete(b.entries, key)
		delete(b.hidden, key)
	}
	if n > 0 {
		b.change(n)
	}
	return n
}

// visible is the entry of key, unless it is hidden.
func (b *board) visible(key string) (*entry, bool) {
	e, ok := b.entries[key]
	return e, ok && !b.isHidden(key)
}

// page is the standings from position first on, at most limit.
func (b *board) page(first, limit int, mode store.RankMode) store.Page {
	p := store.Page{Total: int64(b.standing.size), Info: b.info()}
	if limit == 0 || first >= b.standing.size {
		return p
	}
	p.Offset = int64(first)
	var before *entry
	rank := int64(0)
	for e := range b.standing.from(first) {
		rank = b.rankAfter(before, rank, e, first+len(p.Entries), mode)
		before = e
		p.Entries = append(p.Entries, e.ranked(rank))
		if len(p.Entries) == limit {
			break
		}
	}
	return p
}

// copy is the entry for a caller to keep.
func (e *entry) copy() store.Entry {
	out := e.Entry
	out.Meta = bytes.Clone(e.Meta)
	return out
}

func (e *entry) ranked(rank int64) store.Standing {
	return store.Standing{Entry: e.copy(), Rank: rank}
}

// clone is a copy of the board that shares nothing with it.
func (b *board) clone() *board {
	c := newBoard(b.spec)
	c.sequence, c.sealed, c.sources = b.sequence, b.sealed, maps.Clone(b.sources)
	c.hidden, c.walks = maps.Clone(b.hidden), b.walks.clone()
	for e := range b.standing.from(0) {
		own := *e
		c.entries[own.Key] = &own
		c.standing.insert(&own)
	}
	for key := range b.hidden {
		if e, ok := b.entries[key]; ok {
			own := *e
			c.entries[key] = &own
		}
	}
	return c
}
