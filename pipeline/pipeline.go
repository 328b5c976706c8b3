package pipeline

import (
	"errors"

	"github.com/shoalworks/shoal/doc"
)

// Config is what a pipeline does beyond applying operations. The zero Config does nothing
// else. Every function in it must be pure, quick, and safe to call from many goroutines.
type Config struct {
	// Derived are fields that are computed from others. Their order does not matter.
	Derived []Derived
	// Reactions answer changes with further operations, in this order.
	Reactions []Reaction
	// Policies say by path whose changes are taken. Their order does not matter.
	Policies []SourcePolicy
	// Guards judge a change as a whole. All are asked, in this order.
	Guards []Guard
}

// Pipeline is a checked [Config]. It never changes.
type Pipeline struct {
	derived   []Derived // each behind those that it depends on
	needs     [][]int   // for each derived field, the places in derived of those it depends on
	reactions []Reaction
	policies  []SourcePolicy // the longest paths first
	guards    []Guard
}

// New checks the configuration and makes a pipeline of it. The error names everything that
// is wrong: names and paths that are missing or given twice, missing functions, and derived
// fields that overlap or depend on themselves, with the cycle.
func New(c Config) (*Pipeline, error) {
	derived, needs, err := ordered(c.Derived)
	err = errors.Join(err, checkReactions(c.Reactions), checkPolicies(c.Policies), checkGuards(c.Guards))
	if err != nil {
		return nil, err
	}
	return &Pipeline{
		derived: derived, needs: needs,
		reactions: cloneReactions(c.Reactions), policies: clonePolicies(c.Policies), guards: cloneGuards(c.Guards),
	}, nil
}

// Proposal is a transaction that is asked for.
type Proposal struct {
	// Before is the document now. Its derived fields should be right (see [Pipeline.Derive]).
	Before doc.Value
	// Source is who asks.
	Source Source
	// Ops are the operations, in order.
	Ops []doc.Op
}

// Result is what a transaction makes.
type Result struct {
	// After is the document that the transaction makes.
	After doc.Value
	// Edits lead from the document before to After; none if nothing changed.
	Edits []doc.Edit
	// Reports are the complaints that do not refuse the transaction, at most [MaxViolations];
	// further ones are dropped.
	Reports []Violation
}

// Change is what a reaction or a guard is asked about.
type Change struct {
	// Before and After are the document before and after what changed.
	Before, After doc.Value
	// Edits lead from Before to After.
	Edits []doc.Edit
	// Source is who is behind the transaction.
	Source Source
}

// Run takes a proposal through all stages. The error is a [*RefusedError] with all complaints
// of the stage that refused; then nothing has happened. A later stage is not asked about what
// an earlier one refused.
func (p *Pipeline) Run(in Proposal) (Result, error) {
	var bad complaints
	now := p.stage(in.Before, in.Ops, "", &bad)
	if bad.any() {
		return Result{}, bad.refusal()
	}
	now = p.derive(in.Before, now, &bad)
	if bad.any() {
		return Result{}, bad.refusal()
	}
	c := p.settle(in, now, &bad)
	if bad.any() {
		return Result{}, bad.refusal()
	}
	if len(c.Edits) == 0 {
		return Result{After: in.Before}, nil
	}
	reports, err := p.Judge(c)
	if err != nil {
		return Result{}, err
	}
	return Result{After: c.After, Edits: c.Edits, Reports: reports}, nil
}
