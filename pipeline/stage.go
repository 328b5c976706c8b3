package pipeline

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

// stage is v with the operations applied. If some do not fit, each is a complaint, in the name
// of by, and what comes back is not to be used.
func (p *Pipeline) stage(v doc.Value, ops []doc.Op, by string, bad *complaints) doc.Value {
	if !p.writesDerived(ops) {
		next, err := doc.Apply(v, ops...)
		if err == nil {
			return next
		}
	}
	draft := doc.NewDraft(v)
	for i := range ops {
		if err := p.try(draft, ops[i:i+1]); err != nil {
			bad.add(misfit(ops[i], i, by, err))
		}
	}
	return draft.Value()
}

// try stages one operation. A refused one leaves the draft as it was.
func (p *Pipeline) try(draft *doc.Draft, one []doc.Op) error {
	if at, writes := p.derivedBy(&one[0]); writes {
		return fmt.Errorf("%w: %q", ErrDerived, at)
	}
	err := draft.Apply(one...)
	if op := (*doc.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

// misfit is the complaint about an operation.
func misfit(op doc.Op, index int, by string, err error) Violation {
	v := Violation{
		Path: op.Path, Guard: by,
		Problem: fmt.Sprintf("op %d, %s: %v", index, op.Kind, err),
		Err:     &doc.OpError{Index: index, Op: op.Kind, Path: op.Path, Err: err},
	}
	if by != "" {
		v.Err = fmt.Errorf("%w: %s: %w", ErrReaction, by, v.Err)
	}
	return v
}

func (p *Pipeline) writesDerived(ops []doc.Op) bool {
	if len(p.derived) == 0 {
		return false
	}
	for i := range ops {
		if _, writes := p.derivedBy(&ops[i]); writes {
			return true
		}
	}
	return false
}

// derivedBy is the derived field that an operation wants to write: the field itself, a place
// in it, or, by a merge from further up, a member that leads to it. Replacing what is above a
// field is none of these: the field is computed anew then.
func (p *Pipeline) derivedBy(op *doc.Op) (doc.Path, bool) {
	for i := range p.derived {
		at := p.derived[i].Path
		if op.Path.HasPrefix(at) || op.Kind == doc.OpMerge && merges(op, at) {
			return at, true
		}
	}
	return doc.Path{}, false
}

// merges tells that a merge names the place.
func merges(op *doc.Op, at doc.Path) bool {
	if !at.HasPrefix(op.Path) {
		return false
	}
	_, named := op.Value.Get(doc.P(at.Segments()[op.Path.Len():]...))
	return named
}
