package profile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
	"github.com/shoalworks/shoal/schema"
)

// Names of the set's own guards. A game's guard cannot have them.
const (
	guardSchema   = "schema"
	guardType     = "type"
	guardValidate = "validate"
	guardSize     = "size"
	guardSoftSize = "soft size"
)

// pipelines are the set's write pipeline, and what data must pass to be opened at all.
type pipelines struct {
	write *pipeline.Pipeline
	form  *pipeline.Pipeline // only the guards on the form of data
}

// newPipelines makes the pipelines of a set that has its options. Their complaints go to s.
func newPipelines(s *Set) (p pipelines, err error) {
	o := &s.opts
	form := []Guard{}
	if o.JSONSchema != nil {
		form = append(form, Guard{Name: guardSchema, Check: o.checkSchema})
	}
	if o.fits != nil {
		form = append(form, Guard{Name: guardType, Check: o.fits})
	}
	if o.Validate != nil {
		form = append(form, Guard{Name: guardValidate, Check: s.checkValid})
	}
	size := []Guard{{Name: guardSize, Check: o.checkSize}}
	if o.SoftBytes > 0 {
		size = append(size, Guard{Name: guardSoftSize, Mode: ReportOnly, Check: func(c Change) []Violation { return overSoft(c, o.SoftBytes) }})
	}
	if p.form, err = pipeline.New(pipeline.Config{Guards: form}); err != nil {
		return p, err
	}
	guards := append(form[:len(form):len(form)], size...)
	p.write, err = pipeline.New(pipeline.Config{
		Derived: o.Derived, Reactions: o.Reactions, Policies: o.SourcePolicies, Guards: append(guards, o.Guards...),
	})
	if err != nil {
		return p, fmt.Errorf("profile: options: %w", err)
	}
	return p, nil
}

// checkSchema holds data against the schema: a change by what it touches, and data that is to
// be opened, which has no edits, as a whole.
func (o *Options) checkSchema(c Change) []Violation {
	var found []schema.Violation
	if len(c.Edits) > 0 {
		found = o.JSONSchema.CheckChange(c.Before, c.After, c.Edits)
	} else {
		found = o.JSONSchema.Check(c.After)
	}
	var out []Violation
	for _, v := range found {
		out = append(out, Violation{Path: v.Path, Problem: fmt.Sprintf("%s (%s)", v.Problem, v.Rule), Err: ErrSchema})
	}
	return out
}

// checkValid asks the game.
func (s *Set) checkValid(c Change) []Violation {
	err := s.validate(c.After)
	if err == nil {
		return nil
	}
	return []Violation{{Problem: strings.TrimPrefix(err.Error(), ErrSchema.Error()+": "), Err: err}}
}

// checkSize holds a change against the hard budget.
func (o *Options) checkSize(c Change) []Violation {
	err := overHard(c.Before, c.After, o.HardBytes)
	if size := (*SizeError)(nil); errors.As(err, &size) {
		return []Violation{{Path: size.Path, Err: err}}
	}
	return nil
}

// staged is what a transaction would make of the data.
type staged struct {
	after   doc.Value
	edits   []doc.Edit // from the data before to the data after
	reports []Violation
}

// stage runs a transaction on data, in memory and without a session: all or nothing. What it
// refuses is a *RefusedError.
func (s *Set) stage(before doc.Value, src Source, ops []doc.Op) (staged, error) {
	if src.Kind == "" {
		src.Kind = SourceGame
	}
	res, err := s.pipes.write.Run(pipeline.Proposal{Before: before, Source: src, Ops: ops})
	if err != nil {
		s.countPanics(err)
		return staged{}, err
	}
	return staged{res.After, res.Edits, res.Reports}, nil
}

// prepared is data in the live form as it is opened: with derived fields computed anew. It is
// an ErrSchema if they cannot be, or if the data is not valid. Reactions and other guards
// judge changes, and so have no say here.
func (s *Set) prepared(live doc.Value) (doc.Value, error) {
	data, err := s.pipes.write.Derive(live)
	if err != nil {
		s.countPanics(err)
		return live, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	if _, err := s.pipes.form.Judge(Change{After: data, Source: Source{Kind: SourceSystem}}); err != nil {
		s.countPanics(err)
		return live, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return data, nil
}

// countPanics counts the complaints that are panics of the game's own code. Those of Validate
// are counted where they are caught.
func (s *Set) countPanics(err error) {
	r := (*RefusedError)(nil)
	if !errors.As(err, &r) {
		return
	}
	for _, v := range r.Violations {
		if p := (*PanicError)(nil); v.Guard != guardValidate && errors.As(v.Err, &p) {
			s.stats.panics.Add(1)
		}
	}
}
