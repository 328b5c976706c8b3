package doc

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
	whole bool         // all of it; the rest is empty then
	names kids[string] // members of an object
	items kids[int]    // items of a list, all before the tail
	cut   bool         // the list was touched from tail to its end, its length included
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

func (m *mark) empty() bool { return !m.whole && !m.cut && len(m.names) == 0 && len(m.items) == 0 }

// count is how many marks there are; nil is one that says that all was touched.
func (m *mark) count() int {
	if m == nil {
		return 1
	}
	return 1 + m.names.count() + m.items.count()
}

// own is the same mark, in memory of its own; nil stays nil.
func (m *mark) own() *mark {
	if m == nil {
		return nil
	}
	c := *m
	c.names, c.items = m.names.own(), m.items.own()
	return &c
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
	if d.cut {
		m.cutAt(d.tail)
	}
	others := d.items
	if m.cut {
		n, _ := others.find(m.tail)
		others = others[:n]
	}
	var named, listed int
	m.names, named = m.names.absorb(d.names)
	m.items, listed = m.items.absorb(others)
	return named + listed
}

// cutAt marks everything from position i on.
func (m *mark) cutAt(i int) {
	if !m.cut || i < m.tail {
		m.cut, m.tail = true, i
	}
	m.items = m.items.before(m.tail)
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

func (m *mark) touchObject(a, b Value) (created int) {
	var fresh kids[string]
	walkMembers(a, b, func(name string, x, y Value, in side) {
		i, found := m.names.find(name)
		switch {
		case found && in == inBoth:
			created += m.names[i].touch(x, y)
		case found:
			m.names[i].mark = nil
		case in != inBoth:
			fresh = append(fresh, kid[string]{at: name})
			created++
		default:
			if k, n, ok := sprouted(name, x, y); ok {
				fresh = append(fresh, k)
				created += n
			}
		}
	})
	m.names = m.names.with(fresh)
	return created
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
	return m.touchItems(a, b, differ)
}

// touchItems marks what differs at some positions, which are in order, before the tail.
func (m *mark) touchItems(a, b Value, differ []int) (created int) {
	var fresh kids[int]
	for _, at := range differ {
		if m.cut && at >= m.tail {
			break
		}
		if i, found := m.items.find(at); found {
			created += m.items[i].touch(a.Index(at), b.Index(at))
		} else if k, n, ok := sprouted(at, a.Index(at), b.Index(at)); ok {
			fresh = append(fresh, k)
			created += n
		}
	}
	m.items = m.items.with(fresh)
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
