package field

import (
	"encoding"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
)

// Methods says which methods for JSON of its own a type has, on itself or on a pointer to it.
type Methods struct {
	Marshals   bool // Marshals tells that the type writes JSON.
	Texts      bool // Texts tells that the type writes text, which becomes a JSON string.
	Unmarshals bool // Unmarshals tells that the type reads JSON or text.
}

func (m Methods) any() bool { return m.Marshals || m.Texts || m.Unmarshals }

// Custom tells which methods the type t has.
func Custom(t reflect.Type) Methods {
	return Methods{
		Marshals:   has(t, reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.MarshalerTo]()),
		Texts:      has(t, reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextAppender]()),
		Unmarshals: has(t, reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[encoding.TextUnmarshaler]()),
	}
}

func has(t reflect.Type, methods ...reflect.Type) bool {
	return slices.ContainsFunc(methods, func(m reflect.Type) bool {
		return t.Implements(m) || t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(m)
	})
}
