package schema

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/field"
)

// For derives the schema of a Go type from its fields, by the rules of encoding/json/v2, and
// from tags called shoal. Each member has the type that its field is encoded as: integers
// within the range of their Go type, null where there is a pointer, anything for any, for
// doc.Value and for types that write JSON of their own. Members that T does not know are
// allowed everywhere, and so are missing ones, unless they are required. Types may contain
// themselves.
//
// A tag is a list of words, separated by commas:
//
//	required        the member must be there
//	min=0, max=100  bounds of a number, inclusive
//	minlen, maxlen  bounds of the length of a string in characters, or of the number of items
//	enum=a|b        the only values allowed, of a string or an integer
//	pattern=^[a-z]  a regular expression that a string must match; it ends the tag, commas included
//
// In a slice, an array or a map, min, max, enum and pattern are about each item, and minlen and
// maxlen about the whole. What is wrong with tags and types is refused, all at once, by the
// names of the fields.
func For[T any]() (*Schema, error) {
	t := reflect.TypeFor[T]()
	d := deriver{within: make(map[reflect.Type]bool), recursive: make(map[reflect.Type]bool), defs: make(map[string]doc.Value), names: make(map[reflect.Type]string)}
	d.look(t)
	root := d.schema(t, &tag{})
	if err := errors.Join(d.faults...); err != nil {
		return nil, fmt.Errorf("schema: %s: %w", t, err)
	}
	if len(d.defs) > 0 {
		root["$defs"] = doc.MustObject(d.defs)
	}
	root["$schema"] = doc.MustString(dialect)
	return Parse(doc.MustObject(root).Encode())
}

// beyondFloat32 is the least number that does not become a float32 by rounding.
const beyondFloat32 = math.MaxFloat32 + 1<<103

// deriver makes the text of a schema.
type deriver struct {
	within    map[reflect.Type]bool // what look has seen, and whether it is inside of it
	recursive map[reflect.Type]bool // what contains itself: it becomes a definition
	names     map[reflect.Type]string
	defs      map[string]doc.Value
	path      string
	faults    []error
}

// keywords are a schema under construction.
type keywords map[string]doc.Value

func (d *deriver) fault(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if d.path != "" {
		err = fmt.Errorf("field %s: %w", d.path, err)
	}
	d.faults = append(d.faults, err)
}

// in does something one step further down.
func (d *deriver) in(step string, do func()) {
	was := d.path
	if d.path != "" && step != "" && step[0] != '[' {
		step = "." + step
	}
	d.path += step
	do()
	d.path = was
}

// opaque reports whether a type is taken as it is, without a look inside.
func opaque(t reflect.Type) bool {
	if t == reflect.TypeFor[doc.Value]() || t == reflect.TypeFor[time.Time]() {
		return true
	}
	m := field.Custom(t)
	return t.Kind() != reflect.Pointer && (m.Marshals || m.Texts)
}

// target is the type that a pointer leads to. A type that is nothing but a pointer to itself
// leads nowhere, and stays a pointer.
func target(t reflect.Type) (to reflect.Type, pointer bool) {
	const far = 8
	to = t
	for range far {
		if to.Kind() != reflect.Pointer {
			return to, pointer
		}
		to, pointer = to.Elem(), true
	}
	return t, true
}

// look finds the types that contain themselves.
func (d *deriver) look(t reflect.Type) {
	t, _ = target(t)
	inside, seen := d.within[t]
	if inside {
		d.recursive[t] = true
	}
	if seen || opaque(t) {
		return
	}
	d.within[t] = true
	defer func() { d.within[t] = false }()
	switch kind := t.Kind(); {
	case holdsItems(kind):
		d.look(t.Elem())
	case kind == reflect.Struct:
		fields, err := field.Of(t)
		if err != nil {
			return // It is reported later.
		}
		for _, f := range fields {
			d.look(f.Type)
		}
	}
}

// holdsItems tells the kinds of types that hold many of one other type.
func holdsItems(kind reflect.Kind) bool {
	return kind == reflect.Slice || kind == reflect.Array || kind == reflect.Map
}

// schema is the schema of a type with what a tag says.
func (d *deriver) schema(t reflect.Type, tag *tag) keywords {
	t, null := target(t)
	if d.recursive[t] {
		tag.only(d, "a type that contains itself")
		return keywords{"$ref": doc.MustString("#/$defs/" + d.define(t, null))}
	}
	k := d.bare(t, tag)
	if null {
		k.orNull()
	}
	return k
}

// define makes the definition of a type that contains itself.
func (d *deriver) define(t reflect.Type, null bool) string {
	name, known := d.names[t]
	if !known {
		name = "T" + strconv.Itoa(len(d.names)+1)
		d.names[t] = name
	}
	full := name
	if null {
		full += "OrNull"
	}
	if _, made := d.defs[full]; made {
		return full
	}
	d.defs[full] = doc.Null() // It is under construction.
	k := d.bare(t, &tag{})
	if null {
		k.orNull()
	}
	k["title"] = doc.MustString(t.String())
	d.defs[full] = doc.MustObject(k)
	return full
}

