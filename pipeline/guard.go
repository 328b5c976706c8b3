package pipeline

import (
	"errors"
	"fmt"
	"slices"
)

// Mode says what a complaint does.
type Mode uint8

// The modes; the zero Mode is Block.
const (
	Block      Mode = iota // the transaction is refused
	ReportOnly             // the transaction is accepted, and the complaint is reported
)

// String is "block" or "report".
func (m Mode) String() string {
	switch m {
	case Block:
		return "block"
	case ReportOnly:
		return "report"
	}
	return "unknown"
}

// Guard judges what a transaction makes.
type Guard struct {
	// Name of the guard, for complaints, logs and counts.
	Name string
	// Mode says whether its complaints refuse the transaction. Default Block.
	Mode Mode
	// Check returns its complaints about a change, none if all is well; the guard's name is
	// filled in. It must be pure. A panic refuses the transaction, whatever Mode is.
	Check func(Change) []Violation
}

// Judge asks the policies and all guards about a change that was made elsewhere. The error is
// a [*RefusedError]; reports are the complaints that do not refuse it.
func (p *Pipeline) Judge(c Change) (reports []Violation, err error) {
	var bad, said complaints
	p.judge(c, &bad, &said)
	if bad.any() {
		return nil, bad.refusal()
	}
	return said.list, nil
}

// judge asks the policies and all guards.
func (p *Pipeline) judge(c Change, bad, reports *complaints) {
	p.judgePolicies(c, bad, reports)
	for i := range p.guards {
		g := &p.guards[i]
		found, err := g.call(c)
		if err != nil {
			bad.add(Violation{Guard: g.Name, Err: err})
			continue
		}
		to := g.Mode.sink(bad, reports)
		for _, v := range found {
			v.Guard = g.Name
			to.add(v)
		}
	}
}

// sink is where complaints of a mode go.
func (m Mode) sink(bad, reports *complaints) *complaints {
	if m == ReportOnly {
		return reports
	}
	return bad
}

// call runs Check and takes a panic for an error.
func (g *Guard) call(c Change) (found []Violation, err error) {
	defer func() {
		if p := recover(); p != nil {
			found, err = nil, fmt.Errorf("%w: %w", ErrGuard, &PanicError{Where: "guard " + g.Name, Value: p})
		}
	}()
	return g.Check(c), nil
}

func checkGuards(guards []Guard) error {
	var errs []error
	for i, g := range guards {
		errs = append(errs, checkNamed("guard", g.Name, i, g.Check != nil))
		if g.Mode > ReportOnly {
			errs = append(errs, fmt.Errorf("pipeline: guard %q: Block or ReportOnly expected, got mode %d", g.Name, g.Mode))
		}
		if slices.ContainsFunc(guards[:i], func(o Guard) bool { return o.Name == g.Name }) {
			errs = append(errs, fmt.Errorf("pipeline: two guards are called %q", g.Name))
		}
	}
	return errors.Join(errs...)
}

func cloneGuards(in []Guard) []Guard { return slices.Clone(in) }
