package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file is about what takes bids away, and what is left of them at the end.

// Removing notes that a server begins to remove a key, and answers how many bids it has had.
func (l *Ledger) Removing(p *Process, board, key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.contest.rows[board]
	r.asked[asking{p, key}] = true
	return len(r.bids[key])
}

// Removed notes how a removal has ended that began with so many bids.
func (l *Ledger) Removed(p *Process, board, key string, began int, a Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.contest.rows[board]
	if a == Undone {
		return // the queue is as before
	}
	for _, b := range r.bids[key] {
		if b.proc == p {
			b.removed = true
		}
	}
	if a != Done {
		l.mu.events["removal unknown"]++
		return
	}
	l.mu.events["removal done"]++
	if r.removal[key] == nil {
		r.removal[key] = make(map[*Process]removal)
	}
	if began > r.removal[key][p].keep {
		r.removal[key][p] = removal{keep: began, step: l.step()}
	}
}

// Sealed notes that a server has answered that a board is sealed.
func (l *Ledger) Sealed(p *Process, board string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.contest.rows[board]
	if r.sealed[p] = true; !r.info.Sealed {
		l.violatedLocked("no seal", "%s: %s says that it is sealed, and it is not", board, p.Name)
	}
}

// Served judges a page that a server has shown: it is no older than the one before.
func (l *Ledger) Served(p *Process, board string, page store.Page) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.contest.rows[board]
	before := r.seen[p]
	r.seen[p] = page.Info
	if page.Info.Generation == before.Generation && page.Info.Sequence < before.Sequence {
		l.violatedLocked("older page", "%s: %s shows sequence %d after %d", board, p.Name, page.Info.Sequence, before.Sequence)
	}
	for i, s := range page.Entries {
		if s.Rank != int64(i)+1 {
			l.violatedLocked("rank", "%s: the page of %s is %s", board, p.Name, brief(page.Entries))
			return
		}
	}
}

// BoardsClosed judges a server that has ended in order and says how many scores are left: of
// one that leaves none each score was written, reported, or removed.
func (l *Ledger) BoardsClosed(p *Process, left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left > 0 {
		l.mu.events["boards left scores"]++
		return
	}
	l.mu.events["boards complete"]++
	for _, r := range l.mu.contest.rows {
		for _, bids := range r.bids {
			for _, b := range bids {
				if b.proc == p && !b.void && !b.landed && !b.refused && !b.removed {
					l.violatedLocked("complete, not stored", "%s: %s says that all is written, and the board never showed score %d of %s", r.name, p.Name, b.score, b.key)
				}
			}
		}
	}
}

// boardsAtRest reads each board whole, and each entry by itself, when all is over.
func (f *Fleet) boardsAtRest() {
	for _, name := range slices.Sorted(maps.Keys(f.Settings.Boards)) {
		all := f.Ledger.standings(name)
		for offset := 0; offset < len(all); offset += pageAtRest {
			page, err := f.boards.Page(context.Background(), name, int64(offset), pageAtRest, store.Ordinal)
			if want := all[offset:min(offset+pageAtRest, len(all))]; err != nil || brief(page.Entries) != brief(want) {
				f.Ledger.Violated("rank", fmt.Sprintf("%s from %d: %s, %v, a full sort says %s", name, offset, brief(page.Entries), err, brief(want)))
			}
		}
		for _, s := range all {
			if got, ok, err := f.boards.Standing(context.Background(), name, s.Key, store.Ordinal); err != nil || !ok || got.Rank != s.Rank {
				f.Ledger.Violated("rank", fmt.Sprintf("%s: %s has rank %d, %v, a full sort says %d", name, s.Key, got.Rank, err, s.Rank))
			}
		}
	}
}

// pageAtRest is how many entries are read at a time: no whole number of the usual boards.
const pageAtRest = 7

func (l *Ledger) standings(board string) []store.Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.mu.contest.rows[board].all)
}
