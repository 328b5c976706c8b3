package codec

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/shoalworks/shoal/doc"
)

// kept reports whether null stands for the zero of a field, and still does.
func kept(before doc.Value, has, zero bool) bool { return has && zero && before.IsNull() }

func boolPlan() *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			if b, ok := v.AsBool(); ok {
				out.SetBool(b)
			} else if !v.IsNull() {
				d.wants("a bool", v)
			}
		},
		graft: func(_ *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			b := in.Bool()
			if was, ok := before.AsBool(); has && ok && was == b || kept(before, has, !b) {
				return before, true
			}
			return doc.Bool(b), false
		},
	}
}

func intPlan(t reflect.Type) *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			i, ok := integer(v)
			switch {
			case v.IsNull():
			case !ok:
				d.wants("an integer", v)
			case out.OverflowInt(i):
				d.overflows(t.String(), v)
			default:
				out.SetInt(i)
			}
		},
		graft: func(_ *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			i := in.Int()
			if was, ok := integer(before); has && ok && was == i || kept(before, has, i == 0) {
				return before, true
			}
			return doc.Int(i), false
		},
	}
}

// integer is the integer that v is, also if it is written as a float without a fraction.
func integer(v doc.Value) (int64, bool) {
	if i, ok := v.AsInt(); ok || v.Kind() != doc.KindFloat {
		return i, ok
	}
	f, _ := v.AsFloat()
	if f != math.Trunc(f) || f < math.MinInt64 || f >= math.MaxInt64 {
		return 0, false
	}
	return int64(f), true
}

func uintPlan(t reflect.Type) *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			i, ok := integer(v)
			switch {
			case v.IsNull():
			case !ok:
				d.wants("an integer", v)
			case i < 0 || out.OverflowUint(uint64(i)):
				d.overflows(t.String(), v)
			default:
				out.SetUint(uint64(i))
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			u := in.Uint()
			if was, ok := integer(before); has && ok && was >= 0 && uint64(was) == u || kept(before, has, u == 0) {
				return before, true
			}
			if u > math.MaxInt64 {
				e.fail(doc.ErrOverflow)
				return before, false
			}
			return doc.Int(int64(u)), false
		},
	}
}

func floatPlan(t reflect.Type) *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			f, ok := number(v)
			switch {
			case v.IsNull():
			case !ok:
				d.wants("a number", v)
			case t.Kind() == reflect.Float32 && math.IsInf(float64(float32(f)), 0):
				d.overflows(t.String(), v)
			default:
				out.SetFloat(f)
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			f := in.Float()
			if was, ok := number(before); has && ok && sameFloat(in, was) || kept(before, has, f == 0) {
				return before, true
			}
			if in.Kind() == reflect.Float32 { // 0.1 stays 0.1.
				f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 32), 64)
			}
			v, err := doc.Float(f)
			if err != nil {
				e.fail(err)
			}
			return v, false
		},
	}
}

// number is the float nearest to v.
func number(v doc.Value) (float64, bool) {
	if i, ok := v.AsInt(); ok {
		return float64(i), true
	}
	return v.AsFloat()
}

// sameFloat reports whether what is stored would be decoded to what in holds.
func sameFloat(in reflect.Value, was float64) bool {
	if in.Kind() == reflect.Float32 {
		was = float64(float32(was))
	}
	return math.Float64bits(was) == math.Float64bits(in.Float())
}

func stringPlan() *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			if s, ok := v.AsString(); ok {
				out.SetString(s)
			} else if !v.IsNull() {
				d.wants("a string", v)
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			s := in.String()
			if was, ok := before.AsString(); has && ok && was == s || kept(before, has, s == "") {
				return before, true
			}
			return e.text(s), false
		},
	}
}

// text is a string value.
func (e *encoder) text(s string) doc.Value {
	if e.probe {
		return doc.Value{}
	}
	v, err := doc.String(s)
	if err != nil {
		e.fail(err)
	}
	return v
}

func bytesPlan() *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			if data, ok := d.base64(v); ok {
				out.SetBytes(data)
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			return e.base64(before, has, in.Bytes())
		},
		clone: func(copied reflect.Value) {
			if !copied.IsNil() {
				copied.SetBytes(append(make([]byte, 0, copied.Len()), copied.Bytes()...))
			}
		},
	}
}

func byteArrayPlan(t reflect.Type) *plan {
	return &plan{
		leaf: true,
		decode: func(d *decoder, v doc.Value, out reflect.Value) {
			data, ok := d.base64(v)
			switch {
			case !ok:
			case len(data) != t.Len():
				d.fail(fmt.Errorf("%d bytes expected, got %d", t.Len(), len(data)))
			default:
				reflect.Copy(out, reflect.ValueOf(data))
			}
		},
		graft: func(e *encoder, before doc.Value, has bool, in reflect.Value) (doc.Value, bool) {
			data := make([]byte, t.Len())
			reflect.Copy(reflect.ValueOf(data), in)
			if kept(before, has, in.IsZero()) {
				return before, true
			}
			return e.base64(before, has, data)
		},
	}
}

// base64 reads bytes; ok is false for null and where it failed.
func (d *decoder) base64(v doc.Value) (data []byte, ok bool) {
	s, ok := v.AsString()
	if !ok {
		if !v.IsNull() {
			d.wants("a string in base64", v)
		}
		return nil, false
	}
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		d.fail(err)
		return nil, false
	}
	return data, true
}

func (e *encoder) base64(before doc.Value, has bool, data []byte) (doc.Value, bool) {
	s := base64.StdEncoding.EncodeToString(data)
	if was, ok := before.AsString(); has && ok && was == s || kept(before, has, s == "") {
		return before, true
	}
	return e.text(s), false
}
