package schema

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/shoalworks/shoal/doc"
)

// byLibrary has the library check a whole subtree.
func (c *checker) byLibrary(r *rule, v doc.Value) {
	err := r.source.Validate(v.Any())
	if err == nil {
		return
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		c.fail("false", "%v", err)
		return
	}
	for _, leaf := range leaves(invalid, nil) {
		depth := len(c.path)
		for _, name := range leaf.InstanceLocation {
			c.enter(name)
		}
		c.fail(keyword(leaf), "%s", problem(leaf))
		c.path = c.path[:depth]
	}
}

// leaves are the complaints that say something by themselves. What the alternatives of a
// choice say is left out: nobody knows which one was meant.
func leaves(e *jsonschema.ValidationError, to []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			to = leaves(cause, to)
		}
		return to
	default:
		return append(to, e)
	}
}

// keyword is the keyword that is not kept.
func keyword(e *jsonschema.ValidationError) string {
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return path[0]
	}
	return "false"
}

// problem is what the library says.
func problem(e *jsonschema.ValidationError) string {
	alone := jsonschema.ValidationError{SchemaURL: e.SchemaURL, ErrorKind: e.ErrorKind}
	text := alone.BasicOutput().Error.String()
	return strings.ReplaceAll(text, home, "")
}

// unescaped is a fragment of a URL in plain text.
func unescaped(fragment string) string {
	if plain, err := url.PathUnescape(fragment); err == nil {
		return plain
	}
	return fragment
}

// valueOf is a value as the library has read it: with numbers as text.
func valueOf(x any) (doc.Value, error) {
	switch x := x.(type) {
	case json.Number:
		return doc.Parse([]byte(x), nil)
	case []any:
		items := make([]doc.Value, len(x))
		for i, item := range x {
			v, err := valueOf(item)
			if err != nil {
				return doc.Value{}, err
			}
			items[i] = v
		}
		return doc.List(items...), nil
	case map[string]any:
		var b doc.Builder
		for name, m := range x {
			v, err := valueOf(m)
			if err != nil {
				return doc.Value{}, err
			}
			b.Add(name, v)
		}
		return b.Object()
	default:
		return doc.From(x)
	}
}
