package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

// Names of the set's own guards. A game's guard cannot have them.
const (
	guardForm     = "form"
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
	if o.Form != nil {
		form = append(form, Guard{Name: guardForm, Check: o.checkForm})
	}
	if o.Validate != nil {
		form = append(form, Guard{Name: guardValidate, Check: func(c Change) []Violation { return complaint(s.validate(c.After)) }})
	}
	size := []Guard{{Name: guardSize, Check: func(c Change) []Violation { return complaint(overHard(c.Before, c.After, o.HardBytes)) }}}
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

// complaint is an error as the complaint of a guard.
func complaint(err error) []Violation {
	if err == nil {
		return nil
	}
	v := Violation{Err: err}
	if size := (*SizeError)(nil); errors.As(err, &size) {
		v.Path = size.Path
	}
	return []Violation{v}
}

// checkForm asks the game whether data has its form.
func (o *Options) checkForm(c Change) []Violation {
	found := o.Form(c)
	for i, v := range found {
		switch {
		case v.Err == nil:
			found[i].Err = ErrSchema
		case !errors.Is(v.Err, ErrSchema):
			found[i].Err = fmt.Errorf("%w: %w", ErrSchema, v.Err)
		}
	}
	return found
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

// prepared is data in the live form as it is opened: with derived fields computed anew. It is an ErrSchema if they cannot be, or if the data does not
// have its form. Reactions and other guards judge changes, and so have no say here.
func (s *Set) prepared(live doc.Value) (doc.Value, error) {
	data, err := s.pipes.write.Derive(live)
	if err != nil {
		s.countPanics(err)
		return live, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	if _, err := s.pipes.form.Judge(Change{After: data, Source: Source{Kind: SourceSystem}}); err != nil {
		s.countPanics(err)
		if !errors.Is(err, ErrSchema) { // the form guard has panicked
			err = fmt.Errorf("%w: %w", ErrSchema, err)
		}
		return live, err
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
