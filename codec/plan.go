package codec

import (
	"fmt"
	"reflect"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/field"
)

// plan is how one Go type is decoded, grafted and copied.
type plan struct {
	typ reflect.Type
	// child is the plan of a member or an item, nil if the type does not know it; inside tells
	// whether there are plans for parts at all. It is nil itself where there are none.
	child func(name string) (p *plan, inside bool)
	// decode fills out, which is settable and zero.
	decode func(d *decoder, v doc.Value, out reflect.Value)
	// graft puts in onto before, if there is one, and tells whether that changed nothing.
	graft func(e *encoder, before doc.Value, has bool, in reflect.Value) (v doc.Value, same bool)
	// clone makes a variable that was copied by assignment independent of the original. Nil
	// means that it is already.
	clone func(copied reflect.Value)
	// leaf tells that values have no members, so nothing unknown can be in them.
	leaf bool
	// plain tells that the type is what its kind is.
	plain bool
}

// builder makes plans, one for each type.
type builder struct {
	made   map[reflect.Type]*plan
	path   string // of the field at hand, for messages
	opaque bool   // there is a type whose form only it knows
	faults []error
}

func (b *builder) fault(format string, args ...any) *plan {
	err := fmt.Errorf(format, args...)
	if b.path != "" {
		err = fmt.Errorf("field %s: %w", b.path, err)
	}
	b.faults = append(b.faults, err)
	return &plan{}
}

// in makes the plan of a type that is found one step further.
func (b *builder) in(step string, t reflect.Type) *plan {
	was := b.path
	b.path += step
	p := b.plan(t)
	b.path = was
	return p
}

func (b *builder) plan(t reflect.Type) *plan {
	if p, ok := b.made[t]; ok {
		return p
	}
	p := new(plan)
	b.made[t] = p // Before its parts, which may lead back to it.
	*p = *b.newPlan(t)
	p.typ = t
	return p
}

func (b *builder) newPlan(t reflect.Type) *plan {
	switch t {
	case reflect.TypeFor[doc.Value]():
		return valuePlan()
	case reflect.TypeFor[time.Time]():
		b.opaque = true
		return timePlan()
	case reflect.TypeFor[time.Duration]():
		return b.fault("time.Duration has no JSON form that all agree on; use a number of seconds, say")
	}
	if t.Kind() == reflect.Pointer {
		return b.pointer(t)
	}
	if m := field.Custom(t); m.Marshals || m.Texts || m.Unmarshals {
		if !m.Unmarshals {
			return b.fault("%s writes JSON or text, but cannot read it", t)
		}
		b.opaque = true
		return customPlan(t)
	}
	return b.byKind(t)
}

func (b *builder) byKind(t reflect.Type) *plan {
	switch t.Kind() {
	case reflect.Bool:
		return plain(boolPlan())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return plain(intPlan(t))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return uintPlan(t)
	case reflect.Float32, reflect.Float64:
		return floatPlan(t)
	case reflect.String:
		return plain(stringPlan())
	case reflect.Struct:
		return b.structure(t)
	case reflect.Map:
		return b.mapping(t)
	case reflect.Slice:
		if isBytes(t) {
			b.opaque = true
			return bytesPlan()
		}
		return b.slice(t)
	case reflect.Array:
		if isBytes(t) {
			b.opaque = true
			return byteArrayPlan(t)
		}
		return b.array(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return anyPlan()
		}
	case reflect.Invalid, reflect.Complex64, reflect.Complex128, reflect.Chan, reflect.Func, reflect.Pointer, reflect.UnsafePointer:
	}
	return b.fault("%s has no JSON form", t)
}

func plain(p *plan) *plan {
	p.plain = true
	return p
}

// isBytes tells a slice or an array of bytes, which is a string in base64, from one of numbers
// of a type of their own.
func isBytes(t reflect.Type) bool {
	return t.Elem().Kind() == reflect.Uint8 && t.Elem().PkgPath() == "" && !field.Custom(t.Elem()).Marshals
}
