package doc

import (
	"slices"
	"strconv"
)

// Diff returns what turns a into b, in the order of application. Parts that both
// share are not looked at, so the difference between two revisions of a document
// costs what changed between them, not its size.
//
// Objects are compared by name and lists are aligned, so that taking one item out
// of fifty is one edit. Lists that differ in more than about a hundred places are
// compared position by position instead; the edits are right then too, only more.
// Where lists are nested in lists, what differs is read once for each level.
// Equal values have no edits.
func Diff(a, b Value) []Edit {
	var d differ
	d.compare(a, b)
	return d.edits
}

// differ collects edits while it walks two values; path is where it stands.
type differ struct {
	path  []segment
	edits []Edit
}

func (d *differ) compare(a, b Value) {
	switch {
	case a.same(b):
	case a.kind == KindObject && b.kind == KindObject:
		d.objects(a, b)
	case a.kind == KindList && b.kind == KindList:
		d.lists(a, b)
	default:
		d.emit(Edit{Kind: EditSet, Value: b})
	}
}

// emit adds an edit at the present path.
func (d *differ) emit(e Edit) {
	e.Path = Path{slices.Clone(d.path)}
	d.edits = append(d.edits, e)
}

// in does something one segment further down.
func (d *differ) in(s segment, do func()) {
	d.path = append(d.path, s)
	do()
	d.path = d.path[:len(d.path)-1]
}

func (d *differ) objects(a, b Value) {
	walkMembers(a, b, func(name string, x, y Value, in side) {
		d.in(segmentOf(name), func() {
			switch in {
			case onlyLeft:
				d.emit(Edit{Kind: EditUnset})
			case onlyRight:
				d.emit(Edit{Kind: EditSet, Value: y})
			case inBoth:
				d.compare(x, y)
			}
		})
	})
}

// side says which of two objects has a member.
type side uint8

const (
	inBoth side = iota
	onlyLeft
	onlyRight
)

// walkMembers visits the members of two objects in order of their names, except
// those that are the same at a glance.
func walkMembers(a, b Value, visit func(name string, x, y Value, in side)) {
	if v, w := a.root(), b.root(); v.flat() && w.flat() {
		walkLeaves(v, w, visit)
		return
	}
	var x, y cursor
	x.start(a.root())
	y.start(b.root())
	for meet(&x, &y) {
		switch c := compareNames(x.key(), y.key()); {
		case c < 0:
			visit(x.key(), x.val(), Value{}, onlyLeft)
			x.skip()
		case c > 0:
			visit(y.key(), Value{}, y.val(), onlyRight)
			y.skip()
		default:
			if v, w := x.val(), y.val(); !v.same(w) {
				visit(x.key(), v, w, inBoth)
			}
			x.skip()
			y.skip()
		}
	}
	for ; !x.done(); x.skip() {
		x.descend()
		visit(x.key(), x.val(), Value{}, onlyLeft)
	}
	for ; !y.done(); y.skip() {
		y.descend()
		visit(y.key(), Value{}, y.val(), onlyRight)
	}
}

// walkLeaves is walkMembers of two leaves, of which nil is an empty one.
func walkLeaves(x, y *node, visit func(name string, x, y Value, in side)) {
	i, j, one := 0, 0, sameNames(x, y)
	for i < x.width() && j < y.width() {
		c := 0
		if !one {
			c = compareNames(x.keys[i], y.keys[j])
		}
		switch {
		case c < 0:
			visit(x.keys[i], x.vals[i], Value{}, onlyLeft)
			i++
		case c > 0:
			visit(y.keys[j], Value{}, y.vals[j], onlyRight)
			j++
		default:
			if !x.vals[i].same(y.vals[j]) {
				visit(x.keys[i], x.vals[i], y.vals[j], inBoth)
			}
			i++
			j++
		}
	}
	for ; i < x.width(); i++ {
		visit(x.keys[i], x.vals[i], Value{}, onlyLeft)
	}
	for ; j < y.width(); j++ {
		visit(y.keys[j], Value{}, y.vals[j], onlyRight)
	}
}

// sameNames tells that two leaves share their names, as they do when only values were replaced.
func sameNames(x, y *node) bool {
	return x != nil && y != nil && len(x.keys) == len(y.keys) && &x.keys[0] == &y.keys[0]
}

// commonEnd is how many items two lists have in common at their beginning, or at
// their end when looking back.
func commonEnd(a, b Value, back bool) int {
	x, y := cursor{back: back}, cursor{back: back}
	x.start(a.root())
	y.start(b.root())
	for meet(&x, &y) && x.val().Equal(y.val()) {
		x.skip()
		y.skip()
	}
	return x.pos
}

// run is a stretch of two lists that do not match: items a to b of the left one
// against items c to d of the right one.
type run struct{ a, b, c, d int }

func (d *differ) lists(a, b Value) {
	la, lb := a.Len(), b.Len()
	head := commonEnd(a, b, false)
	if head == la && head == lb {
		return
	}
	tail := min(commonEnd(a, b, true), min(la, lb)-head)
	left := appendItems(nil, a, head, la-tail)
	right := appendItems(nil, b, head, lb-tail)
	runs := align(left, right)
	// From the end, so that the positions of what is still to come stay right.
	for _, r := range slices.Backward(runs) {
		d.replaceRun(head, left[r.a:r.b], right[r.c:r.d], r.a)
	}
}

// replaceRun turns the items old, which begin at position head+at, into the items
// now. Items that stand against each other are compared, the rest is spliced.
func (d *differ) replaceRun(head int, old, now []Value, at int) {
	start := head + at
	common := min(len(old), len(now))
	if len(old) != len(now) {
		d.emit(Edit{
			Kind:   EditSplice,
			Index:  start + common,
			Remove: len(old) - common,
			Value:  List(now[common:]...),
		})
	}
	for i := range common {
		d.in(segmentOf(strconv.Itoa(start+i)), func() { d.item(old[i], now[i]) })
	}
}

// item compares two items that stand against each other. They may have nothing
// to do with each other, so if several edits would be longer than the new item,
// it is set as a whole.
func (d *differ) item(old, now Value) {
	before := len(d.edits)
	d.compare(old, now)
	if len(d.edits)-before < 2 {
		return
	}
	size := 0
	for _, e := range d.edits[before:] {
		size += e.Value.Size() + len(`{"edit":"","path":""}`)
		for _, s := range e.Path.segs[len(d.path):] {
			size += len(s.name) + 1
		}
	}
	if size > now.Size() {
		d.edits = d.edits[:before]
		d.emit(Edit{Kind: EditSet, Value: now})
	}
}
