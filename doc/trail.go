package doc

import "slices"

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
	if t.root.whole {
		return
	}
	if touched := touch(prev, now); touched != nil {
		t.absorb(touched)
	}
}

// Join notes everything that another trail, of the same history, has collected.
func (t *Trail) Join(other *Trail) { t.absorb(&other.root) }

func (t *Trail) absorb(m *mark) {
	t.marks += t.root.absorb(m)
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
	list := len(d.items) > 0 || d.cut
	wasList := len(m.items) > 0 || m.cut
	switch {
	case m.whole || d.empty():
		return 0
	case d.whole, list && len(m.names) > 0, wasList && len(d.names) > 0:
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

// touch returns what differs between two values, nil if nothing does.
func touch(a, b Value) *mark {
	switch {
	case a.same(b):
		return nil
	case a.kind == KindObject && b.kind == KindObject:
		return touchObjects(a, b)
	case a.kind == KindList && b.kind == KindList:
		return touchLists(a, b)
	default:
		return &mark{whole: true}
	}
}

func touchObjects(a, b Value) *mark {
	var m *mark
	walkMembers(a, b, func(name string, x, y Value, in both) {
		kid := &mark{whole: true}
		if in == inBoth {
			kid = touch(x, y)
		}
		if kid == nil {
			return
		}
		if m == nil {
			m = &mark{names: make(map[string]*mark)}
		}
		m.names[name] = kid
	})
	return m
}

// touchLists marks the items that differ, and from where on the lengths do. If
// more than half of what could differ does, as after an item was taken out, all
// from the first difference on is marked.
func touchLists(a, b Value) *mark {
	la, lb := a.Len(), b.Len()
	common := min(la, lb)
	first, most := commonEnd(a, b, false), 0
	if first == la && first == lb {
		return nil
	}
	most = max(1, (max(la, lb)-first)/2)
	m := &mark{}
	if la != lb {
		m.cutAt(common)
	}
	differ, few := differingItems(a, b, first, most)
	if !few {
		return &mark{cut: true, tail: first}
	}
	for _, i := range differ {
		if m.items == nil {
			m.items = make(map[int]*mark)
		}
		m.items[i] = touch(a.Index(i), b.Index(i))
	}
	return m
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
	if len(m.items) > 0 || m.cut {
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
	for name, kid := range sortedMap(m.names) {
		val, ok := now.Member(name)
		kid.effects(val, ok, append(path, segmentOf(name)), e)
	}
	for i, kid := range sortedMap(m.items) {
		if i < now.Len() {
			kid.effects(now.Index(i), true, append(path, segment{itoa(i), i}), e)
		}
	}
	if m.cut {
		rest := List(appendItems(nil, now, m.tail, now.Len())...)
		e.list = append(e.list, Effect{Kind: EffectTail, Path: at(), From: m.tail, Value: rest})
	}
}
