package schema

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/shoalworks/shoal/doc"
)

// builder makes rules of what the library has compiled.
type builder struct {
	made    map[*jsonschema.Schema]*rule
	order   []*rule // in which they were made
	faults  []error
	dynamic bool // there is a reference that depends on the way that led to it
}

// rule is nil if the schema demands nothing.
func (b *builder) rule(s *jsonschema.Schema) *rule {
	if s == nil || s.Bool != nil && *s.Bool {
		return nil
	}
	if r, ok := b.made[s]; ok {
		return r
	}
	r := &rule{source: s, never: s.Bool != nil}
	b.made[s] = r // Before its parts, which may refer to it.
	b.order = append(b.order, r)
	if s.DraftVersion != 2020 {
		b.fault(s, "", "only JSON Schema 2020-12 is understood")
		return r
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		b.dynamic = true
	}
	r.types = kindsOf(s.Types)
	b.enum(r, s)
	r.numbers = numberRuleOf(s)
	r.text = b.textRule(s)
	r.object = b.objectRule(s)
	r.list = b.listRule(s)
	r.choices = b.choices(s)
	if s.Ref != nil {
		r.all = append(r.all, b.rule(s.Ref))
	}
	for _, also := range s.AllOf {
		r.all = append(r.all, b.rule(also))
	}
	r.whole = leftovers(s)
	return r
}

func (b *builder) fault(s *jsonschema.Schema, keyword, format string, args ...any) {
	place := placeIn(s.Location)
	if keyword != "" {
		place += "/" + keyword
	}
	b.faults = append(b.faults, wrong(place, format, args...))
}

// kindsOf translates types.
func kindsOf(types *jsonschema.Types) kinds {
	if types == nil {
		return kinds{}
	}
	names := types.ToStrings()
	k := kinds{set: true, integral: true, names: strings.Join(names, " or ")}
	for _, name := range names {
		switch name {
		case "null":
			k.allowed[doc.KindNull] = true
		case "boolean":
			k.allowed[doc.KindBool] = true
		case "integer":
			k.allowed[doc.KindInt], k.allowed[doc.KindFloat] = true, true
		case "number":
			k.allowed[doc.KindInt], k.allowed[doc.KindFloat], k.integral = true, true, false
		case "string":
			k.allowed[doc.KindString] = true
		case "array":
			k.allowed[doc.KindList] = true
		case "object":
			k.allowed[doc.KindObject] = true
		}
	}
	return k
}

// enum takes the values of enum and const. One that no document can hold, such as an integer
// beyond int64, equals nothing.
func (b *builder) enum(r *rule, s *jsonschema.Schema) {
	add := func(keyword string, values ...any) {
		list := make([]doc.Value, 0, len(values))
		for _, x := range values {
			v, err := valueOf(x)
			if err != nil {
				b.fault(s, keyword, "%v", err)
				continue
			}
			list = append(list, v)
		}
		if r.listed == "" {
			r.listed, r.oneOf = keyword, list
			return
		}
		r.all = append(r.all, &rule{source: s, listed: keyword, oneOf: list})
	}
	if s.Const != nil {
		add("const", *s.Const)
	}
	if s.Enum != nil {
		add("enum", s.Enum.Values...)
	}
}

func numberRuleOf(s *jsonschema.Schema) *numberRule {
	n := numberRule{
		min: boundOf(s.Minimum), max: boundOf(s.Maximum),
		above: boundOf(s.ExclusiveMinimum), below: boundOf(s.ExclusiveMaximum),
		multipleOf: s.MultipleOf,
	}
	if n == (numberRule{}) {
		return nil
	}
	return &n
}

func (b *builder) textRule(s *jsonschema.Schema) *textRule {
	if s.MinLength == nil && s.MaxLength == nil && s.Pattern == nil {
		return nil
	}
	return &textRule{minLen: orElse(s.MinLength, 0), maxLen: orElse(s.MaxLength, -1), pattern: s.Pattern}
}

