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
	blocks  [][]T // none is empty
	size    int
}

// find is where item is, or where it would be inserted: block b, place i within it.
func (s *blocks[T]) find(item T) (b, i int, found bool) {
	b = sort.Search(len(s.blocks), func(n int) bool { return s.compare(s.blocks[n][0], item) > 0 })
	if b == 0 {
		return 0, 0, false
	}
	b--
	i, found = slices.BinarySearchFunc(s.blocks[b], item, s.compare)
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
		s.blocks = append(s.blocks, append(make([]T, 0, 8), item))
		return
	}
	s.blocks[b] = slices.Insert(s.blocks[b], i, item)
	if len(s.blocks[b]) > blockSize {
		half := len(s.blocks[b]) / 2
		upper := append(make([]T, 0, blockSize+1), s.blocks[b][half:]...)
		clear(s.blocks[b][half:])
		s.blocks[b] = s.blocks[b][:half]
		s.blocks = slices.Insert(s.blocks, b+1, upper)
	}
}

// remove takes item out and tells whether it was there.
func (s *blocks[T]) remove(item T) bool {
	b, i, found := s.find(item)
	if !found {
		return false
	}
	s.size--
	s.blocks[b] = slices.Delete(s.blocks[b], i, i+1)
	if len(s.blocks[b]) == 0 {
		s.blocks = slices.Delete(s.blocks, b, b+1)
		return true
	}
	s.join(b + 1)
	s.join(b)
	return true
}

// join merges block b into the one before it when both are small, so that many removals do
// not leave many tiny blocks behind.
func (s *blocks[T]) join(b int) {
	if b == 0 || b >= len(s.blocks) || len(s.blocks[b])+len(s.blocks[b-1]) > blockSize/2 {
		return
	}
	s.blocks[b-1] = append(s.blocks[b-1], s.blocks[b]...)
	s.blocks = slices.Delete(s.blocks, b, b+1)
}

// position is how many items come before item, whether it is there or not.
func (s *blocks[T]) position(item T) int {
	b, n, _ := s.find(item)
	for _, block := range s.blocks[:b] {
		n += len(block)
	}
	return n
}

// from yields the items from position n on.
func (s *blocks[T]) from(n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, block := range s.blocks {
			if n >= len(block) {
				n -= len(block)
				continue
			}
			for _, item := range block[n:] {
				if !yield(item) {
					return
				}
			}
			n = 0
		}
	}
}
