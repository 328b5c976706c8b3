package doc

// Equal reports whether v and w are the same value, which is when their
// canonical encodings are the same bytes: 1 and 1.0 differ, and so do 0.0 and
// -0.0. Parts that both share are not looked at.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindNull:
		return true
	case KindBool, KindInt, KindFloat:
		return v.bits == w.bits
	case KindString:
		return v.bits == w.bits && v.str() == w.str()
	case KindList, KindObject:
		return equalTrees(v.root(), w.root())
	default:
		return false
	}
}

func equalTrees(a, b *node) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.count != b.count || a.size != b.size || a.depth != b.depth {
		return false
	}
	named := leftmost(a).keys != nil
	var x, y cursor
	x.start(a)
	y.start(b)
	for meet(&x, &y) {
		if named && x.key() != y.key() || !x.val().Equal(y.val()) {
			return false
		}
		x.skip()
		y.skip()
	}
	return true
}

func leftmost(n *node) *node {
	for n.height > 0 {
		n = n.kids[0]
	}
	return n
}

// same reports whether v and w are equal at a glance: scalars, or trees that are
// one and the same. It never looks into a tree.
func (v Value) same(w Value) bool {
	switch {
	case v.kind != w.kind || v.bits != w.bits:
		return false
	case v.ref == w.ref: // a tree, or a text; nothing has neither
		return true
	}
	return v.kind == KindString && v.str() == w.str()
}
