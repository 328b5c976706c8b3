package codec

import (
	"reflect"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// pointer is the plan of a pointer: null is nil.
func (b *builder) pointer(t reflect.Type) *plan {
	elem := b.in("", t.Elem())
	p := &plan{
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			if v.IsNull() {
				return
			}
			p := reflect.New(t.Elem())
			elem.decode(d, v, p.Elem())
			out.Set(p)
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			if in.IsNil() {
				return doc.Null(), has && before.IsNull()
			}
			if e.tooDeep() {
				return before, false
			}
			return elem.graft(e, before, has && !before.IsNull(), in.Elem())
		},
		clone: func(copied reflect.Value) {
			if copied.IsNil() {
				return
			}
			p := reflect.New(t.Elem())
			p.Elem().Set(copied.Elem())
			if elem.clone != nil {
				elem.clone(p.Elem())
			}
			copied.Set(p)
		},
	}
	p.child = elem.below // Not elem.child: that may not be known yet.
	return p
}

// below is the plan of a member or an item, if there are any.
func (p *plan) below(name string) (next *plan, inside bool) {
	if p.child == nil {
		return nil, false
	}
	return p.child(name)
}

// hasReferences reports whether assignment of a value of type t shares something that can be
// changed. A time's zone cannot, and neither can a value of the package doc.
func hasReferences(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[doc.Value]():
		return false
	}
	switch kind := t.Kind(); {
	case kind == reflect.Array:
		return t.Len() > 0 && hasReferences(t.Elem())
	case kind == reflect.Struct:
		for i := range t.NumField() {
			if hasReferences(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return kind > reflect.Complex128 && kind != reflect.String // Those are all that refer to something.
	}
}
