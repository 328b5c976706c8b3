package codec

import (
	"cmp"
	"iter"
	"reflect"
	"slices"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/field"
)

// member is a field of a struct as a member of an object.
type member struct {
	field.Field
	plan   *plan
	direct int   // position in the struct itself; negative: it is in an embedded one
	behind []int // the way to the last embedded pointer before it; nil: there is none
	quick  quick
	path   doc.Path
	zero   func(reflect.Value) bool
}

// structure is the plan of a struct.
type structure struct {
	members  []member // in order of their names
	pointers [][]int  // where embedded pointers are, outer ones first
}

func (b *builder) structure(t reflect.Type) *plan {
	fields, err := field.Of(t)
	if err != nil {
		return b.fault("%w", err)
	}
	s := &structure{}
	for _, f := range fields {
		m := member{Field: f, direct: -1, path: doc.P(f.Name), zero: zeroOf(f.Type)}
		if len(f.Index) == 1 {
			m.direct = f.Index[0]
		}
		m.plan = b.in(dot(b.path)+f.Go, f.Type)
		m.quick = m.quickOf()
		s.members = append(s.members, m)
	}
	slices.SortFunc(s.members, func(x, y member) int { return cmp.Compare(x.Name, y.Name) })
	s.pointers = embeddedPointers(t, s.members)
	for i := range s.members {
		m := &s.members[i]
		for _, way := range s.pointers {
			if hasPrefix(m.Index, way) {
				m.behind = way
			}
		}
	}
	p := &plan{decode: s.decode, graft: s.graft, child: s.child}
	if hasReferences(t) {
		p.clone = s.clone
	}
	return p
}

