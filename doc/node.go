package doc

import "slices"

// A list or an object is a persistent B+ tree ordered by position; in an object
// the positions are in byte order of the names. One tree serves both: the code
// that replaces, inserts and removes knows positions only (see place).
//
// Nodes are shared between values and never change once they are reachable from
// a Value. While a draft works it may own nodes that nobody else has seen, and
// changes those in place (see owner).

const (
	fanout    = 32 // fanout is how many items or kids a node holds at most.
	minFill   = 8  // minFill is below what a node that shrank is joined with its neighbour.
	maxHeight = 24 // maxHeight is beyond what 64-bit counts can fill.
)

// node is a leaf (vals) or a branch (kids).
type node struct {
	owner *owner   // the draft that may change this node in place, or nil
	keys  []string // objects: the names in a leaf, the first name of each kid in a branch; never changed in place
	vals  []Value  // leaf: the items
	kids  []*node  // branch: subtrees, none empty, all of one height

	count  int   // items below
	size   int   // encoded bytes of the items below, names included, commas and brackets not
	depth  int32 // deepest nesting among the items, 0 when all are scalars
	height uint8 // 0 for a leaf
}

// owner is the identity of a draft's unfinished work. It has a size so that two
// of them never share an address.
type owner struct{ _ byte }

func leafOf(keys []string, vals []Value) *node {
	n := &node{keys: keys, vals: vals}
	n.measure()
	return n
}

// branchOf puts kids of one height under a new node.
func branchOf(kids []*node) *node {
	n := &node{kids: kids, height: kids[0].height + 1}
	if kids[0].keys != nil {
		n.keys = make([]string, len(kids))
		for i, kid := range kids {
			n.keys[i] = kid.keys[0]
		}
	}
	n.measure()
	return n
}

// flat tells that there is a leaf, or nothing.
func (n *node) flat() bool { return n == nil || n.height == 0 }

// width is the number of items or kids in this very node, 0 where there is none.
func (n *node) width() int {
	if n == nil {
		return 0
	}
	if n.height == 0 {
		return len(n.vals)
	}
	return len(n.kids)
}

// measure computes the sums over the node's own items or kids.
func (n *node) measure() {
	n.count, n.size, n.depth = 0, 0, 0
	for _, kid := range n.kids {
		n.count += kid.count
		n.size += kid.size
		n.depth = max(n.depth, kid.depth)
	}
	n.count += len(n.vals)
	for i := range n.vals {
		n.size += n.vals[i].Size()
		n.depth = max(n.depth, int32(n.vals[i].Depth()))
	}
	if n.height == 0 {
		for _, key := range n.keys {
			n.size += nameSize(key)
		}
	}
}

// deepest computes the depth alone.
func (n *node) deepest() int32 {
	var depth int32
	for _, kid := range n.kids {
		depth = max(depth, kid.depth)
	}
	for i := range n.vals {
		depth = max(depth, int32(n.vals[i].Depth()))
	}
	return depth
}

// plant builds a tree from items in order; keys is nil for a list. The tree may
// keep the slices.
func plant(keys []string, vals []Value) *node {
	switch n := len(vals); {
	case n == 0:
		return nil
	case n <= fanout:
		return leafOf(keys, vals)
	}
	level := make([]*node, 0, chunks(len(vals)))
	for lo, hi := range evenly(len(vals)) {
		var names []string
		if keys != nil {
			names = slices.Clone(keys[lo:hi])
		}
		level = append(level, leafOf(names, slices.Clone(vals[lo:hi])))
	}
	for len(level) > 1 {
		above := make([]*node, 0, chunks(len(level)))
		for lo, hi := range evenly(len(level)) {
			above = append(above, branchOf(slices.Clone(level[lo:hi])))
		}
		level = above
	}
	return level[0]
}

func chunks(n int) int { return (n + fanout - 1) / fanout }

// evenly cuts n items into as few ranges of at most fanout as possible, of sizes
// that differ by at most one.
func evenly(n int) func(yield func(lo, hi int) bool) {
	return func(yield func(lo, hi int) bool) {
		parts := chunks(n)
		for i := range parts {
			if !yield(i*n/parts, (i+1)*n/parts) {
				return
			}
		}
	}
}

// each calls yield for every item in order with its position, counted from at.
func (n *node) each(at int, yield func(i int, key string, v Value) bool) bool {
	if n == nil {
		return true
	}
	for _, kid := range n.kids {
		if !kid.each(at, yield) {
			return false
		}
		at += kid.count
	}
	for i, v := range n.vals {
		key := ""
		if n.keys != nil {
			key = n.keys[i]
		}
		if !yield(at+i, key, v) {
			return false
		}
	}
	return true
}
