package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/schema"
)

// Typed is a set whose data is of the Go type T, by the rules of encoding/json/v2 (see package
// codec for what T may hold). Members that T does not know stay where they are, in every
// update. It is safe for any number of goroutines.
type Typed[T any] struct {
	set    *Set
	codec  *codec.Codec[T]
	schema *schema.Schema
}

// Open makes the set with this name on the node, as [New] does, for data of type T:
//
//	type Player struct {
//		Coins int            `json:"coins" shoal:"min=0"`
//		Items map[string]int `json:"items"`
//	}
//	players, err := profile.Open[Player](n, "players", nil)
//
// What the options leave out comes of T, see [OptionsFor].
func Open[T any](n *node.Node, setName string, opts *Options) (*Typed[T], error) {
	o, err := OptionsFor[T](opts)
	if err != nil {
		return nil, err
	}
	s, err := New(n, setName, o)
	if err != nil {
		return nil, err
	}
	return As[T](s)
}

// OptionsFor are the options, nil for none, with what they leave out and T tells: the template
// is the zero value of T, and the form of data is what [schema.For] derives from T and its tags
// called shoal. Options with AsStored are left as they are. A template that is no T, or is not
// as its tags want it, is refused.
func OptionsFor[T any](opts *Options) (*Options, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.AsStored {
		return &o, nil
	}
	c, s, err := partsOf[T]()
	if err != nil {
		return nil, err
	}
	if o.Template.IsNull() {
		if o.Template, err = zeroTemplate(c); err != nil {
			return nil, fmt.Errorf("profile: options: Template: the zero %T: %w", *new(T), err)
		}
	}
	if o.JSONSchema == nil {
		o.JSONSchema = s
		if c.Opaque() {
			o.fits = fitsOf(c)
		}
		if err := o.refusedTemplate(); err != nil {
			return nil, err
		}
	}
	if _, err := c.Decode(o.Template); err != nil {
		return nil, fmt.Errorf("profile: options: Template: %w", err)
	}
	return &o, nil
}

// refusedTemplate says what the form has against the template.
func (o *Options) refusedTemplate() error {
	var errs []error
	for _, v := range o.JSONSchema.Check(o.Template) {
		errs = append(errs, fmt.Errorf("profile: options: Template: at %q: %s", v.Path, v.Problem))
	}
	if o.fits != nil {
		for _, v := range o.fits(Change{After: o.Template}) {
			errs = append(errs, fmt.Errorf("profile: options: Template: at %q: %s", v.Path, v.Problem))
		}
	}
	return errors.Join(errs...)
}

func partsOf[T any]() (*codec.Codec[T], *schema.Schema, error) {
	c, err := codec.For[T]()
	if err != nil {
		return nil, nil, fmt.Errorf("profile: %w", err)
	}
	s, err := schema.For[T]()
	if err != nil {
		return nil, nil, fmt.Errorf("profile: %w", err)
	}
	return c, s, nil
}

// As is a set seen as one of T: for a set that was made elsewhere, as the facade does, best with
// [OptionsFor] of the same T. It changes nothing about the set.
func As[T any](s *Set) (*Typed[T], error) {
	c, sch, err := partsOf[T]()
	if err != nil {
		return nil, err
	}
	return &Typed[T]{set: s, codec: c, schema: sch}, nil
}

// Set is the set itself.
func (t *Typed[T]) Set() *Set { return t.set }

// Schema is the JSON Schema that T tells.
func (t *Typed[T]) Schema() *schema.Schema { return t.schema }

// Decode makes a T of data, such as that of a [View] or a [Commit]. Data that is no T is an
// ErrSchema with the path of each place.
func (t *Typed[T]) Decode(data doc.Value) (T, error) {
	v, err := t.codec.Decode(data)
	if err != nil {
		return v, fmt.Errorf("profile: %s: %w: %w", t.set.name, ErrSchema, err)
	}
	return v, nil
}

// Load opens a profile, see [Set.Load]. Data that is no T gives the key back and is an
// ErrSchema.
func (t *Typed[T]) Load(ctx context.Context, key string, opts *LoadOptions) (*TypedSession[T], error) {
	s, err := t.set.Load(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	ts, err := t.Session(s)
	if err != nil { // Only where the set has a form that is not T's.
		return nil, errors.Join(err, s.Release(context.WithoutCancel(ctx)))
	}
	return ts, nil
}

// Session is an open session of the set, seen as one of T: for what hands out sessions, such as
// [Set.OnLoad] or [Players]. Data that is no T is an ErrSchema.
func (t *Typed[T]) Session(s *Session) (*TypedSession[T], error) {
	ts := &TypedSession[T]{Session: s, typed: t}
	if _, err := ts.Read(); err != nil {
		return nil, err
	}
	return ts, nil
}
