package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/shoalworks/shoal/doc"
)

const (
	// MaxBytes is how long the text of a schema may be.
	MaxBytes = 1 << 20
	// maxDepth is how deep the text of a schema may nest.
	maxDepth = 256
)

// dialect is the only version of JSON Schema that is understood.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// home is where the library believes a schema to be.
const home = "shoal:///schema"

// Error is one fault of a schema.
type Error struct {
	Place   string // Place is a JSON Pointer into the text of the schema: the keyword.
	Problem string // Problem says what is wrong there, for people.
}

// Error is the place and the problem.
func (e *Error) Error() string { return fmt.Sprintf("schema: at %q: %s", e.Place, e.Problem) }

func wrong(place, format string, args ...any) error {
	return &Error{Place: place, Problem: fmt.Sprintf(format, args...)}
}

// Parse reads a JSON Schema of the version 2020-12, at most [MaxBytes] long. It is strict as
// [doc.Parse] is: integers beyond int64 are to be written as floats. References reach what is
// in the text itself and the metaschemas; nothing is ever loaded from elsewhere. A schema that
// refers to itself without looking deeper into the value is refused. The keyword format, and
// the ones for content, say something to people only; patterns are those of the package regexp.
//
// What is wrong comes as one or more [*Error], joined.
func Parse(text []byte) (*Schema, error) {
	v, err := doc.Parse(text, &doc.Limits{MaxDepth: maxDepth, MaxBytes: MaxBytes})
	if err != nil {
		return nil, syntax(err)
	}
	if err := plainDialect(v); err != nil {
		return nil, err
	}
	if err := counts(v, doc.Path{}); err != nil {
		return nil, err
	}
	src, err := compile(v)
	if err != nil {
		return nil, err
	}
	b := builder{made: make(map[*jsonschema.Schema]*rule)}
	root := b.rule(src)
	if b.dynamic { // Only the whole way from the root tells what a dynamic reference means.
		root = &rule{source: src, whole: true}
	}
	if len(b.faults) == 0 {
		b.circles()
	}
	if err := errors.Join(b.faults...); err != nil {
		return nil, err
	}
	return &Schema{text: bytes.Clone(text), root: root}, nil
}

func syntax(err error) error {
	var at *doc.SyntaxError
	if errors.As(err, &at) {
		return wrong(at.Path.String(), "byte %d: %v", at.Offset, at.Err)
	}
	return wrong("", "%v", err)
}

// plainDialect refuses a schema that says it is of another version, before the library looks
// for that version's metaschema.
func plainDialect(v doc.Value) error {
	d, ok := v.Member("$schema")
	if !ok {
		return nil
	}
	if s, _ := d.AsString(); strings.TrimSuffix(s, "#") != dialect {
		return wrong("/$schema", "want %q, got %s", dialect, shown(d))
	}
	return nil
}

// nothing is the loader that loads nothing.
type nothing struct{}

// Load refuses.
func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference to %s: nothing is loaded from elsewhere", url)
}

// compile lets the library read the schema.
func compile(v doc.Value) (*jsonschema.Schema, error) {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(v.Encode()))
	if err != nil {
		return nil, wrong("", "%v", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nothing{})
	if err := c.AddResource(home, text); err != nil {
		return nil, wrong("", "%v", err)
	}
	s, err := c.Compile(home)
	if err != nil {
		return nil, uncompilable(err)
	}
	return s, nil
}

// uncompilable puts the library's complaints into our form.
func uncompilable(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var against *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &against) {
		var faults []error
		for _, leaf := range leaves(against, nil) {
			faults = append(faults, wrong(doc.P(leaf.InstanceLocation...).String(), "%s", problem(leaf)))
		}
		return errors.Join(faults...)
	}
	var regex *jsonschema.InvalidRegexError
	if errors.As(err, &regex) {
		return wrong(placeIn(regex.URL), "pattern %q: %v", regex.Regex, regex.Err)
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return wrong("", "%v", load.Err)
	}
	return wrong("", "%s", strings.ReplaceAll(err.Error(), home, ""))
}

// placeIn is the JSON Pointer of one of the library's locations.
func placeIn(location string) string {
	_, pointer, _ := strings.Cut(location, "#")
	return unescaped(pointer)
}
