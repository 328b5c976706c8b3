package doc

import (
	"maps"
	"slices"
	"strconv"
)

// Trail collects which places of a document a history touched, so that [Effects]
// can be made of them that are right on every state of that history. The zero
// Trail is empty. A trail is for one goroutine at a time.
//
// A trail keeps at most about eight thousand marks. When more places were touched
// it takes the whole document as touched: the effects are then the document.
type Trail struct {
	root  mark
	marks int // at least as many as there are
}

// maxMarks bounds the memory of a trail.
const maxMarks = 8192

// mark says what was touched at a place and below it.
type mark struct {
	whole bool             // all of it; the rest is empty then
	names map[string]*mark // members of an object
	items map[int]*mark    // items of a list, all before the tail
	cut   bool             // the list was touched from tail to its end, its length included
	tail  int
}

// Add notes what differs between two states that followed each other. It costs
// what changed, as [Diff] does.
func (t *Trail) Add(prev, now Value) {
	t.marks += t.root.touch(prev, now)
	t.bound()
}

// Join notes everything that another trail, of the same history, has collected;
// the other trail stays as it is. While a save is in flight, a journal keeps a
// second trail for what follows its snapshot: both joined are what to journal, and
// when the save is acknowledged the second alone is.
func (t *Trail) Join(other *Trail) {
	t.marks += t.root.absorb(&other.root)
	t.bound()
}

// bound keeps the trail inside its limit.
func (t *Trail) bound() {
	if t.marks <= maxMarks {
		return
	}
	if t.marks = t.root.count(); t.marks > maxMarks {
		t.root, t.marks = mark{whole: true}, 1
	}
}

// Empty reports whether nothing was touched.
func (t *Trail) Empty() bool { return t.root.empty() }

// Reset forgets everything.
func (t *Trail) Reset() { *t = Trail{} }

// Effects returns the present content of every place touched; now is the last
// state that was given to [Trail.Add].
func (t *Trail) Effects(now Value) Effects {
	var e Effects
	t.root.effects(now, true, nil, &e)
	return e
}

func (m *mark) empty() bool { return !m.whole && !m.cut && len(m.names) == 0 && len(m.items) == 0 }

func (m *mark) count() int {
	n := 1
	for _, kid := range m.names {
		n += kid.count()
	}
	for _, kid := range m.items {
		n += kid.count()
	}
	return n
}

// absorb adds the marks of d, and returns how many it created.
func (m *mark) absorb(d *mark) int {
	switch {
	case m.whole || d.empty():
		return 0
	case d.whole, d.isList() && len(m.names) > 0, m.isList() && len(d.names) > 0:
		// A list where an object was has been touched as a whole anyway.
		*m = mark{whole: true}
		return 0
	}
	created := 0
	for name, kid := range d.names {
		if m.names == nil {
			m.names = make(map[string]*mark)
		}
		created += absorbInto(m.names, name, kid)
	}
	if d.cut {
		m.cutAt(d.tail)
	}
	for i, kid := range d.items {
		if m.cut && i >= m.tail {
			continue
		}
		if m.items == nil {
			m.items = make(map[int]*mark)
		}
		created += absorbInto(m.items, i, kid)
	}
	return created
}

func absorbInto[K comparable](kids map[K]*mark, at K, d *mark) int {
	kid, created := kids[at], 0
	if kid == nil {
		kid, created = new(mark), 1
		kids[at] = kid
	}
	return created + kid.absorb(d)
}

// cutAt marks everything from position i on.
func (m *mark) cutAt(i int) {
	if !m.cut || i < m.tail {
		m.cut, m.tail = true, i
	}
	for at := range m.items {
		if at >= m.tail {
			delete(m.items, at)
		}
	}
}

// touch marks what differs between two values, and returns how many marks it
// created. What is marked as a whole already is not looked at.
func (m *mark) touch(a, b Value) int {
	switch {
	case m.whole || a.same(b):
		return 0
	case a.kind == KindObject && b.kind == KindObject && !m.isList():
		return m.touchObject(a, b)
	case a.kind == KindList && b.kind == KindList && len(m.names) == 0:
		return m.touchList(a, b)
	default:
		*m = mark{whole: true}
		return 0
	}
}

func (m *mark) isList() bool { return m.cut || len(m.items) > 0 }

func (m *mark) touchObject(a, b Value) int {
	created := 0
	walkMembers(a, b, func(name string, x, y Value, in side) {
		if in == inBoth {
			created += touchInto(&m.names, name, x, y)
			return
		}
		if m.names == nil {
			m.names = make(map[string]*mark)
		}
		if m.names[name] == nil {
			created++
		}
		m.names[name] = &mark{whole: true}
	})
	return created
}

// touchInto marks what differs at one key, if anything does.
func touchInto[K comparable](kids *map[K]*mark, at K, x, y Value) int {
	if kid := (*kids)[at]; kid != nil {
		return kid.touch(x, y)
	}
	kid := new(mark)
	created := kid.touch(x, y)
	if kid.empty() {
		return 0
	}
	if *kids == nil {
		*kids = make(map[K]*mark)
	}
	(*kids)[at] = kid
	return created + 1
}

// touchList marks the items that differ, and from where on the lengths do. If
// more than half of what could differ does, as after an item was taken out, all
// from the first difference on is marked.
func (m *mark) touchList(a, b Value) int {
	la, lb := a.Len(), b.Len()
	first := commonEnd(a, b, false)
	if first == la && first == lb || m.cut && first >= m.tail {
		return 0
	}
	differ, few := differingItems(a, b, first, max(1, (max(la, lb)-first)/2))
	if !few {
		m.cutAt(first)
		return 0
	}
	if la != lb {
		m.cutAt(min(la, lb))
	}
	created := 0
	for _, i := range differ {
		if !m.cut || i < m.tail {
			created += touchInto(&m.items, i, a.Index(i), b.Index(i))
		}
	}
	return created
}

// differingItems are the positions, in both lists, of items that differ; few is
// false if they are more than most.
func differingItems(a, b Value, first, most int) (differ []int, few bool) {
	var x, y cursor
	x.start(a.root())
	y.start(b.root())
	for meet(&x, &y) {
		if x.pos >= first && !x.val().Equal(y.val()) {
			if differ = append(differ, x.pos); len(differ) > most {
				return nil, false
			}
		}
		x.skip()
		y.skip()
	}
	return differ, true
}

// effects adds what is now at the marked places to e. found is false where
// nothing is.
func (m *mark) effects(now Value, found bool, path []segment, e *Effects) {
	at := func() Path { return Path{slices.Clone(path)} }
	fits := len(m.names) == 0 || now.kind == KindObject
	if m.isList() {
		fits = now.kind == KindList && (!m.cut || m.tail <= now.Len())
	}
	switch {
	case m.empty():
		return
	case !found:
		e.list = append(e.list, Effect{Kind: EffectUnset, Path: at()})
		return
	case m.whole || !fits:
		e.list = append(e.list, Effect{Kind: EffectSet, Path: at(), Value: now})
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		val, ok := now.Member(name)
		m.names[name].effects(val, ok, append(path, segmentOf(name)), e)
	}
	for _, i := range slices.Sorted(maps.Keys(m.items)) {
		if i < now.Len() {
			m.items[i].effects(now.Index(i), true, append(path, segmentOf(strconv.Itoa(i))), e)
		}
	}
	if m.cut {
		rest := List(appendItems(nil, now, m.tail, now.Len())...)
		e.list = append(e.list, Effect{Kind: EffectTail, Path: at(), From: m.tail, Value: rest})
	}
}
