package codec

import (
	"fmt"
	"reflect"

	"github.com/shoalworks/shoal/doc"
)

// sequence is the plan of a slice or an array.
type sequence struct {
	typ   reflect.Type
	elem  *plan
	fixed bool // an array
}

func (b *builder) slice(t reflect.Type) *plan {
	s := &sequence{typ: t, elem: b.in("[]", t.Elem())}
	return &plan{decode: s.decode, graft: s.graft, child: s.child, clone: func(copied reflect.Value) {
		if copied.IsNil() {
			return
		}
		fresh := reflect.MakeSlice(t, copied.Len(), copied.Len())
		reflect.Copy(fresh, copied)
		copied.Set(fresh)
		s.cloneItems(copied)
	}}
}

func (b *builder) array(t reflect.Type) *plan {
	s := &sequence{typ: t, elem: b.in("[]", t.Elem()), fixed: true}
	p := &plan{decode: s.decode, graft: s.graft, child: s.child}
	if hasReferences(t) {
		p.clone = s.cloneItems
	}
	return p
}

// child is the plan of every item.
func (s *sequence) child(string) (*plan, bool) { return s.elem, true }

func (s *sequence) cloneItems(copied reflect.Value) {
	if s.elem.clone == nil {
		return
	}
	for i := range copied.Len() {
		s.elem.clone(copied.Index(i))
	}
}

func (s *sequence) decode(d *decoder, v doc.Value, out reflect.Value) {
	if v.Kind() != doc.KindList {
		if !v.IsNull() {
			d.wants("a list", v)
		}
		return
	}
	switch {
	case !s.fixed:
		out.Set(reflect.MakeSlice(s.typ, v.Len(), v.Len()))
	case v.Len() != out.Len():
		d.note(fmt.Errorf("%w: %d items expected, got %d", doc.ErrWrongType, out.Len(), v.Len()), true)
		return
	}
	for i, item := range v.Items() {
		d.enterItem(i)
		s.elem.decode(d, item, out.Index(i))
		d.leave()
	}
}

func (s *sequence) graft(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
	if kept(before, has, s.isZero(in)) {
		return before, true
	}
	if e.tooDeep() {
		return before, false
	}
	if !has || before.Kind() != doc.KindList {
		return s.encode(e, in), false
	}
	head, tail := s.ends(e, before, in)
	m, n := before.Len(), in.Len()
	if m == n && head == n {
		return before, true
	}
	if e.probe {
		return before, false
	}
	g := grafting{s: s, e: e, before: before, in: in}
	g.between(head, m-tail, head, n-tail)
	return e.edited(before, g.edits(head, m-tail))
}

func (s *sequence) isZero(in reflect.Value) bool {
	if s.fixed {
		return in.IsZero()
	}
	return in.Len() == 0
}

func (s *sequence) encode(e *encoder, in reflect.Value) doc.Value {
	if e.probe {
		return doc.Value{}
	}
	items := make([]doc.Value, in.Len())
	for i := range items {
		e.enterItem(i)
		items[i], _ = s.elem.graft(e, doc.Value{}, false, in.Index(i))
		e.leave()
	}
	return doc.List(items...)
}

// unchanged reports whether an item still means what is stored.
func (s *sequence) unchanged(e *encoder, was doc.Value, item reflect.Value) bool {
	probing, errs := e.probe, len(e.errs)
	e.probe = true
	_, same := s.elem.graft(e, was, true, item)
	e.probe, e.errs = probing, e.errs[:errs] // What is wrong with the item is said when it is made.
	return same
}

// ends is how many items have not changed at the beginning and, of the others, at the end.
func (s *sequence) ends(e *encoder, before doc.Value, in reflect.Value) (head, tail int) {
	m, n := before.Len(), in.Len()
	for i, was := range before.Items() {
		if i == n || !s.unchanged(e, was, in.Index(i)) {
			break
		}
		head++
	}
	for tail < min(m, n)-head && s.unchanged(e, before.Index(m-1-tail), in.Index(n-1-tail)) {
		tail++
	}
	return head, tail
}
