package pipeline

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

// Derived is a field that is computed from other places of the document. No operation may
// write it, or anything in it; one that replaces what is above it has it computed anew.
type Derived struct {
	// Path is the field. Members that are missing above it are created. It must not be the
	// whole document, nor lead through "-", nor overlap another derived field.
	Path doc.Path
	// Inputs are the places that Compute depends on, and nothing else. One that overlaps
	// another derived field makes this field depend on that one.
	Inputs []doc.Path
	// Compute returns the field's value, given what is at each of Inputs, null where nothing
	// is. It must be pure. An error, or a panic, refuses the transaction.
	Compute func(inputs []doc.Value) (doc.Value, error)
}

// derivedName is what complaints about derived fields call their guard.
const derivedName = "derived"

// Derive returns v with every derived field computed anew: for a document that does not come
// from this pipeline. The error is a [*RefusedError] with all fields that cannot be computed.
func (p *Pipeline) Derive(v doc.Value) (doc.Value, error) {
	var bad complaints
	out := p.compute(v, func(int, doc.Value) bool { return true }, &bad)
	if bad.any() {
		return v, bad.refusal()
	}
	return out, nil
}

// derive is after with those derived fields computed anew that are missing, that were
// meddled with, or that have an input that is not what it was before.
func (p *Pipeline) derive(before, after doc.Value, bad *complaints) doc.Value {
	if len(p.derived) == 0 {
		return after
	}
	return p.compute(after, func(i int, now doc.Value) bool { return p.derived[i].stale(before, now) }, bad)
}

// compute computes, in the order of dependencies, the fields that are stale by now. A field
// that depends on one that failed is left alone.
func (p *Pipeline) compute(v doc.Value, stale func(i int, now doc.Value) bool, bad *complaints) doc.Value {
	var failed []bool
	for i := range p.derived {
		if p.anyFailed(failed, i) {
			failed[i] = true
			continue
		}
		if !stale(i, v) {
			continue
		}
		next, err := p.derived[i].set(v)
		if err != nil {
			if failed == nil {
				failed = make([]bool, len(p.derived))
			}
			failed[i] = true
			bad.add(Violation{Path: p.derived[i].Path, Guard: derivedName, Problem: err.Error(), Err: fmt.Errorf("%w: %w", ErrCompute, err)})
			continue
		}
		v = next
	}
	return v
}

func (p *Pipeline) anyFailed(failed []bool, i int) bool {
	if failed == nil {
		return false
	}
	for _, j := range p.needs[i] {
		if failed[j] {
			return true
		}
	}
	return false
}

// stale tells that the field may not be right in now, given that it was in before.
func (d *Derived) stale(before, now doc.Value) bool {
	if _, there := now.Get(d.Path); !there || changed(before, now, d.Path) {
		return true
	}
	for _, in := range d.Inputs {
		if changed(before, now, in) {
			return true
		}
	}
	return false
}

// set is v with the field computed.
func (d *Derived) set(v doc.Value) (doc.Value, error) {
	inputs := make([]doc.Value, len(d.Inputs))
	for i, in := range d.Inputs {
		inputs[i], _ = v.Get(in)
	}
	field, err := d.call(inputs)
	if err != nil {
		return v, err
	}
	if is, there := v.Get(d.Path); there && is.Equal(field) {
		return v, nil
	}
	next, err := doc.Apply(v, doc.Set(d.Path, field))
	if err != nil {
		return v, fmt.Errorf("cannot be put into the document: %w", err)
	}
	return next, nil
}

// call runs Compute and takes a panic for an error.
func (d *Derived) call(inputs []doc.Value) (v doc.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Where: "Compute of " + d.Path.String(), Value: p}
		}
	}()
	return d.Compute(inputs)
}

// changed tells that the place is not what it was: another value, or there only once.
func changed(before, after doc.Value, at doc.Path) bool {
	was, there := before.Get(at)
	is, still := after.Get(at)
	return there != still || !was.Equal(is)
}