func (b *builder) objectRule(s *jsonschema.Schema) *objectRule {
	o := objectRule{
		min: orElse(s.MinProperties, 0), max: orElse(s.MaxProperties, -1),
		required: s.Required, names: b.rule(s.PropertyNames), others: b.others(s),
	}
	if len(s.Properties) > 0 {
		o.named = make(map[string]*rule, len(s.Properties))
		o.order = slices.Sorted(maps.Keys(s.Properties))
		for name, p := range s.Properties {
			o.named[name] = b.rule(p)
		}
	}
	for pattern, p := range s.PatternProperties {
		o.patterns = append(o.patterns, patternRule{pattern, b.rule(p)})
	}
	slices.SortFunc(o.patterns, func(x, y patternRule) int { return cmp.Compare(x.pattern.String(), y.pattern.String()) })
	for _, name := range slices.Sorted(maps.Keys(s.DependentRequired)) {
		o.needs = append(o.needs, dependentNames{name, s.DependentRequired[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		o.then = append(o.then, dependentRule{name, b.rule(s.DependentSchemas[name])})
	}
	if o.min == 0 && o.max < 0 && len(o.required)+len(o.named)+len(o.patterns)+len(o.needs)+len(o.then) == 0 && o.names == nil && o.others == nil {
		return nil
	}
	return &o
}

// others is the rule for members that no other keyword is about.
func (b *builder) others(s *jsonschema.Schema) *rule {
	switch a := s.AdditionalProperties.(type) {
	case bool:
		if !a {
			return &rule{source: s, never: true, keyword: "additionalProperties"}
		}
		return nil
	case *jsonschema.Schema:
		return b.rule(a)
	}
	if s.UnevaluatedProperties != nil && !leftovers(s) {
		return b.rule(s.UnevaluatedProperties)
	}
	return nil
}

func (b *builder) listRule(s *jsonschema.Schema) *listRule {
	l := listRule{min: orElse(s.MinItems, 0), max: orElse(s.MaxItems, -1), items: b.rule(s.Items2020), unique: s.UniqueItems}
	if s.Items2020 == nil && s.UnevaluatedItems != nil && !leftovers(s) {
		l.items = b.rule(s.UnevaluatedItems)
	}
	for _, p := range s.PrefixItems {
		l.prefix = append(l.prefix, b.rule(p))
	}
	if s.Contains != nil {
		l.contains = &containsRule{b.rule(s.Contains), orElse(s.MinContains, 1), orElse(s.MaxContains, -1)}
	}
	if l.min == 0 && l.max < 0 && l.items == nil && len(l.prefix) == 0 && !l.unique && l.contains == nil {
		return nil
	}
	return &l
}

func (b *builder) choices(s *jsonschema.Schema) *choices {
	o := choices{
		hasNot: s.Not != nil, not: b.rule(s.Not),
		hasTest: s.If != nil, test: b.rule(s.If), yes: b.rule(s.Then), no: b.rule(s.Else),
	}
	for _, a := range s.AnyOf {
		o.any = append(o.any, b.rule(a))
	}
	for _, a := range s.OneOf {
		o.one = append(o.one, b.rule(a))
	}
	if !o.hasNot && !o.hasTest && len(o.any)+len(o.one) == 0 {
		return nil
	}
	return &o
}

// leftovers reports whether the schema is about what other keywords have left over, and other
// subschemas for the same value have a say in that. Where only its own properties and items
// do, it is no different from additionalProperties and items.
func leftovers(s *jsonschema.Schema) bool {
	if s.UnevaluatedProperties == nil && s.UnevaluatedItems == nil {
		return false
	}
	return s.Ref != nil || s.If != nil || s.Contains != nil ||
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.DependentSchemas) > 0
}

func orElse(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// hugeCount is from where on a count in a schema is refused: the library would wrap it around.
const hugeCount = math.MaxInt32

// counts refuses lengths and counts that are too large.
func counts(v doc.Value, at doc.Path) error {
	for name, m := range v.Members() {
		switch name {
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
			if isNumber(m) && !inRange(m) {
				return wrong(at.Append(name).String(), "want at most %d, got %s", hugeCount, m)
			}
		}
		if err := counts(m, at.Append(name)); err != nil {
			return err
		}
	}
	for i, item := range v.Items() {
		if err := counts(item, at.AppendIndex(i)); err != nil {
			return err
		}
	}
	return nil
}

func inRange(v doc.Value) bool {
	if i, ok := v.AsInt(); ok {
		return i <= hugeCount
	}
	f, _ := v.AsFloat()
	return f <= hugeCount
}
