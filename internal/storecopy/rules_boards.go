package storecopy

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// boardMark is what the ledger says of a board: how both were when it was copied.
type boardMark struct {
	Format     int    `json:"format"`
	Generation string `json:"generation"`
	Source     uint64 `json:"source"` // the sequence that it had at the source
	Target     uint64 `json:"target"` // and the one that it has at the target
	Sealed     bool   `json:"sealed,omitempty"`
	Done       bool   `json:"done,omitempty"` // false: the copy was begun
}

// boardVerdict is what becomes of one board.
type boardVerdict uint8

const (
	boardSame     boardVerdict = iota + 1 // it is copied already
	boardCopy                             // make it, or make it anew: what is there is the copier's own
	boardCompare                          // it is not the copier's: only the entries tell
	boardConflict                         // somebody else has written into the target's
	boardRemoved                          // somebody else has dropped it from the target
)

// judgeBoard decides about a board of the source; there is nil when the target has none, and mark
// when the ledger does not know it.
func judgeBoard(source store.BoardInfo, there *store.BoardInfo, mark *boardMark) boardVerdict {
	switch {
	case there == nil && mark != nil && mark.Done:
		return boardRemoved
	case there == nil:
		return boardCopy
	case mark == nil:
		return boardCompare
	case !mark.Done:
		return boardCopy
	case there.Generation != mark.Generation || there.Sequence != mark.Target || there.Sealed != mark.Sealed:
		return boardConflict
	case source.Generation == mark.Generation && source.Sequence == mark.Source && source.Sealed == mark.Sealed:
		return boardSame
	}
	return boardCopy
}

// hidden are a board's hidden keys, and which of them have an entry, in the board's order.
type hidden struct {
	keys    map[string]bool
	scored  int           // of the keys
	entries []store.Entry // that were not woven in yet
}

// sorted brings the entries into the order of the board.
func (h *hidden) sorted(order store.Order) {
	slices.SortFunc(h.entries, func(a, b store.Entry) int { return compare(order, a, b) })
}

// compare is the total order of a board: score, then sequence, then key.
func compare(order store.Order, a, b store.Entry) int {
	if a.Score != b.Score {
		if order.Better(a.Score, b.Score) {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Key, b.Key))
}

// woven is a page of a walk with the hidden entries that come before its last one, all in the
// board's order; at the end of the walk with those that are left. An entry that was hidden after
// the hidden ones were read is in both, and comes once.
func (h *hidden) woven(order store.Order, page []store.Standing, end bool) (out []store.Entry) {
	for _, s := range page {
		for len(h.entries) > 0 && compare(order, h.entries[0], s.Entry) < 0 {
			out, h.entries = append(out, h.entries[0]), h.entries[1:]
		}
		if !h.keys[s.Key] {
			out = append(out, s.Entry)
		}
	}
	if end {
		out, h.entries = append(out, h.entries...), nil
	}
	return out
}

// submissions are entries as a batch takes them.
func submissions(entries []store.Entry) []store.Submission {
	out := make([]store.Submission, len(entries))
	for i, e := range entries {
		out[i] = store.Submission{Key: e.Key, Score: e.Score, Meta: e.Meta}
	}
	return out
}

// alike tells that two entries are the same but for their sequences.
func alike(a, b store.Entry) bool {
	return a.Key == b.Key && a.Score == b.Score && bytes.Equal(a.Meta, b.Meta)
}
