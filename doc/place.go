package doc

// place is the way from a root to an item: which kid at each branch, and which
// item in the leaf.
type place struct{ at [maxHeight]uint8 }

// find returns the member called key.
func (n *node) find(key string) (Value, bool) {
	if n == nil {
		return Value{}, false
	}
	for n.height > 0 {
		n = n.kids[n.kidFor(key)]
	}
	i, ok := search(n.keys, key)
	if !ok {
		return Value{}, false
	}
	return n.vals[i], true
}

// seekKey sets p to the member called key, or to where it belongs.
func (n *node) seekKey(key string, p *place) bool {
	level := 0
	for ; n.height > 0; level++ {
		i := n.kidFor(key)
		p.at[level] = uint8(i)
		n = n.kids[i]
	}
	i, ok := search(n.keys, key)
	p.at[level] = uint8(i)
	return ok
}

// seekMember is seekKey that also returns what is there.
func (n *node) seekMember(key string, p *place) (Value, bool) {
	if !n.seekKey(key, p) {
		return Value{}, false
	}
	level := 0
	for ; n.height > 0; level++ {
		n = n.kids[p.at[level]]
	}
	return n.vals[p.at[level]], true
}

// kidFor is the kid of a branch in whose range key lies.
func (n *node) kidFor(key string) int {
	i, ok := search(n.keys, key)
	if !ok && i > 0 {
		i--
	}
	return i
}

// search finds key in sorted keys, or where it would be.
func search(keys []string, key string) (int, bool) {
	lo, hi := 0, len(keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if keys[mid] < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(keys) && keys[lo] == key
}

// index returns the item at position i, which exists.
func (n *node) index(i int) Value {
	for n.height > 0 {
		for _, kid := range n.kids {
			if i < kid.count {
				n = kid
				break
			}
			i -= kid.count
		}
	}
	return n.vals[i]
}

// seekIndex sets p to position i, 0 ≤ i ≤ count; count is the end of the last leaf.
func (n *node) seekIndex(i int, p *place) {
	level := 0
	for ; n.height > 0; level++ {
		k := 0
		for k < len(n.kids)-1 && i >= n.kids[k].count {
			i -= n.kids[k].count
			k++
		}
		p.at[level] = uint8(k)
		n = n.kids[k]
	}
	p.at[level] = uint8(i)
}
