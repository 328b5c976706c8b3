package schema_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// names are few, so that schemas and values meet.
var names = []string{"a", "b", "c", "d/e", "~f"}

// scalars are values around the limits of what the schemas say.
var scalars = []doc.Value{
	doc.Null(), doc.Bool(true), doc.Bool(false),
	doc.Int(0), doc.Int(1), doc.Int(2), doc.Int(3), doc.Int(-1), doc.Int(10), doc.Int(1 << 53), doc.Int(1<<53 + 1), doc.Int(1<<63 - 1), doc.Int(-1 << 63),
	doc.MustFloat(0), doc.MustFloat(1), doc.MustFloat(1.5), doc.MustFloat(0.1), doc.MustFloat(0.3), doc.MustFloat(1 << 53), doc.MustFloat(1 << 60),
	doc.MustFloat(1 << 63), doc.MustFloat(-1 << 63), doc.MustFloat(1e23), doc.MustFloat(1e300), doc.MustFloat(5e-324), doc.MustFloat(-1.5),
	doc.MustString(""), doc.MustString("a"), doc.MustString("ab"), doc.MustString("abc"), doc.MustString("äöü"), doc.MustString("zz"), doc.MustString("b"),
}

func drawValue(t *rapid.T, depth int) doc.Value {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case kind < 6 || depth == 0:
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	case kind < 8:
		var items []doc.Value
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			items = append(items, drawValue(t, depth-1))
		}
		return doc.List(items...)
	default:
		members := map[string]doc.Value{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			members[rapid.SampledFrom(names).Draw(t, "name")] = drawValue(t, depth-1)
		}
		return doc.MustObject(members)
	}
}

// drawSchema draws a schema; those under $defs are named 0 to defs-1.
func drawSchema(t *rapid.T, depth, defs int) any {
	if rapid.IntRange(0, 14).Draw(t, "bool") == 0 {
		return rapid.Bool().Draw(t, "which")
	}
	s := map[string]any{}
	for range rapid.IntRange(1, 4).Draw(t, "keywords") {
		drawKeyword(t, s, depth, defs)
	}
	return s
}

func drawKeyword(t *rapid.T, s map[string]any, depth, defs int) {
	sub := func() any { return drawSchema(t, depth-1, defs) }
	some := func() []any {
		var all []any
		for range rapid.IntRange(1, 3).Draw(t, "some") {
			all = append(all, sub())
		}
		return all
	}
	named := func(keys []string) map[string]any {
		all := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(t, "some") {
			all[rapid.SampledFrom(keys).Draw(t, "name")] = sub()
		}
		return all
	}
	count := rapid.IntRange(0, 4)
	number := rapid.SampledFrom([]any{0, 1, 2, 10, -1, 0.1, 1.5, 1 << 53, 1<<53 + 1, 9.2e18, 1e300, 1e23, -2.5})
	simple := []func(){
		func() {
			s["type"] = rapid.SampledFrom([]any{
				"null", "boolean", "integer", "number", "string", "array", "object", "object", "object", "array",
				[]any{"object", "null"}, []any{"integer", "string"}, []any{"number", "object", "array"},
			}).Draw(t, "type")
		},
		func() { s["enum"] = []any{drawValue(t, 1), drawValue(t, 1), drawValue(t, 1)} },
		func() { s["const"] = drawValue(t, 1) },
		func() { s[rapid.SampledFrom([]string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}).Draw(t, "k")] = number.Draw(t, "n") },
		func() { s["multipleOf"] = rapid.SampledFrom([]any{1, 2, 3, 0.1, 0.5, 1e20}).Draw(t, "n") },
		func() {
			s[rapid.SampledFrom([]string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}).Draw(t, "k")] = count.Draw(t, "n")
		},
		func() { s["pattern"] = rapid.SampledFrom([]string{"^a", "b$", "^[a-z]+$"}).Draw(t, "p") },
		func() { s["required"] = []any{rapid.SampledFrom(names).Draw(t, "name")} },
		func() { s["uniqueItems"] = rapid.Bool().Draw(t, "unique") },
		func() {
			s["dependentRequired"] = map[string]any{rapid.SampledFrom(names).Draw(t, "name"): []any{rapid.SampledFrom(names).Draw(t, "name")}}
		},
		func() {
			if defs > 0 {
				s["$ref"] = fmt.Sprintf("#/$defs/%d", rapid.IntRange(0, defs-1).Draw(t, "def"))
			}
		},
	}
	nested := []func(){
		func() { s["properties"] = named(names) },
		func() { s["properties"] = named(names) },
		func() { s["patternProperties"] = named([]string{"^a", "[bc]", "/"}) },
		func() { s["additionalProperties"] = sub() },
		func() { s["propertyNames"] = sub() },
		func() { s["items"] = sub() },
		func() { s["items"] = sub() },
		func() { s["prefixItems"] = some() },
		func() { s["contains"] = sub(); s["minContains"] = count.Draw(t, "n") },
		func() { s["contains"] = sub(); s["maxContains"] = count.Draw(t, "n") },
		func() { s["allOf"] = some() },
		func() { s["anyOf"] = some() },
		func() { s["oneOf"] = some() },
		func() { s["not"] = sub() },
		func() { s["if"] = sub(); s["then"] = sub(); s["else"] = sub() },
		func() { s["dependentSchemas"] = named(names) },
		func() { s["unevaluatedProperties"] = sub() },
		func() { s["unevaluatedItems"] = sub() },
	}
	all := simple
	if depth > 0 {
		all = append(all, nested...)
	}
	rapid.SampledFrom(all).Draw(t, "keyword")()
}

// drawRoot draws a whole schema with a few definitions.
func drawRoot(t *rapid.T) []byte {
	const defs = 2
	root, ok := drawSchema(t, 3, defs).(map[string]any)
	if !ok {
		root = map[string]any{}
	}
	all := map[string]any{}
	for i := range defs {
		all[fmt.Sprint(i)] = drawSchema(t, 2, defs)
	}
	root["$defs"] = all
	return doc.Must(root).Encode()
}
