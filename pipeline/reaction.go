package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// MaxRounds is how many rounds of reactions a transaction may take.
const MaxRounds = 16

// Reaction answers a change of the document with operations that join the transaction.
//
// Reactions go in rounds. In the first they are shown what the transaction's own operations
// changed, in each further one what the round before changed, derived fields included. So
// each reaction sees each change once. In a round all see the same document; what they answer
// is applied in their order when all have been asked.
type Reaction struct {
	// Name of the reaction, for complaints.
	Name string
	// On are the places that it watches: it is asked when something at or below one of them
	// has changed. Default: every change.
	On []doc.Path
	// React returns the operations, none if there is nothing to do. Change.Before and After
	// are the document before and after the round's change. It must be pure. An error, a
	// panic, or an operation that does not fit refuses the transaction.
	React func(Change) ([]doc.Op, error)
}

// settle runs reactions until nothing changes that one of them watches. It returns the whole
// change of the transaction.
func (p *Pipeline) settle(in Proposal, now doc.Value, bad *complaints) Change {
	whole := Change{Before: in.Before, After: now, Edits: doc.Diff(in.Before, now), Source: in.Source}
	last, restless := whole, []string(nil)
	for round := 0; p.watched(last); round++ {
		if round == MaxRounds {
			bad.add(unsettled(last, restless))
			return whole
		}
		var next doc.Value
		next, restless = p.react(last, bad)
		if !bad.any() {
			next = p.derive(last.After, next, bad)
		}
		if bad.any() {
			return whole
		}
		last = Change{Before: last.After, After: next, Edits: doc.Diff(last.After, next), Source: in.Source}
	}
	if !last.After.Equal(now) {
		whole.After, whole.Edits = last.After, doc.Diff(in.Before, last.After)
	}
	return whole
}

// watched tells that a reaction wants to see the change.
func (p *Pipeline) watched(c Change) bool {
	return slices.ContainsFunc(p.reactions, func(r Reaction) bool { return r.watches(c) })
}

func (r *Reaction) watches(c Change) bool {
	if len(c.Edits) == 0 {
		return false
	}
	return len(r.On) == 0 || slices.ContainsFunc(r.On, func(at doc.Path) bool { return changed(c.Before, c.After, at) })
}

// react is one round. It names the reactions that changed something.
func (p *Pipeline) react(c Change, bad *complaints) (next doc.Value, restless []string) {
	next = c.After
	for i := range p.reactions {
		r := &p.reactions[i]
		if !r.watches(c) {
			continue
		}
		ops, err := r.call(c)
		if err != nil {
			bad.add(Violation{Guard: r.Name, Problem: err.Error(), Err: fmt.Errorf("%w: %s: %w", ErrReaction, r.Name, err)})
			continue
		}
		was := next
		if next = p.stage(was, ops, r.Name, bad); !next.Equal(was) {
			restless = append(restless, r.Name)
		}
	}
	return next, restless
}

// call runs React and takes a panic for an error.
func (r *Reaction) call(c Change) (ops []doc.Op, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Where: "reaction " + r.Name, Value: p}
		}
	}()
	return r.React(c)
}

// unsettled is the complaint about reactions that still change something, at the first place
// that they changed last.
func unsettled(last Change, restless []string) Violation {
	err := fmt.Errorf("%w after %d rounds: %s", ErrUnsettled, MaxRounds, strings.Join(restless, ", "))
	return Violation{Path: last.Edits[0].Path, Guard: restless[0], Err: err}
}

func checkReactions(reactions []Reaction) error {
	var errs []error
	for i, r := range reactions {
		errs = append(errs, checkNamed("reaction", r.Name, i, r.React != nil))
		if slices.ContainsFunc(reactions[:i], func(o Reaction) bool { return o.Name == r.Name }) {
			errs = append(errs, fmt.Errorf("pipeline: two reactions are called %q", r.Name))
		}
	}
	return errors.Join(errs...)
}

// checkNamed reports a missing name or function.
func checkNamed(what, name string, i int, callable bool) error {
	switch {
	case name == "":
		return fmt.Errorf("pipeline: %s %d has no name", what, i)
	case !callable:
		return fmt.Errorf("pipeline: %s %q: the function is missing", what, name)
	}
	return nil
}

func cloneReactions(in []Reaction) []Reaction {
	out := slices.Clone(in)
	for i := range out {
		out[i].On = slices.Clone(out[i].On)
	}
	return out
}
