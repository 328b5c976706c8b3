package memstore

import "slices"

// Blocks is the sorted sequence for tests.
type Blocks struct{ b blocks[int] }

// BlockSize is how many items a block holds.
const BlockSize = blockSize

// NewBlocks makes an empty sequence of numbers.
func NewBlocks() *Blocks {
	return &Blocks{blocks[int]{compare: func(a, b int) int { return a - b }}}
}

// Insert, Remove, Position and Len are the sequence's own.
func (b *Blocks) Insert(n int) { b.b.insert(n) }

// Remove takes n out and tells whether it was there.
func (b *Blocks) Remove(n int) bool { return b.b.remove(n) }

// Position is how many are before n.
func (b *Blocks) Position(n int) int { return b.b.position(n) }

// Len is how many there are.
func (b *Blocks) Len() int { return b.b.size }

// From is the items from a position on.
func (b *Blocks) From(n int) []int { return slices.Collect(b.b.from(n)) }

// Freeze is the items as they are, read when it is called.
func (b *Blocks) Freeze() func() []int {
	f := b.b.freeze()
	return func() []int {
		all := slices.Collect(f.from(0))
		for n := range all {
			if f.at(n) != all[n] || len(all) != f.size {
				return nil
			}
		}
		return all
	}
}

// Shared is how many blocks are to be copied before a change.
func (b *Blocks) Shared() (n int) {
	for _, block := range b.b.blocks {
		if block.shared {
			n++
		}
	}
	return n
}

// Versions is how many versions of a board are kept for walks.
func (e *Engine) Versions(board string) int {
	e.boards.mu.RLock()
	defer e.boards.mu.RUnlock()
	return len(e.boards.mu.boards[board].walks.kept)
}

// Sizes is how many items each block holds.
func (b *Blocks) Sizes() []int {
	sizes := make([]int, len(b.b.blocks))
	for i, block := range b.b.blocks {
		sizes[i] = len(block.items)
	}
	return sizes
}
