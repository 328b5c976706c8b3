package doc

import "slices"

// writable returns n if o owns it, else a copy that o owns. The copy has items
// or kids of its own and shares the names.
func (o *owner) writable(n *node) *node {
	if o != nil && n.owner == o {
		return n
	}
	c := *n
	c.owner = o
	c.vals = slices.Clone(n.vals)
	c.kids = slices.Clone(n.kids)
	return &c
}

// extent is what the sums of the nodes above count of an item.
type extent struct {
	size  int
	depth int32
}

// extent must be taken of an item before anything below it is changed in place.
func (v Value) extent() extent { return extent{v.Size(), int32(v.Depth())} }

// replace puts v at the place at, which holds an item that had the extent was.
func (o *owner) replace(n *node, at []uint8, v Value, was extent) *node {
	n = o.writable(n)
	i := at[0]
	if n.height == 0 {
		n.vals[i] = v
		n.resize(was, v.extent())
		return n
	}
	kidWas := extent{n.kids[i].size, n.kids[i].depth}
	kid := o.replace(n.kids[i], at[1:], v, was)
	n.kids[i] = kid
	n.resize(kidWas, extent{kid.size, kid.depth})
	return n
}

// resize accounts for one item or kid that had one extent and has another now.
func (n *node) resize(was, is extent) {
	n.size += is.size - was.size
	switch {
	case is.depth >= n.depth:
		n.depth = is.depth
	case was.depth == n.depth:
		n.depth = n.deepest()
	}
}

// insert puts an item before the place at. A node that overflows comes back as two.
func (o *owner) insert(n *node, at []uint8, key string, v Value) (left, right *node) {
	i := int(at[0])
	n = o.shell(n)
	if n.height == 0 {
		n.vals = inserted(n.vals, i, v)
		if n.keys != nil {
			n.keys = inserted(n.keys, i, key)
			n.size += nameSize(key)
		}
		n.count++
		n.size += v.Size()
		n.depth = max(n.depth, int32(v.Depth()))
		return o.split(n, i)
	}
	was := *n.kids[i]
	l, r := o.insert(n.kids[i], at[1:], key, v)
	n.kids = slices.Clone(n.kids)
	n.kids[i] = l
	n.rename(i)
	n.count++
	n.size += l.size - was.size
	n.depth = max(n.depth, l.depth)
	if r == nil {
		return n, nil
	}
	n.size += r.size
	n.depth = max(n.depth, r.depth)
	n.kids = inserted(n.kids, i+1, r)
	if n.keys != nil {
		n.keys = inserted(n.keys, i+1, r.keys[0])
	}
	return o.split(n, i+1)
}

// shell returns a node that o may fill with other slices: n itself or a shallow copy.
func (o *owner) shell(n *node) *node {
	if o != nil && n.owner == o {
		return n
	}
	c := *n
	c.owner = o
	return &c
}

// rename gives kid i its first name in the branch.
func (n *node) rename(i int) {
	if n.keys == nil || n.keys[i] == n.kids[i].keys[0] {
		return
	}
	n.keys = slices.Clone(n.keys)
	n.keys[i] = n.kids[i].keys[0]
}

// inserted is s with x at i, in a slice of its own.
func inserted[E any](s []E, i int, x E) []E {
	out := make([]E, len(s)+1)
	copy(out, s[:i])
	out[i] = x
	copy(out[i+1:], s[i:])
	return out
}

// split halves a node that overflows. When the newcomer is last, as in a list
// that is appended to, the left node stays full instead.
func (o *owner) split(n *node, newcomer int) (left, right *node) {
	w := n.width()
	if w <= fanout {
		return n, nil
	}
	cut := w / 2
	if newcomer == w-1 {
		cut = w - 1
	}
	return o.slice(n, 0, cut), o.slice(n, cut, w)
}

// slice is a node with the items or kids lo to hi of n.
func (o *owner) slice(n *node, lo, hi int) *node {
	c := &node{owner: o, height: n.height}
	if n.keys != nil {
		c.keys = slices.Clone(n.keys[lo:hi])
	}
	if n.height == 0 {
		c.vals = slices.Clone(n.vals[lo:hi])
	} else {
		c.kids = slices.Clone(n.kids[lo:hi])
	}
	c.measure()
	return c
}

// remove takes the item at the place at away; nil when nothing is left.
func (o *owner) remove(n *node, at []uint8) *node {
	if n.count == 1 {
		return nil
	}
	i := int(at[0])
	n = o.shell(n)
	if n.height == 0 {
		n.vals = removed(n.vals, i)
		n.keys = removed(n.keys, i)
		n.measure()
		return n
	}
	kid := o.remove(n.kids[i], at[1:])
	if kid == nil {
		n.kids = removed(n.kids, i)
		n.keys = removed(n.keys, i)
	} else {
		n.kids = slices.Clone(n.kids)
		n.kids[i] = kid
		n.rename(i)
		o.join(n, i)
	}
	n.measure()
	return n
}

// removed is s without element i, in a slice of its own; nil stays nil.
func removed[E any](s []E, i int) []E {
	if s == nil {
		return nil
	}
	out := make([]E, len(s)-1)
	copy(out, s[:i])
	copy(out[i:], s[i+1:])
	return out
}

// join puts kid i of n together with a neighbour if it has become small: into
// one node if they fit, into two of equal width otherwise. The slices of n are
// its own; its sums are left to the caller.
func (o *owner) join(n *node, i int) {
	if n.kids[i].width() >= minFill || len(n.kids) == 1 {
		return
	}
	if i == len(n.kids)-1 {
		i--
	}
	both := o.concat(n.kids[i], n.kids[i+1])
	var parts []*node
	if w := both.width(); w > fanout {
		parts = []*node{o.slice(both, 0, w/2), o.slice(both, w/2, w)}
	} else {
		both.measure()
		parts = []*node{both}
	}
	kids := slices.Concat(n.kids[:i], parts, n.kids[i+2:])
	n.kids = kids
	if n.keys == nil {
		return
	}
	n.keys = make([]string, len(kids))
	for k, kid := range kids {
		n.keys[k] = kid.keys[0]
	}
}

// concat is one node, perhaps too wide, with the contents of two.
func (o *owner) concat(a, b *node) *node {
	c := &node{owner: o, height: a.height}
	if a.keys != nil {
		c.keys = slices.Concat(a.keys, b.keys)
	}
	if a.height == 0 {
		c.vals = slices.Concat(a.vals, b.vals)
	} else {
		c.kids = slices.Concat(a.kids, b.kids)
	}
	return c
}
