package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// ordered sorts derived fields so that each comes behind those that it depends on, and says
// which these are. It reports everything that is wrong with them.
func ordered(fields []Derived) ([]Derived, [][]int, error) {
	if err := checkDerived(fields); err != nil {
		return nil, nil, err
	}
	o := ordering{fields: fields, needs: make([][]int, len(fields)), state: make([]visit, len(fields))}
	for i := range fields {
		o.needs[i] = dependencies(fields, i)
	}
	for i := range fields {
		o.visit(i)
	}
	if len(o.errs) > 0 {
		return nil, nil, errors.Join(o.errs...)
	}
	place := make([]int, len(fields))
	for at, i := range o.order {
		place[i] = at
	}
	out, needs := make([]Derived, len(fields)), make([][]int, len(fields))
	for at, i := range o.order {
		out[at] = fields[i]
		out[at].Inputs = slices.Clone(fields[i].Inputs)
		for _, j := range o.needs[i] {
			needs[at] = append(needs[at], place[j])
		}
	}
	return out, needs, nil
}

// checkDerived reports what is wrong with each field, and which of them overlap.
func checkDerived(fields []Derived) error {
	var errs []error
	for i, d := range fields {
		switch {
		case d.Path.IsRoot():
			errs = append(errs, fmt.Errorf("pipeline: derived field %d: the whole document cannot be derived", i))
		case slices.Contains(d.Path.Segments(), "-"):
			errs = append(errs, fmt.Errorf("pipeline: derived field %q: a path through %q would add to a list", d.Path, "-"))
		}
		if d.Compute == nil {
			errs = append(errs, fmt.Errorf("pipeline: derived field %q: Compute is missing", d.Path))
		}
		for _, other := range fields[:i] {
			if overlap(d.Path, other.Path) {
				errs = append(errs, fmt.Errorf("pipeline: derived fields %q and %q overlap", other.Path, d.Path))
			}
		}
	}
	return errors.Join(errs...)
}

// dependencies are the fields that field i reads.
func dependencies(fields []Derived, i int) []int {
	var out []int
	for j := range fields {
		if slices.ContainsFunc(fields[i].Inputs, func(in doc.Path) bool { return overlap(in, fields[j].Path) }) {
			out = append(out, j)
		}
	}
	return out
}

// overlap tells that one path is the other or lies below it.
func overlap(a, b doc.Path) bool { return a.HasPrefix(b) || b.HasPrefix(a) }

type visit uint8

const (
	unseen  visit = iota
	entered       // it is on the trail
	done
)

// ordering is a walk through the dependencies, deepest first.
type ordering struct {
	fields []Derived
	needs  [][]int
	state  []visit
	trail  []int
	order  []int
	errs   []error
}

func (o *ordering) visit(i int) {
	switch o.state[i] {
	case done:
		return
	case entered:
		o.errs = append(o.errs, o.cycle(i))
		return
	case unseen:
	}
	o.state[i], o.trail = entered, append(o.trail, i)
	for _, j := range o.needs[i] {
		o.visit(j)
	}
	o.state[i], o.trail = done, o.trail[:len(o.trail)-1]
	o.order = append(o.order, i)
}

// cycle names the fields from i back to i.
func (o *ordering) cycle(i int) error {
	var names []string
	for _, j := range o.trail[slices.Index(o.trail, i):] {
		names = append(names, o.fields[j].Path.String())
	}
	names = append(names, o.fields[i].Path.String())
	return fmt.Errorf("pipeline: derived fields depend on themselves: %s", strings.Join(names, " ← "))
}
