package memstore

import (
	"iter"
	"slices"
	"sort"
)

// blockSize is how many items a block holds before it is split. Larger blocks cost more
// per insertion, smaller ones more per rank.
const blockSize = 512

// blocks is a sorted sequence of distinct items, kept in blocks so that insertion, removal
// and the position of an item are cheap at millions of items. Its zero value with a compare
// function is empty.
type blocks[T any] struct {
	compare func(a, b T) int
	blocks  []block[T] // none is empty
	size    int
}

// block is a part of the sequence.
type block[T any] struct {
	items  []T
	shared bool // a frozen sequence may hold the same items: copy them before a change
}

// frozen is a sequence as it was at one time.
type frozen[T any] struct {
	blocks []block[T]
	size   int
}

// freeze is the sequence as it is. It costs the number of blocks; from then on the first
// change of a block copies it.
func (s *blocks[T]) freeze() frozen[T] {
	for b := range s.blocks {
		s.blocks[b].shared = true
	}
	return frozen[T]{blocks: slices.Clone(s.blocks), size: s.size}
}

// own makes block b one that may be changed.
func (s *blocks[T]) own(b int) {
	if block := &s.blocks[b]; block.shared {
		block.items = append(make([]T, 0, blockSize+1), block.items...)
		block.shared = false
	}
}

// find is where item is, or where it would be inserted: block b, place i within it.
func (s *blocks[T]) find(item T) (b, i int, found bool) {
	b = sort.Search(len(s.blocks), func(n int) bool { return s.compare(s.blocks[n].items[0], item) > 0 })
	if b == 0 {
		return 0, 0, false
	}
	b--
	i, found = slices.BinarySearchFunc(s.blocks[b].items, item, s.compare)
	return b, i, found
}

// insert adds item, or does nothing when it is there.
func (s *blocks[T]) insert(item T) {
	b, i, found := s.find(item)
	if found {
		return
	}
	s.size++
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, block[T]{items: append(make([]T, 0, 8), item)})
		return
	}
	s.own(b)
	items := slices.Insert(s.blocks[b].items, i, item)
	if len(items) <= blockSize {
		s.blocks[b].items = items
		return
	}
	half := len(items) / 2
	upper := append(make([]T, 0, blockSize+1), items[half:]...)
	clear(items[half:])
	s.blocks[b].items = items[:half]
	s.blocks = slices.Insert(s.blocks, b+1, block[T]{items: upper})
}

// remove takes item out and tells whether it was there.
func (s *blocks[T]) remove(item T) bool {
	b, i, found := s.find(item)
	if !found {
		return false
	}
	s.size--
	if len(s.blocks[b].items) == 1 {
		s.blocks = slices.Delete(s.blocks, b, b+1)
		return true
	}
	s.own(b)
	s.blocks[b].items = slices.Delete(s.blocks[b].items, i, i+1)
	s.join(b + 1)
	s.join(b)
	return true
}

// join merges block b into the one before it when both are small, so that many removals do
// not leave many tiny blocks behind.
func (s *blocks[T]) join(b int) {
	if b == 0 || b >= len(s.blocks) || len(s.blocks[b].items)+len(s.blocks[b-1].items) > blockSize/2 {
		return
	}
	s.own(b - 1)
	s.blocks[b-1].items = append(s.blocks[b-1].items, s.blocks[b].items...)
	s.blocks = slices.Delete(s.blocks, b, b+1)
}

// position is how many items come before item, whether it is there or not.
func (s *blocks[T]) position(item T) int {
	b, n, _ := s.find(item)
	for _, block := range s.blocks[:b] {
		n += len(block.items)
	}
	return n
}

// from yields the items from position n on.
func (s *blocks[T]) from(n int) iter.Seq[T] { return itemsFrom(s.blocks, n) }

// from yields the items from position n on.
func (f frozen[T]) from(n int) iter.Seq[T] { return itemsFrom(f.blocks, n) }

// at is the item at position n, which there must be.
func (f frozen[T]) at(n int) T {
	for _, block := range f.blocks {
		if n < len(block.items) {
			return block.items[n]
		}
		n -= len(block.items)
	}
	panic("memstore: a position beyond the end")
}

func itemsFrom[T any](blocks []block[T], n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, block := range blocks {
			if n >= len(block.items) {
				n -= len(block.items)
				continue
			}
			for _, item := range block.items[n:] {
				if !yield(item) {
					return
				}
			}
			n = 0
		}
	}
}
