package doc

// cursor walks the items of a tree, forwards or backwards, and can step over
// whole subtrees. It stands before an item or before a subtree not yet entered.
type cursor struct {
	steps [maxHeight + 1]step
	top   int // steps in use; 0 when the walk is over
	back  bool
	pos   int // items passed
}

type step struct {
	n *node
	i int // the item or kid the cursor stands before
}

// start stands before the first item below n, or the last one when walking back.
func (c *cursor) start(n *node) {
	c.top, c.pos = 0, 0
	if n != nil {
		c.push(n)
	}
}

func (c *cursor) push(n *node) {
	i := 0
	if c.back {
		i = n.width() - 1
	}
	c.steps[c.top] = step{n, i}
	c.top++
}

func (c *cursor) done() bool { return c.top == 0 }

// subtree is the subtree ahead, nil if an item is.
func (c *cursor) subtree() *node {
	s := &c.steps[c.top-1]
	if s.n.height == 0 {
		return nil
	}
	return s.n.kids[s.i]
}

// val is the item ahead.
func (c *cursor) val() Value {
	s := &c.steps[c.top-1]
	return s.n.vals[s.i]
}

// key is the name of the item ahead; the tree is an object's.
func (c *cursor) key() string {
	s := &c.steps[c.top-1]
	return s.n.keys[s.i]
}

// enter goes into the subtree ahead.
func (c *cursor) enter() { c.push(c.subtree()) }

// skip passes what is ahead, item or subtree.
func (c *cursor) skip() {
	if n := c.subtree(); n != nil {
		c.pos += n.count
	} else {
		c.pos++
	}
	for c.top > 0 {
		s := &c.steps[c.top-1]
		if c.back {
			s.i--
		} else {
			s.i++
		}
		if s.i >= 0 && s.i < s.n.width() {
			return
		}
		c.top--
	}
}

// descend enters subtrees until an item is ahead.
func (c *cursor) descend() {
	for c.subtree() != nil {
		c.enter()
	}
}

// meet moves two cursors over what both trees share until each stands before an
// item, and reports whether it came to that. Otherwise at least one is done, and
// the rest of the other is what only that tree has.
func meet(a, b *cursor) bool {
	for !a.done() && !b.done() {
		x, y := a.subtree(), b.subtree()
		switch {
		case x == nil && y == nil:
			return true
		case x == y:
			a.skip()
			b.skip()
		case y == nil || x != nil && x.height > y.height:
			a.enter()
		case x == nil || y.height > x.height:
			b.enter()
		default:
			a.enter()
			b.enter()
		}
	}
	return false
}
