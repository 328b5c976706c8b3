package schema

import (
	"strconv"

	"github.com/shoalworks/shoal/doc"
)

// touch says what edits have touched of a value: nothing below a name that is not listed.
// Positions are those after all edits.
type touch struct {
	whole  bool // everything here is new, or gone
	shifts bool // a splice went over this list
	kids   []touchedKid
	index  map[string]int // of kids, when they are many
}

type touchedKid struct {
	name string
	touch
}

// touched collects the places of edits, which are right in what the edits before them made.
func touched(edits []doc.Edit) touch {
	var root touch
	for i := range edits {
		root.add(&edits[i])
	}
	return root
}

func (t *touch) add(e *doc.Edit) {
	for _, name := range e.Path.Segments() {
		if t.whole {
			return
		}
		t = t.kid(name)
	}
	switch {
	case t.whole:
	case e.Kind == doc.EditSplice:
		t.splice(e.Index, e.Remove, e.Value.Len())
	default:
		*t = touch{whole: true}
	}
}

// manyKids is from how many kids on they get an index.
const manyKids = 16

// kid is what is touched below a name; it is added if there is nothing yet.
func (t *touch) kid(name string) *touch {
	if n := len(t.kids); n > 0 && t.kids[n-1].name == name { // Differences come in order.
		return &t.kids[n-1].touch
	}
	if i := t.find(name); i >= 0 {
		return &t.kids[i].touch
	}
	t.kids = append(t.kids, touchedKid{name: name})
	last := len(t.kids) - 1
	if t.index != nil {
		t.index[name] = last
	} else if last >= manyKids {
		t.reindex()
	}
	return &t.kids[last].touch
}

func (t *touch) find(name string) int {
	if t.index != nil {
		if i, ok := t.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range t.kids {
		if t.kids[i].name == name {
			return i
		}
	}
	return -1
}

func (t *touch) reindex() {
	t.index = nil
	if len(t.kids) <= manyKids {
		return
	}
	t.index = make(map[string]int, len(t.kids))
	for i := range t.kids {
		t.index[t.kids[i].name] = i
	}
}

// splice forgets the items that were taken out, moves those behind them, and marks the new ones.
func (t *touch) splice(at, removed, inserted int) {
	t.shifts = true
	kept := t.kids[:0]
	for _, k := range t.kids {
		pos, err := strconv.Atoi(k.name)
		switch {
		case err != nil || pos >= at && pos < at+removed:
			continue
		case pos >= at:
			k.name = strconv.Itoa(pos - removed + inserted)
		}
		kept = append(kept, k)
	}
	t.kids = kept
	for i := range inserted {
		t.kids = append(t.kids, touchedKid{strconv.Itoa(at + i), touch{whole: true}})
	}
	t.reindex()
}
