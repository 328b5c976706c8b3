package storetest

import (
	"bytes"
	"maps"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// Hide is what store.Boards.Hide does and answers. It raises the sequence by one.
func (m *ModelBoard) Hide(hidden bool, keys ...string) (int, error) {
	if m.sealed {
		return 0, store.ErrSealed
	}
	after := maps.Clone(m.hidden)
	changed := 0
	for _, key := range keys {
		if after[key] != hidden {
			changed++
		}
		if after[key] = hidden; !hidden {
			delete(after, key)
		}
	}
	if hidden && len(after) > store.MaxHidden {
		return 0, store.ErrTooLarge
	}
	m.hidden = after
	if changed > 0 {
		m.sequence++
	}
	return changed, nil
}

// Hidden is what store.Boards.Hidden answers.
func (m *ModelBoard) Hidden(after string, limit int) []store.HiddenEntry {
	var all []store.HiddenEntry
	for _, key := range slices.Sorted(maps.Keys(m.hidden)) {
		if key <= after || len(all) == limit {
			continue
		}
		h := store.HiddenEntry{Entry: store.Entry{Key: key}}
		if e := m.entries[key]; e != nil {
			h = store.HiddenEntry{Entry: e.Entry, Scored: true}
			h.Meta = bytes.Clone(e.Meta)
		}
		all = append(all, h)
	}
	return all
}

// modelGeneration is the generation in the cursors of all models.
const modelGeneration = "model"

// Walk is what store.Boards.Walk does and answers, but for the generation. A model never
// forgets how it was when a walk began.
func (m *ModelBoard) Walk(from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	if from == (store.Cursor{}) {
		all := m.Standings()
		m.walked[m.sequence] = all
		from = store.Cursor{Generation: modelGeneration, Version: m.sequence, Total: int64(len(all))}
	}
	all, known := m.walked[from.Version]
	if !known || from.Generation != modelGeneration || from.Total != int64(len(all)) {
		return store.Page{}, from, store.ErrCursor
	}
	page := store.Page{
		Total: from.Total,
		Info:  store.BoardInfo{Order: m.order, Count: from.Total, Sequence: from.Version},
	}
	for _, s := range all[from.Seen:min(from.Seen+int64(limit), from.Total)] {
		s.Meta = bytes.Clone(s.Meta)
		page.Entries = append(page.Entries, s)
	}
	if n := len(page.Entries); n > 0 {
		page.Offset = from.Seen
		last := page.Entries[n-1]
		from.Seen, from.Score, from.Sequence = last.Rank, last.Score, last.Sequence
	}
	return page, from, nil
}
