package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

// JSONSchema is an [Options.Form] that holds data to a JSON Schema: at a load all of it, and at
// a transaction what it has touched. So data that a stricter schema finds wrong cannot be
// opened (migrate it), and a transaction costs what it changes, whatever the size of the data.
func JSONSchema(s *schema.Schema) func(Change) []Violation {
	return func(c Change) []Violation { return misfits(s, c) }
}

// misfits are the violations of a schema as complaints.
func misfits(s *schema.Schema, c Change) []Violation {
	var found []schema.Violation
	if len(c.Edits) == 0 {
		found = s.Check(c.After)
	} else {
		found = s.CheckChange(c.Before, c.After, c.Edits)
	}
	if len(found) == 0 {
		return nil
	}
	out := make([]Violation, len(found))
	for i, v := range found {
		out[i] = Violation{Path: v.Path, Problem: v.Problem + " (" + v.Rule + ")", Err: fmt.Errorf("%w: %s", ErrSchema, v.Rule)}
	}
	return out
}

// formOf holds data to a schema, and to what a codec can decode where the schema cannot tell.
func formOf[T any](s *schema.Schema, c *codec.Codec[T]) func(Change) []Violation {
	if !c.Opaque() {
		return JSONSchema(s)
	}
	return func(change Change) []Violation {
		if out := misfits(s, change); len(out) > 0 {
			return out
		}
		if len(change.Edits) > 0 {
			return undecodable(c.CheckChange(change.After, change.Edits))
		}
		_, err := c.Decode(change.After)
		return undecodable(err)
	}
}

// undecodable is what a codec complains of, place by place.
func undecodable(err error) []Violation {
	var out []Violation
	for _, e := range separate(err) {
		v := Violation{Err: fmt.Errorf("%w: %w", ErrSchema, e)}
		if at := (*codec.Error)(nil); errors.As(e, &at) {
			v.Path, v.Problem = at.Path, at.Err.Error()
		}
		out = append(out, v)
	}
	return out
}

// separate takes joined errors apart.
func separate(err error) []error {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// zeroTemplate is the template that a type gives: what its zero value is as data.
func zeroTemplate[T any](c *codec.Codec[T]) (doc.Value, error) {
	var zero T
	v, err := c.Encode(zero)
	if err == nil && v.Kind() != doc.KindObject {
		err = fmt.Errorf("data of a profile must be an object, not a %s", v.Kind())
	}
	return v, err
}
