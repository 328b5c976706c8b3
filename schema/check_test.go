package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

func parse(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(t *testing.T, text string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// texts are violations as they are printed.
func texts(found []schema.Violation) []string {
	var out []string
	for _, v := range found {
		out = append(out, v.String())
	}
	return out
}

func TestCheckSaysWhereAndWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, schema, value string
		want                []string
	}{
		{"valid", `{"type":"object"}`, `{"a":1}`, nil},
		{"type", `{"properties":{"a/b":{"type":["integer","null"]}}}`, `{"a/b":1.5}`, []string{`"/a~1b": want null or integer, got number (type)`}},
		{"integral float", `{"type":"integer"}`, `1.0`, nil},
		{"bounds", `{"items":{"minimum":1,"maximum":3,"multipleOf":2}}`, `[0,4,3,2.0]`, []string{
			`"/0": want at least 1, got 0 (minimum)`,
			`"/1": want at most 3, got 4 (maximum)`,
			`"/2": want a multiple of 2, got 3 (multipleOf)`,
		}},
		{"open bounds", `{"items":{"exclusiveMinimum":0.5,"exclusiveMaximum":2}}`, `[0.5,2]`, []string{
			`"/0": want more than 0.5, got 0.5 (exclusiveMinimum)`,
			`"/1": want less than 2, got 2 (exclusiveMaximum)`,
		}},
		{"int64 is exact", `{"maximum":9007199254740992}`, `9007199254740993`, []string{`"": want at most 9007199254740992, got 9007199254740993 (maximum)`}},
		{"a bound no float has", `{"maximum":9007199254740993}`, `9007199254740992.0`, nil},
		{"a bound no float has, from above", `{"exclusiveMinimum":9007199254740993}`, `9007199254740992.0`, []string{
			`"": want more than 9007199254740993, got 9007199254740992.0 (exclusiveMinimum)`,
		}},
		{"text", `{"items":{"minLength":2,"maxLength":3,"pattern":"^ä"}}`, `["ä","äbcd","xyz"]`, []string{
			`"/0": want at least 2 characters, got 1 (minLength)`,
			`"/1": want at most 3 characters, got 4 (maxLength)`,
			`"/2": want a match of ^ä, got "xyz" (pattern)`,
		}},
		{"enum", `{"enum":["a",1,{"x":[1.0]}]}`, `{"x":[1]}`, nil},
		{"no enum", `{"enum":["a",1]}`, `"b"`, []string{`"": want one of "a", 1, got "b" (enum)`}},
		{"const", `{"const":{"a":1}}`, `{"a":2}`, []string{`"": want {"a":1}, got {"a":2} (const)`}},
		{"const and enum", `{"const":1,"enum":[1,2]}`, `2`, []string{`"": want 1, got 2 (const)`}},
		{"object", `{"required":["a","b"],"maxProperties":1,"additionalProperties":false,"properties":{"b":{}}}`, `{"c":1,"b":2}`, []string{
			`"": want at most 1 members, got 2 (maxProperties)`,
			`"/a": missing (required)`,
			`"/c": nothing is allowed here (additionalProperties)`,
		}},
		{"names", `{"propertyNames":{"pattern":"^a"},"minProperties":3}`, `{"ab":1,"b":1}`, []string{
			`"": want at least 3 members, got 2 (minProperties)`,
			`"/b": no name for a member here (propertyNames)`,
		}},
		{"dependent", `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"maxProperties":0}}}`, `{"a":1}`, []string{
			`"/b": missing, although "a" is there (dependentRequired)`,
			`"": want at most 0 members, got 1 (maxProperties)`,
		}},
		{"list", `{"minItems":5,"maxItems":1,"uniqueItems":true,"contains":{"type":"string"}}`, `[1,2,1.0]`, []string{
			`"": want at least 5 items, got 3 (minItems)`,
			`"": want at most 1 items, got 3 (maxItems)`,
			`"": items 0 and 2 are the same (uniqueItems)`,
			`"": want at least 1 items of the kind asked for, got 0 (contains)`,
		}},
		{"contains too many", `{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`, []string{
			`"": want at most 1 items of the kind asked for, got 2 (maxContains)`,
		}},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, []string{`"/a": nothing is allowed here (false)`}},
		{"the alternative that was meant", `{"anyOf":[{"type":"null"},{"type":"object","required":["a"]}]}`, `{}`, []string{`"/a": missing (required)`}},
		{"no alternative", `{"anyOf":[{"type":"null"},{"type":"object"}]}`, `1`, []string{`"": it fits none of the 2 alternatives (anyOf)`}},
		{"two alternatives", `{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, []string{`"": it fits more than one of the 2 alternatives (oneOf)`}},
		{"not", `{"not":{"type":"null"}}`, `null`, []string{`"": it is what is ruled out here (not)`}},
		{"if", `{"if":{"type":"string"},"then":{"minLength":1},"else":{"minimum":5}}`, `4`, []string{`"": want at least 5, got 4 (minimum)`}},
		{
			"ref", `{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}},"$ref":"#/$defs/n"}`,
			`{"next":{"next":{"v":"x"}}}`,
			[]string{`"/next/next/v": want integer, got string (type)`},
		},
		{"by the library", `{"properties":{"p":{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}}}`, `{"p":{"a":1,"b":2}}`, []string{
			`"/p/b": false schema (false)`,
		}},
		{"dynamic", `{"$dynamicAnchor":"n","properties":{"next":{"$dynamicRef":"#n"},"v":{"type":"integer"}}}`, `{"next":{"v":"x"}}`, []string{
			`"/next/v": got string, want integer (type)`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, texts(parse(t, c.schema).Check(value(t, c.value)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckStopsAtTheLimit(t *testing.T) {
	items := make([]doc.Value, 1000)
	if found := parse(t, `{"items":{"type":"string"}}`).Check(doc.List(items...)); len(found) != schema.MaxViolations {
		t.Errorf("%d violations", len(found))
	}
}

func TestCheckChangeLooksOnlyAtWhatIsTouched(t *testing.T) {
	const players = `{
		"required": ["name", "coins"],
		"maxProperties": 4,
		"additionalProperties": {"type": "integer"},
		"properties": {
			"coins": {"type": "integer", "minimum": 0},
			"bag": {
				"maxItems": 3,
				"items": {"type": "object", "required": ["id"], "properties": {"n": {"maximum": 9}}}
			},
			"pos": {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
			"deps": {"dependentRequired": {"a": ["b"]}},
			"names": {"propertyNames": {"maxLength": 2}},
			"kind": {"enum": [{"k": 1}, {"k": 2}]}
		}
	}`
	for _, c := range []struct {
		name, before string
		ops          []doc.Op
		want         []string
	}{
		{"beside an old fault", `{"coins":-5}`, []doc.Op{doc.Set("/x", doc.Int(1))}, nil},
		{"an old fault touched", `{"coins":-5}`, []doc.Op{doc.Increment("/coins", 1)}, []string{`"/coins": want at least 0, got -4 (minimum)`}},
		{"an old lack is not new", `{"coins":1}`, []doc.Op{doc.Increment("/coins", 1)}, nil},
		{"taken away", `{"coins":1,"name":"a"}`, []doc.Op{doc.Unset("/name")}, []string{`"/name": missing (required)`}},
		{"too many members before", `{"a":1,"b":1,"c":1,"d":1,"e":1}`, []doc.Op{doc.Set("/a", doc.Int(2))}, nil},
		{"one more of too many", `{"a":1,"b":1,"c":1,"d":1}`, []doc.Op{doc.Set("/e", doc.Int(2))}, []string{`"": want at most 4 members, got 5 (maxProperties)`}},
		{"a new member", `{}`, []doc.Op{doc.Set("/x", doc.Null())}, []string{`"/x": want integer, got null (type)`}},
		{"a new list", `{}`, []doc.Op{doc.Set("/bag", doc.Must([]any{map[string]any{"n": 10}}))}, []string{
			`"/bag/0/id": missing (required)`, `"/bag/0/n": want at most 9, got 10 (maximum)`,
		}},
		{"one item more", `{"bag":[{"n":10},{"n":11},{"id":1}]}`, []doc.Op{doc.AppendTo("/bag", doc.Must(map[string]any{}))}, []string{
			`"/bag": want at most 3 items, got 4 (maxItems)`, `"/bag/3/id": missing (required)`,
		}},
		{"too many items before", `{"bag":[{"n":10},{"n":11},{"id":1},{"id":2}]}`, []doc.Op{doc.Set("/bag/2/n", doc.Int(10))}, []string{
			`"/bag/2/n": want at most 9, got 10 (maximum)`,
		}},
		{
			"an item behind one that was taken out", `{"bag":[{"n":10,"x":"some long text that is no other's"},{"n":11},{"id":1,"n":1}]}`,
			[]doc.Op{doc.RemoveAt("/bag", 0), doc.Set("/bag/1/n", doc.Int(12))},
			[]string{`"/bag/1/n": want at most 9, got 12 (maximum)`},
		},
		{"items that move under another rule", `{"pos":["a",1]}`, []doc.Op{doc.RemoveAt("/pos", 0)}, []string{`"/pos/0": want string, got integer (type)`}},
		{"what is needed taken away", `{"deps":{"a":1,"b":1}}`, []doc.Op{doc.Unset("/deps/b")}, []string{`"/deps/b": missing, although "a" is there (dependentRequired)`}},
		{"what needs it added", `{"deps":{}}`, []doc.Op{doc.Set("/deps/a", doc.Int(1))}, []string{`"/deps/b": missing, although "a" is there (dependentRequired)`}},
		{"needed before", `{"deps":{"a":1}}`, []doc.Op{doc.Set("/deps/c", doc.Int(1))}, nil},
		{"an old name", `{"names":{"abc":1}}`, []doc.Op{doc.Set("/names/abc", doc.Int(2))}, nil},
		{"a new name", `{"names":{"abc":1}}`, []doc.Op{doc.Set("/names/def", doc.Int(2))}, []string{`"/names/def": no name for a member here (propertyNames)`}},
		{"inside an enum", `{"kind":{"k":1}}`, []doc.Op{doc.Set("/kind/k", doc.Int(3))}, []string{`"/kind": want one of {"k":1}, {"k":2}, got {"k":3} (enum)`}},
		{"inside an enum, allowed", `{"kind":{"k":1}}`, []doc.Op{doc.Set("/kind/k", doc.Int(2))}, nil},
		{"the whole document", `{}`, []doc.Op{doc.Set("", doc.Must(map[string]any{"coins": -1}))}, []string{`"/coins": want at least 0, got -1 (minimum)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := value(t, c.before)
			after, err := doc.Apply(before, c.ops...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, texts(parse(t, players).CheckChange(before, after, doc.Diff(before, after)))); diff != "" {
				t.Errorf("edits %s\n%s", doc.Diff(before, after), diff)
			}
		})
	}
}

func TestCheckChangeOfManyMembersAtOnce(t *testing.T) {
	s := parse(t, `{"additionalProperties":{"maximum":100}}`)
	before := map[string]any{}
	for i := range 200 {
		before[string(rune('A'+i%26))+string(rune('a'+i/26))] = i / 2
	}
	v := doc.Must(before)
	after := v
	for name, m := range v.Members() {
		i, _ := m.AsInt()
		next, err := doc.Apply(after, doc.Set(doc.P(name), doc.Int(i+2)))
		if err != nil {
			t.Fatal(err)
		}
		after = next
	}
	if found := s.CheckChange(v, after, doc.Diff(v, after)); len(found) != 2 || len(s.Check(after)) != 2 {
		t.Errorf("%v", found)
	}
}
