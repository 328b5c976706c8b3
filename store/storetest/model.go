package storetest

import (
	"bytes"
	"math/big"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// ModelBoard is the contract of one board in its most naive form: entries in a map, sorted
// whole whenever somebody asks. Tests compare drivers, caches and queues with it. It is not
// safe for use from many goroutines.
type ModelBoard struct {
	order    store.Order
	sealed   bool
	sequence uint64
	entries  map[string]*modelEntry
	sources  map[string]uint64
	hidden   map[string]bool
	walked   map[uint64][]store.Standing // the whole board at each sequence that a walk began at
}

type modelEntry struct {
	store.Entry
	stamp store.Stamp
}

// NewModelBoard makes an empty board of the order.
func NewModelBoard(order store.Order) *ModelBoard {
	return &ModelBoard{
		order:   order,
		entries: make(map[string]*modelEntry),
		sources: make(map[string]uint64),
		hidden:  make(map[string]bool),
		walked:  make(map[uint64][]store.Standing),
	}
}

// Merge is what store.Boards.Merge does and answers. Sequences count up from 1 by one.
func (m *ModelBoard) Merge(batch store.Batch) ([]store.Change, error) {
	if m.sealed {
		return nil, store.ErrSealed
	}
	counted := batch.Rule == store.Sum && batch.N <= m.sources[batch.Source]
	if batch.Rule == store.Sum && !counted {
		m.sources[batch.Source] = batch.N
	}
	changes := make([]store.Change, len(batch.Entries))
	for i, s := range batch.Entries {
		if counted {
			changes[i] = m.kept(s.Key)
			continue
		}
		changes[i] = m.submit(batch.Rule, s)
	}
	return changes, nil
}

func (m *ModelBoard) kept(key string) store.Change {
	if e := m.entries[key]; e != nil {
		return store.Change{Effect: store.Kept, Old: e.Score, New: e.Score}
	}
	return store.Change{Effect: store.Kept}
}

func (m *ModelBoard) submit(rule store.Rule, s store.Submission) store.Change {
	e := m.entries[s.Key]
	if e == nil {
		m.sequence++
		created := &modelEntry{Entry: store.Entry{Key: s.Key, Score: s.Score, Sequence: m.sequence, Meta: meta(s)}}
		if rule == store.Last {
			created.stamp = s.Stamp
		}
		m.entries[s.Key] = created
		return store.Change{Effect: store.Created, New: s.Score}
	}
	score, old := e.Score, e.Score
	switch rule {
	case store.Best:
		if m.order.Better(s.Score, score) {
			score = s.Score
		}
	case store.Last:
		if s.Stamp.After(e.stamp) {
			score, e.stamp = s.Score, s.Stamp
		}
	case store.Sum:
		sum := new(big.Int).Add(big.NewInt(score), big.NewInt(s.Score))
		if !sum.IsInt64() {
			return store.Change{Effect: store.Overflow, Old: old, New: old}
		}
		score = sum.Int64()
	}
	if score == old {
		return store.Change{Effect: store.Kept, Old: old, New: old}
	}
	m.sequence++
	e.Score, e.Sequence, e.Meta = score, m.sequence, meta(s)
	return store.Change{Effect: store.Changed, Old: old, New: score}
}

// meta is the metadata as it is stored: nil when none.
func meta(s store.Submission) []byte {
	if len(s.Meta) == 0 {
		return nil
	}
	return bytes.Clone(s.Meta)
}

// Remove is what store.Boards.Remove does and answers.
func (m *ModelBoard) Remove(keys ...string) (int, error) {
	if m.sealed {
		return 0, store.ErrSealed
	}
	before := len(m.entries)
	for _, key := range keys {
		delete(m.entries, key)
	}
	if len(m.entries) < before {
		m.sequence++
	}
	return before - len(m.entries), nil
}

// Erase is what store.Boards.Erase does and answers.
func (m *ModelBoard) Erase(keys ...string) int {
	n := 0
	for _, key := range keys {
		if _, ok := m.entries[key]; ok || m.hidden[key] {
			n++
		}
		delete(m.entries, key)
		delete(m.hidden, key)
	}
	if n > 0 {
		m.sequence++
	}
	return n
}

// Seal is what store.Boards.Seal does and answers, but for the generation.
func (m *ModelBoard) Seal() store.BoardInfo {
	m.sealed = true
	return m.Info()
}

// Info is what store.Boards.Info answers, but for the generation.
func (m *ModelBoard) Info() store.BoardInfo {
	info := store.BoardInfo{Order: m.order, Hidden: int64(len(m.hidden)), Sequence: m.sequence, Sealed: m.sealed}
	for key := range m.entries {
		if !m.hidden[key] {
			info.Count++
		}
	}
	return info
}

// Standings is the whole board in its order, with ordinal ranks.
func (m *ModelBoard) Standings() []store.Standing { return m.Ranked(store.Ordinal) }

// Ranked is the whole board in its order, with ranks of the mode.
func (m *ModelBoard) Ranked(mode store.RankMode) []store.Standing {
	all := make([]store.Standing, 0, len(m.entries))
	for _, e := range m.entries {
		if m.hidden[e.Key] {
			continue
		}
		s := store.Standing{Entry: e.Entry}
		s.Meta = bytes.Clone(e.Meta)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b store.Standing) int { return compareEntries(m.order, a.Entry, b.Entry) })
	scores := int64(0)
	for i := range all {
		tied := i > 0 && all[i-1].Score == all[i].Score
		if !tied {
			scores++
		}
		switch {
		case mode == store.Dense:
			all[i].Rank = scores
		case mode == store.Competition && tied:
			all[i].Rank = all[i-1].Rank
		default:
			all[i].Rank = int64(i) + 1
		}
	}
	return all
}

// compareEntries is the total order of a board: score, then sequence, then key.
func compareEntries(order store.Order, a, b store.Entry) int {
	switch {
	case order.Better(a.Score, b.Score):
		return -1
	case order.Better(b.Score, a.Score):
		return 1
	case a.Sequence != b.Sequence:
		if a.Sequence < b.Sequence {
			return -1
		}
		return 1
	case a.Key < b.Key:
		return -1
	case a.Key > b.Key:
		return 1
	}
	return 0
}

// Page is what store.Boards.Page answers, but for the generation.
func (m *ModelBoard) Page(offset int64, limit int, mode store.RankMode) store.Page {
	all := m.Ranked(mode)
	page := store.Page{Total: int64(len(all)), Info: m.Info()}
	first := min(offset, page.Total)
	page.Entries = all[first:min(first+int64(limit), page.Total)]
	if len(page.Entries) > 0 {
		page.Offset = first
	}
	return page
}

// Standing is what store.Boards.Standing answers.
func (m *ModelBoard) Standing(key string, mode store.RankMode) (s store.Standing, ok bool) {
	for _, s := range m.Ranked(mode) {
		if s.Key == key {
			return s, true
		}
	}
	return store.Standing{}, false
}

// Around is what store.Boards.Around answers, but for the generation.
func (m *ModelBoard) Around(key string, n int, mode store.RankMode) store.Page {
	s, found := m.Standing(key, store.Ordinal)
	if !found {
		return m.Page(0, 0, mode)
	}
	first := max(0, s.Rank-1-int64(n))
	return m.Page(first, int(s.Rank-first)+n, mode)
}
