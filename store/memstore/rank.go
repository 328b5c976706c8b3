package memstore

import "github.com/shoalworks/shoal/store"

// This file ranks the entries of one board, without locks.

// rank is the rank of e, which stands at position.
func (b *board) rank(e *entry, position int, mode store.RankMode) int64 {
	switch mode {
	case store.Ordinal:
	case store.Competition:
		return int64(b.firstOf(e.Score)) + 1
	case store.Dense:
		return b.better(e.Score) + 1
	}
	return int64(position) + 1
}

// rankAfter is the rank of e at position when before, if any, stands right above it with
// rank above.
func (b *board) rankAfter(before *entry, above int64, e *entry, position int, mode store.RankMode) int64 {
	switch {
	case before == nil:
		return b.rank(e, position, mode)
	case mode == store.Ordinal:
		return int64(position) + 1
	case before.Score == e.Score:
		return above
	case mode == store.Dense:
		return above + 1
	}
	return int64(position) + 1
}

// firstOf is the position of the first entry with the score, or where it would be.
func (b *board) firstOf(score int64) int {
	return b.standing.position(&entry{Entry: store.Entry{Score: score}}) // sequence 0: before all of them
}

// better is how many scores are better than score. It looks at every block before it, and at
// every entry of those that hold more than one score.
func (b *board) better(score int64) int64 {
	n := int64(0)
	var last *entry
	for _, block := range b.standing.blocks {
		if last != nil && block.items[len(block.items)-1].Score == last.Score {
			continue
		}
		for _, e := range block.items {
			if !b.spec.Order.Better(e.Score, score) {
				return n
			}
			if last == nil || e.Score != last.Score {
				n, last = n+1, e
			}
		}
	}
	return n
}
