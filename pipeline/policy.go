package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// SourcePolicy says whose changes of a place, and of what lies below it, are taken. Of several
// that concern a place, the one with the longest path decides alone. A place that no policy
// concerns is open to all. Derived fields are not concerned: nobody writes them. What
// reactions change counts as changed by the source of the transaction.
type SourcePolicy struct {
	// Path is the place. The whole document is every place without a policy of its own.
	Path doc.Path
	// Allow lists the kinds of sources that may change the place. Default: all.
	Allow []SourceKind
	// Deny lists kinds that may not, even if Allow has them. Default: none.
	Deny []SourceKind
	// Raise restricts only what makes the number at Path larger, so that currency that only a
	// receipt may give can be spent by all. Nothing there counts as 0. A change from or to
	// what is no number is restricted in any case.
	Raise bool
	// Mode says whether its complaints refuse the transaction. Default Block.
	Mode Mode
}

// policyName is what complaints of policies call their guard.
const policyName = "policy"

// judgePolicies holds every edit against the policy of its place, and a coarse edit also
// against those of what it changed further down.
func (p *Pipeline) judgePolicies(c Change, bad, reports *complaints) {
	if len(p.policies) == 0 {
		return
	}
	for _, e := range c.Edits {
		if p.inDerived(e.Path) {
			continue
		}
		decided := false
		for i := range p.policies { // the longest paths first
			pol := &p.policies[i]
			at := e.Path
			switch {
			case !decided && e.Path.HasPrefix(pol.Path):
				decided = true
			case pol.Path.Len() > e.Path.Len() && pol.Path.HasPrefix(e.Path) && changed(c.Before, c.After, pol.Path) && !p.inDerived(pol.Path):
				at = pol.Path
			default:
				continue
			}
			if !pol.admits(c) {
				pol.Mode.sink(bad, reports).add(pol.violation(at, c.Source.Kind))
			}
		}
	}
}

// inDerived tells that the place is or lies in a derived field.
func (p *Pipeline) inDerived(at doc.Path) bool {
	return slices.ContainsFunc(p.derived, func(d Derived) bool { return at.HasPrefix(d.Path) })
}

// admits tells that the change's source may have changed the policy's place so.
func (p *SourcePolicy) admits(c Change) bool {
	if p.Raise && !raised(c, p.Path) {
		return true
	}
	return (len(p.Allow) == 0 || slices.Contains(p.Allow, c.Source.Kind)) && !slices.Contains(p.Deny, c.Source.Kind)
}

// raised tells that the number at the place became larger, or that it is none.
func raised(c Change, at doc.Path) bool {
	was, there := c.Before.Get(at)
	if !there {
		was = doc.Int(0)
	}
	is, there := c.After.Get(at)
	if !there {
		is = doc.Int(0)
	}
	a, ok := was.AsInt()
	b, also := is.AsInt()
	if ok && also {
		return b > a
	}
	x, ok := was.AsFloat()
	y, also := is.AsFloat()
	return !ok || !also || y > x
}

func (p *SourcePolicy) violation(at doc.Path, kind SourceKind) Violation {
	verb := "change"
	if p.Raise {
		verb = "raise"
	}
	return Violation{
		Path: at, Guard: policyName, Err: ErrPolicy,
		Problem: fmt.Sprintf("a source of kind %q may not %s it; allowed: %s", kind, verb, p.open()),
	}
}

// open names the kinds that may.
func (p *SourcePolicy) open() string {
	kinds := make([]string, 0, len(p.Allow))
	for _, k := range p.Allow {
		if !slices.Contains(p.Deny, k) {
			kinds = append(kinds, string(k))
		}
	}
	switch {
	case len(kinds) > 0:
		return strings.Join(kinds, ", ")
	case len(p.Allow) > 0:
		return "nobody"
	}
	for _, k := range p.Deny {
		kinds = append(kinds, string(k))
	}
	return "all but " + strings.Join(kinds, ", ")
}

func checkPolicies(policies []SourcePolicy) error {
	var errs []error
	for i, p := range policies {
		if p.Mode > ReportOnly {
			errs = append(errs, fmt.Errorf("pipeline: policy %q: Block or ReportOnly expected, got mode %d", p.Path, p.Mode))
		}
		if slices.ContainsFunc(policies[:i], func(o SourcePolicy) bool { return o.Path.Equal(p.Path) }) {
			errs = append(errs, fmt.Errorf("pipeline: two policies for %q", p.Path))
		}
	}
	return errors.Join(errs...)
}

// clonePolicies sorts the longest paths first.
func clonePolicies(in []SourcePolicy) []SourcePolicy {
	out := slices.Clone(in)
	for i := range out {
		out[i].Allow, out[i].Deny = slices.Clone(out[i].Allow), slices.Clone(out[i].Deny)
	}
	slices.SortStableFunc(out, func(a, b SourcePolicy) int { return b.Path.Len() - a.Path.Len() })
	return out
}