// embeddedPointers are the ways to the embedded pointers that members lie behind.
func embeddedPointers(t reflect.Type, members []member) [][]int {
	var all [][]int
	for _, m := range members {
		for n := 1; n < len(m.Index); n++ {
			way := m.Index[:n]
			known := slices.ContainsFunc(all, func(w []int) bool { return slices.Equal(w, way) })
			if !known && t.FieldByIndex(way).Type.Kind() == reflect.Pointer {
				all = append(all, way)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	return all
}

func dot(path string) string {
	if path == "" {
		return ""
	}
	return "."
}

// zeroOf is how a field of this type is found to be zero: by its method, if it has one.
func zeroOf(t reflect.Type) func(reflect.Value) bool {
	type zeroer interface{ IsZero() bool }
	switch is := reflect.TypeFor[zeroer](); {
	case t.Kind() == reflect.Interface:
		return reflect.Value.IsZero
	case t.Implements(is):
		return func(v reflect.Value) bool {
			if v.Kind() == reflect.Pointer && v.IsNil() {
				return true
			}
			z, ok := v.Interface().(zeroer)
			return ok && z.IsZero()
		}
	case reflect.PointerTo(t).Implements(is):
		return func(v reflect.Value) bool {
			p := reflect.New(t)
			p.Elem().Set(v)
			z, ok := p.Interface().(zeroer)
			return ok && z.IsZero()
		}
	}
	return reflect.Value.IsZero
}

// in is the field in a struct; ok is false if an embedded pointer on the way is nil.
func (m *member) in(v reflect.Value) (f reflect.Value, ok bool) {
	if m.direct >= 0 {
		return v.Field(m.direct), true
	}
	return follow(v, m.Index)
}

// follow goes to the field at the end of the way, unless a pointer before it is nil.
func follow(v reflect.Value, way []int) (f reflect.Value, ok bool) {
	for i, x := range way {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v, true
}

// made is the field in a struct, with embedded pointers on the way filled.
func (m *member) made(v reflect.Value) reflect.Value {
	if m.direct >= 0 {
		return v.Field(m.direct)
	}
	for i, x := range m.Index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

func (s *structure) decode(d *decoder, v doc.Value, out reflect.Value) {
	if v.Kind() != doc.KindObject {
		if !v.IsNull() {
			d.wants("an object", v)
		}
		return
	}
	for m, x := range s.met(v) {
		if x.there && !m.take(x.value, out) {
			d.enter(m.Name)
			m.plan.decode(d, x.value, m.made(out))
			d.leave()
		}
	}
}

// child is the plan of a member.
func (s *structure) child(name string) (*plan, bool) {
	i, ok := slices.BinarySearchFunc(s.members, name, func(m member, name string) int { return cmp.Compare(m.Name, name) })
	if !ok {
		return nil, true
	}
	return s.members[i].plan, true
}

// stored is what an object has under the name of a field.
type stored struct {
	value doc.Value
	there bool
}

// crowded is how many times more members than fields an object must have for a search by name
// to be faster than a look at all of them.
const crowded = 4

// met goes through all fields, each with what the object v has under its name.
func (s *structure) met(v doc.Value) iter.Seq2[*member, stored] {
	return func(yield func(*member, stored) bool) {
		if v.Len() > crowded*len(s.members) {
			for i := range s.members {
				x, there := v.Member(s.members[i].Name)
				if !yield(&s.members[i], stored{x, there}) {
					return
				}
			}
			return
		}
		i := 0 // Both are in order of the names.
		for name, x := range v.Members() {
			for i < len(s.members) && s.members[i].Name < name {
				if !yield(&s.members[i], stored{}) {
					return
				}
				i++
			}
			if i < len(s.members) && s.members[i].Name == name {
				if !yield(&s.members[i], stored{x, true}) {
					return
				}
				i++
			}
		}
		for ; i < len(s.members); i++ {
			if !yield(&s.members[i], stored{}) {
				return
			}
		}
	}
}

func (s *structure) graft(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
	if has && before.IsNull() && in.IsZero() {
		return before, true
	}
	if e.tooDeep() {
		return before, false
	}
	if !has || before.Kind() != doc.KindObject {
		return s.encode(e, in), false
	}
	var edits []doc.Edit
	for m, was := range s.met(before) {
		if was.there && m.still(was.value, in) {
			continue
		}
		edit, changed := s.edit(e, m, before, was, in)
		if !changed {
			continue
		}
		if e.probe {
			return before, false
		}
		edits = append(edits, edit)
	}
	return e.edited(before, edits)
}

// edit is what a field changes of the object that it is a member of.
func (s *structure) edit(e *encoder, m *member, before doc.Value, was stored, in reflect.Value) (doc.Edit, bool) {
	f, ok := m.in(in)
	if !ok {
		return doc.Edit{Kind: doc.EditUnset, Path: m.path}, was.there
	}
	if !was.there && isNothing(f, m.zero) && s.implied(m, before) {
		return doc.Edit{}, false
	}
	e.enter(m.Name)
	v, same := m.plan.graft(e, was.value, was.there, f)
	e.leave()
	switch {
	case same:
		return doc.Edit{}, false
	case e.probe: // There is no value to look at.
		return doc.Edit{}, true
	case m.OmitZero && m.zero(f) || m.OmitEmpty && isEmpty(v):
		return doc.Edit{Kind: doc.EditUnset, Path: m.path}, was.there
	}
	return doc.Edit{Kind: doc.EditSet, Path: m.path, Value: v}, true
}

// implied reports whether Decode finds the struct that a missing member is a field of: one
// that is embedded by pointer is there only if one of its members is.
func (s *structure) implied(m *member, before doc.Value) bool {
	if m.behind == nil {
		return true
	}
	return slices.ContainsFunc(s.members, func(other member) bool {
		_, there := before.Member(other.Name)
		return there && hasPrefix(other.Index, m.behind)
	})
}

func hasPrefix(index, way []int) bool {
	return len(index) > len(way) && slices.Equal(index[:len(way)], way)
}

// isNothing reports whether a field holds what it holds when its member is missing.
func isNothing(f reflect.Value, zero func(reflect.Value) bool) bool {
	if kind := f.Kind(); kind == reflect.Slice || kind == reflect.Map {
		return f.Len() == 0
	}
	return f.IsZero() || zero(f)
}

// isEmpty reports whether a value is what omitempty leaves out.
func isEmpty(v doc.Value) bool {
	switch v.Kind() {
	case doc.KindNull:
		return true
	case doc.KindString, doc.KindList, doc.KindObject:
		return v.Len() == 0
	case doc.KindBool, doc.KindInt, doc.KindFloat:
	}
	return false
}

// encode makes an object of a struct.
func (s *structure) encode(e *encoder, in reflect.Value) doc.Value {
	if e.probe {
		return doc.Value{}
	}
	var b doc.Builder
	for i := range s.members {
		m := &s.members[i]
		f, ok := m.in(in)
		if !ok || m.OmitZero && m.zero(f) {
			continue
		}
		e.enter(m.Name)
		v, _ := m.plan.graft(e, doc.Value{}, false, f)
		e.leave()
		if !m.OmitEmpty || !isEmpty(v) {
			b.Add(m.Name, v)
		}
	}
	v, err := b.Object()
	if err != nil {
		e.below(err)
	}
	return v
}

// edited is before with edits.
func (e *encoder) edited(before doc.Value, edits []doc.Edit) (doc.Value, bool) {
	if len(edits) == 0 {
		return before, true
	}
	if len(e.errs) > 0 { // Some of the edits are not what they should be.
		return before, false
	}
	v, err := doc.ApplyEdits(before, edits)
	if err != nil {
		e.fail(err)
	}
	return v, false
}

// clone makes a copied struct independent: first the embedded pointers, then what is behind them.
func (s *structure) clone(copied reflect.Value) {
	for _, way := range s.pointers {
		if f, ok := follow(copied, way); ok && !f.IsNil() {
			p := reflect.New(f.Type().Elem())
			p.Elem().Set(f.Elem())
			f.Set(p)
		}
	}
	for i := range s.members {
		m := &s.members[i]
		if m.plan.clone == nil {
			continue
		}
		if f, ok := m.in(copied); ok {
			m.plan.clone(f)
		}
	}
}
