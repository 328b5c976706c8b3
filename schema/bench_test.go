package schema_test

import (
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

// structural is a schema as a game writes one.
const structural = `{
	"type": "object",
	"required": ["coins", "name", "items"],
	"properties": {
		"coins": {"type": "integer", "minimum": 0, "maximum": 1000000000},
		"name": {"type": "string", "maxLength": 40, "pattern": "^[A-Za-z ]+$"},
		"items": {
			"type": "object",
			"maxProperties": 100000,
			"propertyNames": {"maxLength": 32},
			"additionalProperties": {
				"type": "object",
				"required": ["count"],
				"properties": {
					"count": {"type": "integer", "minimum": 0},
					"name": {"type": "string", "maxLength": 40},
					"rare": {"type": "boolean"}
				}
			}
		}
	}
}`

// document is a plausible profile of about so many bytes.
func document(bytes int) doc.Value {
	items := map[string]any{}
	for i := 0; len(items)*64 < bytes; i++ {
		items[fmt.Sprintf("item-%06d", i)] = map[string]any{"count": i, "name": "Bronze Sword", "rare": i%7 == 0}
	}
	return doc.Must(map[string]any{"coins": 0, "name": "Ann", "items": items})
}

func BenchmarkCheckChange(b *testing.B) {
	for _, at := range []string{"/coins", "/items/item-000021/count"} {
		b.Run(at[1:], func(b *testing.B) {
			s, before := benchSchema(b), document(1<<20)
			after, err := doc.Apply(before, doc.Increment(at, 1))
			if err != nil {
				b.Fatal(err)
			}
			edits := doc.Diff(before, after)
			b.ReportAllocs()
			for b.Loop() {
				if found := s.CheckChange(before, after, edits); found != nil {
					b.Fatal(found)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, bytes := range []int{2 << 10, 1 << 20} {
		b.Run(fmt.Sprint(bytes), func(b *testing.B) {
			s, v := benchSchema(b), document(bytes)
			b.ReportAllocs()
			for b.Loop() {
				if found := s.Check(v); found != nil {
					b.Fatal(found)
				}
			}
		})
	}
}

func benchSchema(b *testing.B) *schema.Schema {
	b.Helper()
	s, err := schema.Parse([]byte(structural))
	if err != nil {
		b.Fatal(err)
	}
	return s
}