// orNull allows null too.
func (k keywords) orNull() {
	null := doc.MustString("null")
	if t, ok := k["type"]; ok {
		k["type"] = doc.List(t, null)
	}
	if values, ok := k["enum"]; ok {
		items := make([]doc.Value, 0, values.Len()+1)
		for _, v := range values.Items() {
			items = append(items, v)
		}
		k["enum"] = doc.List(append(items, doc.Null())...)
	}
}

// bare is the schema of a type, without null.
func (d *deriver) bare(t reflect.Type, tag *tag) keywords {
	switch {
	case t == reflect.TypeFor[time.Time]():
		tag.only(d, t.String())
		return keywords{"type": doc.MustString("string"), "format": doc.MustString("date-time")}
	case t == reflect.TypeFor[time.Duration]():
		d.fault("time.Duration has no JSON form that all agree on; use a number of seconds, say")
		return keywords{}
	case t == reflect.TypeFor[doc.Value](), field.Custom(t).Marshals:
		tag.only(d, t.String())
		return keywords{}
	case field.Custom(t).Texts:
		k := keywords{"type": doc.MustString("string")}
		tag.text(d, k)
		return k
	}
	switch kind := t.Kind(); {
	case kind == reflect.Struct:
		tag.only(d, t.String())
		return d.structure(t)
	case holdsItems(kind):
		return d.container(t, tag)
	default:
		return d.scalar(t, tag)
	}
}

func (d *deriver) structure(t reflect.Type) keywords {
	fields, err := field.Of(t)
	if err != nil {
		d.fault("%w", err)
	}
	properties := make(map[string]doc.Value, len(fields))
	var required []doc.Value
	for _, f := range fields {
		d.in(f.Go, func() {
			tag := d.tag(f)
			if tag.required {
				required = append(required, doc.MustString(f.Name))
			}
			properties[f.Name] = doc.MustObject(d.schema(f.Type, tag))
		})
	}
	k := keywords{"type": doc.MustString("object"), "properties": doc.MustObject(properties)}
	if len(required) > 0 {
		k["required"] = doc.List(required...)
	}
	return k
}

// container is the schema of what holds items of one type.
func (d *deriver) container(t reflect.Type, tag *tag) keywords {
	if t.Kind() != reflect.Map && t.Elem().Kind() == reflect.Uint8 && t.Elem().PkgPath() == "" {
		tag.only(d, "bytes")
		return keywords{"type": doc.MustString("string"), "contentEncoding": doc.MustString("base64")}
	}
	var items doc.Value
	d.in("[]", func() { items = doc.MustObject(d.schema(t.Elem(), tag.ofItems())) })
	if t.Kind() == reflect.Map {
		if t.Key().Kind() != reflect.String || field.Custom(t.Key()) != (field.Methods{}) {
			d.fault("%s: the keys must be plain strings", t)
		}
		k := keywords{"type": doc.MustString("object"), "additionalProperties": items}
		tag.length(d, k, "minProperties", "maxProperties")
		return k
	}
	k := keywords{"type": doc.MustString("array"), "items": items}
	if t.Kind() == reflect.Array {
		tag.only(d, t.String())
		k["minItems"], k["maxItems"] = doc.Int(int64(t.Len())), doc.Int(int64(t.Len()))
		return k
	}
	tag.length(d, k, "minItems", "maxItems")
	return k
}

func (d *deriver) scalar(t reflect.Type, tag *tag) keywords {
	switch zero := reflect.Zero(t); {
	case t.Kind() == reflect.Bool:
		tag.only(d, "a bool")
		return keywords{"type": doc.MustString("boolean")}
	case zero.CanInt():
		k := keywords{"type": doc.MustString("integer")}
		n := t.Bits()
		k["minimum"], k["maximum"] = doc.Int(-1<<(n-1)), doc.Int(1<<(n-1)-1)
		tag.integer(d, k, t)
		return k
	case zero.CanUint():
		k := keywords{"type": doc.MustString("integer"), "minimum": doc.Int(0), "maximum": doc.Int(math.MaxInt64)}
		if n := t.Bits(); n < 64 {
			k["maximum"] = doc.Int(1<<n - 1)
		}
		tag.integer(d, k, t)
		return k
	case zero.CanFloat():
		k := keywords{"type": doc.MustString("number")}
		if t.Bits() == 32 { // What would become infinite is out.
			k["exclusiveMinimum"], k["exclusiveMaximum"] = doc.MustFloat(-beyondFloat32), doc.MustFloat(beyondFloat32)
		}
		tag.float(d, k)
		return k
	case t.Kind() == reflect.String:
		k := keywords{"type": doc.MustString("string")}
		tag.text(d, k)
		return k
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		tag.only(d, "any")
		return keywords{}
	}
	d.fault("%s has no JSON form", t)
	return keywords{}
}
