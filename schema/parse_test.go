package schema_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

func TestParseNamesTheKeyword(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", `{"type":`, `byte`},
		{"twice", `{"type":"null","type":"null"}`, `at "/type"`},
		{"no schema", `[1]`, `at ""`},
		{"type", `{"properties":{"a":{"type":"int"}}}`, `at "/properties/a/type"`},
		{"minimum", `{"properties":{"a":{"minimum":"1"}}}`, `at "/properties/a/minimum": got string, want number`},
		{"two faults", `{"minLength":-1,"maxLength":"x"}`, `at "/minLength"`},
		{"pattern", `{"properties":{"a":{"pattern":"("}}}`, `at "/properties/a/pattern": `},
		{"remote", `{"$ref":"https://example.com/other"}`, `nothing is loaded from elsewhere`},
		{"file", `{"$ref":"file:///etc/passwd"}`, `nothing is loaded from elsewhere`},
		{"relative", `{"$ref":"other.json"}`, `nothing is loaded from elsewhere`},
		{"dangling", `{"$ref":"#/$defs/a"}`, `/$defs/a`},
		{"dialect", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, `at "/$schema"`},
		{"dialect below", `{"$defs":{"a":{"$id":"x","$schema":"http://json-schema.org/draft-07/schema#"}},"$ref":"#/$defs/a"}`, `at "/$defs/a"`},
		{"circle", `{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `refers to itself`},
		{"huge count", `{"items":{"maxLength":1e30}}`, `at "/items/maxLength"`},
		{"beyond int64", `{"enum":[99999999999999999999]}`, `at "/enum/0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := schema.Parse([]byte(c.text))
			var fault *schema.Error
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q in it", err, c.want)
			}
		})
	}
}

func TestTextIsWhatWasParsed(t *testing.T) {
	text := []byte(`{ "type": "object" }`)
	s := parse(t, string(text))
	got := s.Text()
	if !bytes.Equal(got, text) {
		t.Errorf("%s", got)
	}
	got[0] = 'x'
	if !bytes.Equal(s.Text(), text) {
		t.Error("the text handed out is the schema's own")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		structural, `true`, `{"$ref":"#"}`, `{"$defs":{"a":{"$anchor":"x","not":{}}},"$ref":"#x","unevaluatedItems":false}`,
		`{"$id":"https://example.com/a","$dynamicRef":"#m","$dynamicAnchor":"m","oneOf":[{"const":1.5}],"if":{"minContains":2,"contains":{}}}`,
		`{"patternProperties":{"^a":{"multipleOf":0.1}},"dependentSchemas":{"a":false},"dependentRequired":{"a":["b"]},"uniqueItems":true}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
	} {
		f.Add([]byte(text), []byte(`{"a":[1,1.0,"x",{"b":null}]}`))
	}
	f.Fuzz(func(t *testing.T, text, instance []byte) {
		s, err := schema.Parse(text)
		if err != nil {
			if _, ok := errors.AsType[*schema.Error](err); !ok {
				t.Fatalf("%v is no *schema.Error", err)
			}
			return
		}
		v, err := doc.Parse(instance, nil)
		if err != nil {
			return
		}
		found := s.Check(v)
		before := doc.Null()
		if changed := s.CheckChange(before, v, doc.Diff(before, v)); !v.IsNull() && len(changed) != len(found) {
			t.Errorf("whole %v, as a change of everything %v", found, changed)
		}
	})
}
