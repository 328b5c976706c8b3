package codec

import (
	"reflect"

	"github.com/shoalworks/shoal/doc"
)

// quick is a short cut for the fields that most fields are: numbers, texts and flags that hold
// what they should, or still hold what is stored. It changes nothing but the time it takes.
type quick uint8

const (
	quickNone quick = iota
	quickInt
	quickText
	quickFlag
)

// quickOf is the short cut for a direct field that has the plan of its kind.
func (m *member) quickOf() quick {
	if m.direct < 0 || !m.plan.plain {
		return quickNone
	}
	switch kind := m.Type.Kind(); {
	case reflect.Zero(m.Type).CanInt():
		return quickInt
	case kind == reflect.String:
		return quickText
	case kind == reflect.Bool:
		return quickFlag
	default:
		return quickNone
	}
}

// take decodes v into the field, if it is as simple as that.
func (m *member) take(v doc.Value, out reflect.Value) bool {
	switch m.quick {
	case quickInt:
		i, ok := v.AsInt()
		f := out.Field(m.direct)
		if !ok || f.OverflowInt(i) {
			return false
		}
		f.SetInt(i)
		return true
	case quickText:
		s, ok := v.AsString()
		if ok {
			out.Field(m.direct).SetString(s)
		}
		return ok
	case quickFlag:
		b, ok := v.AsBool()
		if ok {
			out.Field(m.direct).SetBool(b)
		}
		return ok
	case quickNone:
	}
	return false
}

// still reports that the field holds what is stored; if it does not say so, who knows.
func (m *member) still(was doc.Value, in reflect.Value) bool {
	switch m.quick {
	case quickInt:
		i, ok := was.AsInt()
		return ok && i == in.Field(m.direct).Int()
	case quickText:
		s, ok := was.AsString()
		return ok && s == in.Field(m.direct).String()
	case quickFlag:
		b, ok := was.AsBool()
		return ok && b == in.Field(m.direct).Bool()
	case quickNone:
	}
	return false
}
