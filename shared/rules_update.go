package shared

import (
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
	"github.com/shoalworks/shoal/store"
)

// This file holds the rules of a change, without I/O, clock or chance.

// sent is a write on its way, or one whose answer was lost.
type sent struct {
	base    store.Version // its condition
	from    uint64        // the revision at base
	version store.Version // its own
	next    record
	id      string
	doubt   bool // an answer was lost
}

// fate is what a reading tells about a write whose answer was lost.
type fate uint8

const (
	fateDone    fate = iota + 1 // it was applied
	fateNot                     // it was not, and never will be
	fateOpen                    // it was not, but still may be: the same write again decides
	fateUnknown                 // nobody can tell any more
)

// fateOf decides about a write that asked for s.base. Versions never come back, so once the
// record has another one than s.base the write is refused for ever, or was applied before.
func fateOf(s sent, now reading) fate {
	switch {
	case now.version == s.version:
		return fateDone
	case now.version == s.base:
		return fateOpen
	case now.problem != nil, now.version == 0:
		return fateUnknown // somebody has put something else there, or taken it away
	}
	if _, ok := now.record.marked(s.id); ok {
		return fateDone
	}
	if now.record.revision > s.from && now.record.revision-s.from <= maxAnonymous {
		return fateNot // it would still be among the marks
	}
	return fateUnknown
}

// proposal is a change that is asked for.
type proposal struct {
	src    Source
	id     string // of the source, or drawn
	digest string // of the request, if it comes with an id
	fn     func(doc.Value) ([]doc.Op, error)
	remove bool
}

// plan is what to do about a proposal.
type plan struct {
	next     record // to be written
	write    bool
	repeated mark // the change is known: this one
}

// propose applies a proposal to what is stored.
func propose(p proposal, now reading, o *Options, at time.Time) (plan, error) {
	if now.problem != nil {
		return plan{}, now.problem
	}
	if m, ok := now.record.marked(p.id); ok {
		if m.digest != p.digest && m.digest != "" && p.digest != "" {
			return plan{}, fmt.Errorf("id %q: %w", p.id, ErrRepeated)
		}
		return plan{repeated: m}, nil
	}
	next := now.record
	if p.remove {
		if !now.there() {
			return plan{}, nil
		}
		next.data, next.deleted = doc.Value{}, form.Stamp(at)
		return plan{next: stepped(next, p, at), write: true}, nil
	}
	before := now.record.data
	if !now.there() {
		before, next.created, next.deleted = o.Template, form.Stamp(at), time.Time{}
	}
	ops, err := p.fn(before)
	if err != nil {
		return plan{}, err
	}
	if next.data, err = doc.Apply(before, ops...); err != nil {
		return plan{}, err
	}
	if p.src.ID == "" && next.data.Equal(before) {
		return plan{}, nil
	}
	if err := fits(before, next.data, o); err != nil {
		return plan{}, err
	}
	return plan{next: stepped(next, p, at), write: true}, nil
}

// stepped is a record that was changed, one revision on.
func stepped(r record, p proposal, at time.Time) record {
	r.revision++
	r.updated = form.Stamp(at)
	r.by = author{actor: p.src.Actor, note: p.src.Note}
	r.marks = r.remembering(mark{id: p.id, revision: r.revision, digest: p.digest, own: p.src.ID == ""})
	return r
}

// fits refuses a document that is too large or not valid. One that is over the budget already
// may shrink.
func fits(before, after doc.Value, o *Options) error {
	if size := after.Size(); size > o.HardBytes && size > before.Size() {
		at, _ := doc.Growth(before, after)
		return &SizeError{Path: at, Size: size, Limit: o.HardBytes}
	}
	return validate(o.Validate, after)
}

// validate runs the game's own check, and takes a panic for a refusal.
func validate(check func(doc.Value) error, v doc.Value) (err error) {
	if check == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: Validate panicked: %v", ErrInvalid, p)
		}
	}()
	if err := check(v); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
