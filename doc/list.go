package doc

import (
	"iter"
	"slices"
)

// List returns a list of the items in order.
func List(items ...Value) Value { return listOf(slices.Clone(items)) }

// listOf is List of items that the caller gives away.
func listOf(items []Value) Value { return Value{kind: KindList}.holding(plant(nil, items)) }

// Index returns item i of a list, counted from 0. It panics if v is no list or
// has no such item, as indexing a slice does.
func (v Value) Index(i int) Value {
	if v.kind != KindList || i < 0 || i >= v.Len() {
		panic("doc: index outside the list")
	}
	return v.root().index(i)
}

// Items yields position and value of each item of a list in order, and nothing
// for any other kind.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.kind == KindList {
			v.root().each(0, func(i int, _ string, item Value) bool { return yield(i, item) })
		}
	}
}

// putIndex replaces item i of the list v, which had the extent was.
func (o *owner) putIndex(v Value, i int, item Value, was extent) Value {
	var p place
	v.root().seekIndex(i, &p)
	return v.holding(o.replace(v.root(), p.at[:], item, was))
}

// insertIndex puts an item before position i of the list v, 0 ≤ i ≤ Len.
func (o *owner) insertIndex(v Value, i int, item Value) Value {
	root := v.root()
	if root == nil {
		return v.holding(o.sprout(nil, item))
	}
	var p place
	root.seekIndex(i, &p)
	return v.holding(o.grown(o.insert(root, p.at[:], "", item)))
}

// removeIndex takes item i out of the list v.
func (o *owner) removeIndex(v Value, i int) Value {
	var p place
	v.root().seekIndex(i, &p)
	return v.holding(shrunk(o.remove(v.root(), p.at[:])))
}

// spliceIndex replaces some items of the list v from position i on by others.
// Few items go one by one; many rebuild the list.
func (o *owner) spliceIndex(v Value, i, remove int, items []Value) Value {
	if n := remove + len(items); n > fanout && n > v.Len()/fanout {
		all := make([]Value, 0, v.Len()-remove+len(items))
		all = appendItems(all, v, 0, i)
		all = append(all, items...)
		all = appendItems(all, v, i+remove, v.Len())
		return listOf(all)
	}
	common := min(remove, len(items))
	for k := range common {
		v = o.putIndex(v, i+k, items[k], v.Index(i+k).extent())
	}
	for range remove - common {
		v = o.removeIndex(v, i+common)
	}
	for k := common; k < len(items); k++ {
		v = o.insertIndex(v, i+k, items[k])
	}
	return v
}

// appendItems appends items lo to hi of the list v to dst.
func appendItems(dst []Value, v Value, lo, hi int) []Value {
	dst = slices.Grow(dst, hi-lo)
	v.root().from(lo, func(item Value) bool {
		if lo == hi {
			return false
		}
		dst = append(dst, item)
		lo++
		return true
	})
	return dst
}

// from calls yield for every item from position lo on.
func (n *node) from(lo int, yield func(Value) bool) bool {
	if n == nil {
		return true
	}
	for _, kid := range n.kids {
		if lo < kid.count && !kid.from(max(lo, 0), yield) {
			return false
		}
		lo -= kid.count
	}
	for i := max(lo, 0); i < len(n.vals); i++ {
		if !yield(n.vals[i]) {
			return false
		}
	}
	return true
}

// sprout is the tree of a first item.
func (o *owner) sprout(keys []string, item Value) *node {
	n := leafOf(keys, []Value{item})
	n.owner = o
	return n
}

// grown is the root over what an insertion into the old root returned.
func (o *owner) grown(left, right *node) *node {
	if right == nil {
		return left
	}
	n := branchOf([]*node{left, right})
	n.owner = o
	return n
}

// shrunk drops roots with a single kid.
func shrunk(n *node) *node {
	for n != nil && n.height > 0 && len(n.kids) == 1 {
		n = n.kids[0]
	}
	return n
}
