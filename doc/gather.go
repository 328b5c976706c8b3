package doc

import "strconv"

// Effects returns the present content of every place touched; now is the last
// state that was given to [Trail.Add].
func (t *Trail) Effects(now Value) Effects {
	var e Effects
	t.EffectsInto(&e, now)
	return e
}

// EffectsInto is [Trail.Effects] in the memory of other effects: those, their copies, and what
// was taken from them (paths included) are not to be used any more. It is for those who encode
// effects, and then make the next.
func (t *Trail) EffectsInto(e *Effects, now Value) {
	clear(e.list)
	e.list, e.segs = e.list[:0], e.segs[:0]
	g := gatherer{into: e, path: e.way[:0]}
	g.gather(&t.root, now, true)
	e.way = g.path
}

// gatherer makes effects of marks; path is where it stands.
type gatherer struct {
	into *Effects
	path []segment
}

// add adds an effect at the present place. Paths are cut from one long slice.
func (g *gatherer) add(x Effect) {
	e, n := g.into, len(g.path)
	if cap(e.segs)-len(e.segs) < n {
		const least = 32
		e.segs = make([]segment, 0, max(2*cap(e.segs), n, least)) // earlier paths keep theirs
	}
	from := len(e.segs)
	e.segs = append(e.segs, g.path...)
	x.Path = Path{e.segs[from : from+n : from+n]}
	e.list = append(e.list, x)
}

// gather adds what is now at the marked places. found is false where nothing is.
func (g *gatherer) gather(m *mark, now Value, found bool) {
	switch {
	case m != nil && m.empty():
	case !found:
		g.add(Effect{Kind: EffectUnset})
	case m == nil || m.whole || !m.fits(now):
		g.add(Effect{Kind: EffectSet, Value: now})
	default:
		g.below(m, now)
	}
}

// fits tells that now is of the kind whose parts were marked.
func (m *mark) fits(now Value) bool {
	if m.isList() {
		return now.kind == KindList && (!m.cut || m.tail <= now.Len())
	}
	return len(m.names) == 0 || now.kind == KindObject
}

// below adds what is at the marked parts of a value.
func (g *gatherer) below(m *mark, now Value) {
	here := len(g.path)
	for i := range m.names {
		k := &m.names[i]
		val, ok := now.Member(k.at)
		g.path = append(g.path[:here], segmentOf(k.at))
		g.gather(k.mark, val, ok)
	}
	for i := range m.items {
		k := &m.items[i]
		if k.at >= now.Len() {
			break
		}
		g.path = append(g.path[:here], segmentOf(strconv.Itoa(k.at)))
		g.gather(k.mark, now.Index(k.at), true)
	}
	g.path = g.path[:here]
	if m.cut {
		rest := List(appendItems(nil, now, m.tail, now.Len())...)
		g.add(Effect{Kind: EffectTail, From: m.tail, Value: rest})
	}
}
