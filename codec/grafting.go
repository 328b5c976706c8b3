package codec

import (
	"reflect"

	"github.com/shoalworks/shoal/doc"
)

// farAhead is how far an item that has not changed is looked for among the stored ones.
const farAhead = 32

// grafting puts the items of a sequence onto a stored list.
type grafting struct {
	s      *sequence
	e      *encoder
	before doc.Value
	in     reflect.Value
	items  []doc.Value // what the items from the first changed one on become
	moved  bool        // some item does not stand against the one that was there
	at     []int       // of items, those that changed in their place
}

// between handles the stored items lo to hi and the present ones from to to.
func (g *grafting) between(lo, hi, from, to int) {
	start := from                                                // of the present items that have no stored one yet
	for j := from; j < to && !g.s.elem.leaf && !g.s.fixed; j++ { // An array has places, not items that move.
		i, ok := g.find(lo, min(hi, lo+farAhead), j)
		if !ok {
			continue
		}
		g.run(lo, i, start, j)
		g.items = append(g.items, g.before.Index(i))
		lo, start = i+1, j+1
	}
	g.run(lo, hi, start, to)
}

// find looks for the stored item that item j still is.
func (g *grafting) find(lo, hi, j int) (int, bool) {
	for i := lo; i < hi; i++ {
		if g.s.unchanged(g.e, g.before.Index(i), g.in.Index(j)) {
			return i, true
		}
	}
	return 0, false
}

// run handles items that have all changed: as many as before take the places of those, others
// are new.
func (g *grafting) run(lo, hi, from, to int) {
	paired := hi-lo == to-from
	if !paired {
		g.moved = true
	}
	for j := from; j < to; j++ {
		var was doc.Value
		if paired {
			was = g.before.Index(lo + j - from)
			g.at = append(g.at, len(g.items))
		}
		g.e.enterItem(j)
		v, _ := g.s.elem.graft(g.e, was, paired, g.in.Index(j))
		g.e.leave()
		g.items = append(g.items, v)
	}
}

// edits turn the stored items lo to hi into what the present ones became.
func (g *grafting) edits(lo, hi int) []doc.Edit {
	if g.moved {
		return []doc.Edit{{Kind: doc.EditSplice, Index: lo, Remove: hi - lo, Value: doc.List(g.items...)}}
	}
	edits := make([]doc.Edit, 0, len(g.at))
	for _, k := range g.at {
		edits = append(edits, doc.Edit{Kind: doc.EditSet, Path: doc.Path{}.AppendIndex(lo + k), Value: g.items[k]})
	}
	return edits
}
