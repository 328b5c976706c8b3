package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
)

// fitsOf holds data to what a codec can decode, where a schema cannot tell.
func fitsOf[T any](c *codec.Codec[T]) func(Change) []Violation {
	return func(change Change) []Violation {
		if len(change.Edits) > 0 {
			return undecodable(c.CheckChange(change.After, change.Edits))
		}
		_, err := c.Decode(change.After)
		return undecodable(err)
	}
}

// undecodable is what a codec complains of, place by place, but for what a schema says as well.
func undecodable(err error) []Violation {
	var out []Violation
	for _, e := range separate(err) {
		v := Violation{Err: fmt.Errorf("%w: %w", ErrSchema, e)}
		if at := (*codec.Error)(nil); errors.As(e, &at) {
			if at.Shape {
				continue
			}
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
