package codec

import (
	"reflect"
	"slices"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/field"
)

// mapping is the plan of a map with string keys.
type mapping struct {
	typ  reflect.Type
	elem *plan
}

func (b *builder) mapping(t reflect.Type) *plan {
	if m := field.Custom(t.Key()); t.Key().Kind() != reflect.String || m != (field.Methods{}) {
		return b.fault("%s: the keys must be plain strings", t)
	}
	m := &mapping{t, b.in("[]", t.Elem())}
	return &plan{decode: m.decode, graft: m.graft, clone: m.clone, child: func(string) (*plan, bool) { return m.elem, true }}
}

func (m *mapping) decode(d *decoder, v doc.Value, out reflect.Value) {
	if v.Kind() != doc.KindObject {
		if !v.IsNull() {
			d.wants("an object", v)
		}
		return
	}
	all := reflect.MakeMapWithSize(m.typ, v.Len())
	key, elem := reflect.New(m.typ.Key()).Elem(), reflect.New(m.typ.Elem()).Elem()
	for name, x := range v.Members() {
		key.SetString(name)
		elem.SetZero()
		d.enter(name)
		m.elem.decode(d, x, elem)
		d.leave()
		all.SetMapIndex(key, elem)
	}
	out.Set(all)
}

func (m *mapping) graft(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
	if kept(before, has, in.Len() == 0) {
		return before, true
	}
	if e.tooDeep() {
		return before, false
	}
	if !has || before.Kind() != doc.KindObject {
		return m.encode(e, in), false
	}
	var edits []doc.Edit
	kept := 0
	key, elem := reflect.New(m.typ.Key()).Elem(), reflect.New(m.typ.Elem()).Elem()
	for iter := in.MapRange(); iter.Next(); {
		key.SetIterKey(iter)
		elem.SetIterValue(iter)
		name := key.String()
		was, there := before.Member(name)
		e.enter(name)
		v, same := m.elem.graft(e, was, there, elem)
		e.leave()
		if there {
			kept++
		}
		if there && same {
			continue
		}
		if e.probe {
			return before, false
		}
		edits = append(edits, doc.Edit{Kind: doc.EditSet, Path: doc.P(name), Value: v})
	}
	if kept < before.Len() {
		if e.probe {
			return before, false
		}
		edits = m.removed(edits, before, in)
	}
	slices.SortFunc(edits, func(a, b doc.Edit) int { return a.Path.Compare(b.Path) })
	return e.edited(before, edits)
}

// removed adds the members that are not in the map any more.
func (m *mapping) removed(edits []doc.Edit, before doc.Value, in reflect.Value) []doc.Edit {
	key := reflect.New(m.typ.Key()).Elem()
	for name := range before.Members() {
		key.SetString(name)
		if !in.MapIndex(key).IsValid() {
			edits = append(edits, doc.Edit{Kind: doc.EditUnset, Path: doc.P(name)})
		}
	}
	return edits
}

func (m *mapping) encode(e *encoder, in reflect.Value) doc.Value {
	if e.probe {
		return doc.Value{}
	}
	var b doc.Builder
	key, elem := reflect.New(m.typ.Key()).Elem(), reflect.New(m.typ.Elem()).Elem()
	for iter := in.MapRange(); iter.Next(); {
		key.SetIterKey(iter)
		elem.SetIterValue(iter)
		name := key.String()
		e.enter(name)
		v, _ := m.elem.graft(e, doc.Value{}, false, elem)
		e.leave()
		b.Add(name, v)
	}
	v, err := b.Object()
	if err != nil {
		e.below(err)
	}
	return v
}

func (m *mapping) clone(copied reflect.Value) {
	if copied.IsNil() {
		return
	}
	all := reflect.MakeMapWithSize(m.typ, copied.Len())
	key, elem := reflect.New(m.typ.Key()).Elem(), reflect.New(m.typ.Elem()).Elem()
	for iter := copied.MapRange(); iter.Next(); {
		key.SetIterKey(iter)
		elem.SetIterValue(iter)
		if m.elem.clone != nil {
			m.elem.clone(elem)
		}
		all.SetMapIndex(key, elem)
	}
	copied.Set(all)
}
