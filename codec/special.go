package codec

import (
	"errors"
	"reflect"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// valuePlan is for values as they are.
func valuePlan() *plan {
	return &plan{
		decode: func(_ *decoder, v doc.Value, out reflect.Value) {
			if p, ok := out.Addr().Interface().(*doc.Value); ok {
				*p = v
			}
		},
		graft: func(_ *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			v, _ := in.Interface().(doc.Value)
			if has && v.Equal(before) {
				return before, true
			}
			return v, false
		},
	}
}

// anyPlan is for fields of type any.
func anyPlan() *plan {
	return &plan{
		decode: func(_ *decoder, v doc.Value, out reflect.Value) {
			if x := v.Any(); x != nil {
				out.Set(reflect.ValueOf(x))
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			return e.from(before, has, in.Interface())
		},
		clone: func(copied reflect.Value) {
			if x := cloneAny(copied.Interface()); x != nil {
				copied.Set(reflect.ValueOf(x))
			}
		},
	}
}

// from encodes by way of doc.From.
func (e *encoder) from(before doc.Value, has bool, x any) (doc.Value, bool) {
	v, err := doc.From(x)
	if err != nil {
		e.below(err)
		return before, false
	}
	if has && v.Equal(before) {
		return before, true
	}
	return v, false
}

// below notes an error of the package doc, with the path that it has already.
func (e *encoder) below(err error) {
	var at *doc.ValueError
	if !errors.As(err, &at) {
		e.fail(err)
		return
	}
	n := len(e.steps)
	for _, name := range at.Path.Segments() {
		e.enter(name)
	}
	e.fail(at.Err)
	e.steps = e.steps[:n]
}

// cloneAny copies what Decode puts into a field of type any.
func cloneAny(x any) any {
	switch x := x.(type) {
	case []any:
		if x == nil {
			return x
		}
		items := make([]any, len(x))
		for i, item := range x {
			items[i] = cloneAny(item)
		}
		return items
	case map[string]any:
		if x == nil {
			return x
		}
		members := make(map[string]any, len(x))
		for name, m := range x {
			members[name] = cloneAny(m)
		}
		return members
	default:
		return x
	}
}

// timePlan is for times in the notation of RFC 3339.
func timePlan() *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			s, ok := v.AsString()
			if !ok {
				if !v.IsNull() {
					d.wants("a time in a string", v)
				}
				return
			}
			if t, ok := out.Addr().Interface().(*time.Time); ok {
				if err := t.UnmarshalText([]byte(s)); err != nil {
					d.fail(err)
				}
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			t, _ := in.Interface().(time.Time)
			if kept(before, has, t.IsZero()) {
				return before, true
			}
			s, err := t.AppendText(make([]byte, 0, len(time.RFC3339Nano)))
			if err != nil {
				e.fail(err)
				return before, false
			}
			if was, ok := before.AsString(); has && ok && (was == string(s) || sameTime(was, s)) {
				return before, true
			}
			return e.text(string(s)), false
		},
	}
}

// sameTime reports whether two notations are of the same time in the same zone.
func sameTime(was string, now []byte) bool {
	var t time.Time
	if t.UnmarshalText([]byte(was)) != nil {
		return false
	}
	again, err := t.AppendText(nil)
	return err == nil && string(again) == string(now)
}

// customPlan is for types with methods for JSON of their own.
func customPlan(t reflect.Type) *plan {
	p := &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			if err := v.Into(out.Addr().Interface()); err != nil {
				d.fail(err)
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			v, same := e.from(before, has, in.Interface())
			if same || !has || !renders(t, before, v) {
				return v, same
			}
			return before, true
		},
	}
	if hasReferences(t) {
		p.clone = func(copied reflect.Value) { cloneCustom(t, copied) }
	}
	return p
}

// cloneCustom copies by way of the JSON form; what has none stays a copy by assignment.
func cloneCustom(t reflect.Type, copied reflect.Value) {
	v, err := doc.From(copied.Interface())
	if err != nil {
		return
	}
	fresh := reflect.New(t)
	if v.Into(fresh.Interface()) == nil {
		copied.Set(fresh.Elem())
	}
}

// renders reports whether what is stored is another notation of v.
func renders(t reflect.Type, stored, v doc.Value) bool {
	x := reflect.New(t)
	if stored.Into(x.Interface()) != nil {
		return false
	}
	again, err := doc.From(x.Interface())
	return err == nil && again.Equal(v)
}
