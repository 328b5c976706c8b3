package codec_test

import (
	"math/big"
	"reflect"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// scramble changes everything that can be reached from x in place.
func scramble(x any) { scrambleValue(reflect.ValueOf(x).Elem()) }

func scrambleValue(v reflect.Value) {
	switch x := v.Interface().(type) {
	case time.Time, doc.Value:
		return
	case *big.Int:
		if x != nil {
			x.SetInt64(12345)
		}
		return
	}
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				scrambleValue(f)
			} else if v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
				for k := range f.NumField() {
					scrambleValue(f.Field(k))
				}
			}
		}
	case kind == reflect.Pointer:
		if !v.IsNil() {
			scrambleValue(v.Elem())
		}
	case kind == reflect.Slice || kind == reflect.Array:
		for i := range v.Len() {
			scrambleValue(v.Index(i))
		}
	case kind == reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			scrambleValue(e)
			v.SetMapIndex(k, e)
		}
	case kind == reflect.Interface:
		switch x := v.Interface().(type) {
		case []any:
			for i := range x {
				x[i] = "scrambled"
			}
		case map[string]any:
			for k, m := range x {
				if inner, ok := m.(map[string]any); ok {
					inner["scrambled"] = true
				}
				delete(x, k)
			}
		}
	case kind == reflect.String:
		v.SetString("scrambled")
	case v.CanInt():
		v.SetInt(99)
	case v.CanUint():
		v.SetUint(99)
	case kind == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanFloat():
		v.SetFloat(99.5)
	}
}
