package profile

import (
	"slices"

	"github.com/shoalworks/shoal/doc"
)

// This file holds the rules of taking commits back: pure, without I/O, clock or chance.

// past is a commit that can be taken back.
type past struct {
	commit Commit     // without its data
	back   []doc.Edit // from the data after to the data before
	size   int        // bytes that it is counted for
}

// pastOf is a commit as the history keeps it, with edits of its own. It holds on to what was
// changed, not to the documents before and after.
func pastOf(before doc.Value, c Commit) past {
	own := make([]doc.Edit, len(c.Edits), 2*len(c.Edits))
	copy(own, c.Edits)
	p := past{back: reversed(before, own), size: pastRoom}
	if p.back == nil {
		p.back = doc.Diff(c.Data, before)
	}
	c.Data, c.Edits = doc.Value{}, own[:len(c.Edits):len(c.Edits)]
	p.commit = c
	for i := range c.Edits {
		p.size += placeRoom + c.Edits[i].Value.Size()
	}
	for i := range p.back {
		p.size += placeRoom + p.back[i].Value.Size()
	}
	p.size += len(c.ID) + len(c.Claim) + len(c.Source.Actor) + len(c.Source.Note) + len(c.Source.ID)
	return p
}

// reversed takes back what only sets and unsets: then no position has moved, and a place says
// what was there. It is appended behind the edits; nil when it is not so simple.
func reversed(before doc.Value, edits []doc.Edit) []doc.Edit {
	for i := range edits {
		if edits[i].Kind == doc.EditSplice {
			return nil
		}
	}
	out := edits[len(edits):]
	for i := len(edits) - 1; i >= 0; i-- {
		e := doc.Edit{Kind: doc.EditUnset, Path: edits[i].Path}
		if old, ok := before.Get(e.Path); ok {
			e.Kind, e.Value = doc.EditSet, old
		}
		out = append(out, e)
	}
	return out
}

const (
	pastRoom  = 256 // about what a commit takes without its edits
	placeRoom = 128 // about what an edit takes without its value
)

// stateBefore is the data before the oldest of a run of commits of which now is the end.
func stateBefore(now doc.Value, run []past) (doc.Value, error) {
	for _, p := range slices.Backward(run) {
		v, err := doc.ApplyEdits(now, p.back)
		if err != nil {
			return doc.Value{}, err
		}
		now = v
	}
	return now, nil
}

// undone are the operations that take one commit back, of which after is the data right after
// it. Where the commit has touched something that has changed since, it is refused: conflicts
// are the places. A list counts as one place, since what has moved in it cannot be told from
// what has changed. Derived fields are left to themselves.
func undone(p past, after, now doc.Value, derived []Derived) (ops []doc.Op, conflicts []doc.Path, err error) {
	before, err := doc.ApplyEdits(after, p.back)
	if err != nil {
		return nil, nil, err
	}
	places := writable(touched(p.commit.Edits, before, after), derived)
	for _, at := range places {
		if changedAt(at, after, now) {
			conflicts = append(conflicts, at)
		}
	}
	if len(conflicts) > 0 {
		return nil, conflicts, nil
	}
	return assigned(places, before), nil, nil
}

// turned are the operations that make one document of another, derived fields left out.
func turned(now, to doc.Value, derived []Derived) []doc.Op {
	return assigned(writable(touched(doc.Diff(now, to), now, to), derived), to)
}

// writable are the places that an operation may write: not those in derived fields, which are
// computed anew.
func writable(places []doc.Path, derived []Derived) []doc.Path {
	return slices.DeleteFunc(places, func(at doc.Path) bool {
		return slices.ContainsFunc(derived, func(d Derived) bool { return at.HasPrefix(d.Path) })
	})
}

// changedAt tells that a place, or what it lies in, is not what it was.
func changedAt(at doc.Path, then, now doc.Value) bool {
	if !at.IsRoot() {
		had, there := then.Get(at.Parent())
		has, still := now.Get(at.Parent())
		if there != still || had.Kind() != has.Kind() {
			return true
		}
	}
	had, there := then.Get(at)
	has, still := now.Get(at)
	return there != still || !had.Equal(has)
}

// touched are the places of the edits from one document to another, none inside another. What
// lies in a list stands for the list.
func touched(edits []doc.Edit, before, after doc.Value) []doc.Path {
	all := make([]doc.Path, len(edits))
	for i, e := range edits {
		all[i] = outside(e.Path, before, after)
	}
	slices.SortFunc(all, doc.Path.Compare)
	var out []doc.Path
	for _, at := range all {
		if len(out) == 0 || !at.HasPrefix(out[len(out)-1]) {
			out = append(out, at)
		}
	}
	return out
}

// outside is the outermost list on the way to a place, in one of the documents, or the place.
func outside(at doc.Path, docs ...doc.Value) doc.Path {
	segments := at.Segments()
	for _, v := range docs {
		for i, name := range segments {
			if v.Kind() == doc.KindList {
				segments = segments[:i]
				break
			}
			v, _ = v.Member(name)
		}
	}
	if len(segments) == at.Len() {
		return at
	}
	return doc.P(segments...)
}

// assigned are the operations that bring places to what a document has there.
func assigned(places []doc.Path, from doc.Value) []doc.Op {
	ops := make([]doc.Op, 0, len(places))
	for _, at := range places {
		if v, ok := from.Get(at); ok {
			ops = append(ops, doc.Set(at, v))
		} else {
			ops = append(ops, doc.Unset(at))
		}
	}
	return ops
}
