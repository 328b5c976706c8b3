package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Role is a part of a [Store].
type Role string

// The roles.
const (
	RoleDurable Role = "durable" // Parts.Durable
	RoleFast    Role = "fast"    // Parts.Fast
	RoleBoards  Role = "boards"
	RoleBus     Role = "bus"
)

// Roles are the parts that the store has: RoleFast only when it is not the durable one.
func (s *Store) Roles() []Role {
	if s.one {
		return []Role{RoleDurable, RoleBoards, RoleBus}
	}
	return []Role{RoleDurable, RoleFast, RoleBoards, RoleBus}
}

// Examination is what a part of a store is, and how it answers.
type Examination struct {
	Role       Role
	Inspected  bool       // the driver tells of its engine
	Inspection Inspection // zero unless Inspected; with the problems of the part in this store
	Abilities  Abilities  // of RoleDurable and RoleFast
	// Read and Write are how long a look at one record (board) and a small write took. Of the
	// bus, Write is how long a message took to come back.
	Read, Write time.Duration
	// Ahead is how far the part's clock is ahead of this machine's, give or take half of Read.
	// Of RoleDurable and RoleFast.
	Ahead time.Duration
}

// Dangers are the problems for which data that Shoal calls safe may be lost.
func (e *Examination) Dangers() []Problem {
	var out []Problem
	for _, p := range e.Inspection.Problems {
		if p.Danger {
			out = append(out, p)
		}
	}
	return out
}

// Examine looks at one part of the store, for operators: what its driver says of the engine, and
// how a read and a write of a probe go. A probe is a record, a board or a message of its own
// ("probe/…"), removed afterwards; when this process dies in the middle, it stays and harms
// nobody. now is this machine's clock. The first thing that fails is the error; what is known by
// then is the answer.
func (s *Store) Examine(ctx context.Context, role Role, now func() time.Time) (Examination, error) {
	p := &probe{role: role, now: now, name: fmt.Sprintf("probe/%s-%s", role, VersionFrom(uint64(now().UnixNano())))}
	p.found.Role = role
	var err error
	switch role {
	case RoleDurable:
		err = p.all(ctx, s.durable, p.records(s.durable))
	case RoleFast:
		err = p.all(ctx, s.fast, p.records(s.fast))
	case RoleBoards:
		err = p.all(ctx, s.boards, p.boards(s.boards))
	case RoleBus:
		err = p.all(ctx, s.bus, p.bus(s.bus))
	default:
		err = &InvalidError{Field: "role", Problem: fmt.Sprintf("a part of a store expected, got %q", role)}
	}
	p.judge()
	if err != nil {
		return p.found, fmt.Errorf("store: examine the %s part: %w", role, err)
	}
	return p.found, nil
}

// probe is one examination under way.
type probe struct {
	role  Role
	now   func() time.Time
	name  string
	found Examination
}

// all inspects the part's driver, if it can be, and then does what is special to the part.
func (p *probe) all(ctx context.Context, part any, special func(context.Context) error) error {
	if i := inspectorOf(part); i != nil {
		inspection, err := i.Inspect(ctx)
		if err != nil {
			return err
		}
		p.found.Inspected, p.found.Inspection = true, inspection
	}
	return special(ctx)
}

// inspectorOf is the driver behind a part, if it tells of its engine.
func inspectorOf(part any) Inspector {
	switch c := part.(type) {
	case checkedRecords:
		part = c.Records
	case checkedBoards:
		part = c.Boards
	case checkedBus:
		part = c.Bus
	}
	i, _ := part.(Inspector)
	return i
}

// took measures f.
func (p *probe) took(d *time.Duration, f func() error) error {
	begun := p.now()
	err := f()
	*d = p.now().Sub(begun)
	return err
}

func (p *probe) records(r Records) func(context.Context) error {
	return func(ctx context.Context) error {
		p.found.Abilities = r.Abilities()
		begun := p.now()
		there, err := r.Now(ctx)
		if err != nil {
			return err
		}
		p.found.Ahead = there.Sub(begun.Add(p.now().Sub(begun) / 2))
		if err := p.took(&p.found.Read, func() error { _, err := r.Get(ctx, p.name); return err }); err != nil {
			return err
		}
		v := VersionFrom(uint64(p.now().UnixNano()))
		put := Write{Key: p.name, Op: Put, Value: []byte(`{"probe":true}`), If: Absent(), Version: v}
		if err := p.took(&p.found.Write, func() error { return r.Commit(ctx, Tx{put})[0] }); err != nil {
			return err
		}
		return r.Commit(ctx, Tx{{Key: p.name, Op: Delete, If: Is(v)}})[0]
	}
}

func (p *probe) boards(b Boards) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := p.took(&p.found.Read, func() error {
			_, err := b.Info(ctx, p.name)
			if errors.Is(err, ErrNoBoard) {
				return nil
			}
			return err
		}); err != nil {
			return err
		}
		if _, err := b.Create(ctx, p.name, BoardSpec{Order: Descending, Generation: "probe"}); err != nil {
			return err
		}
		err := p.took(&p.found.Write, func() error {
			_, err := b.Merge(ctx, p.name, Batch{Rule: Best, Entries: []Submission{{Key: "probe", Score: 1}}})
			return err
		})
		return errors.Join(err, b.Drop(ctx, p.name))
	}
}

func (p *probe) bus(b Bus) func(context.Context) error {
	return func(ctx context.Context) error {
		heard := make(chan struct{}, 1)
		sub, err := b.Subscribe(ctx, p.name, func([]byte) {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
		if err != nil {
			return err
		}
		defer sub.Close()
		return p.took(&p.found.Write, func() error {
			if err := b.Publish(ctx, p.name, []byte("probe")); err != nil {
				return err
			}
			select {
			case <-heard:
				return nil
			case <-ctx.Done():
				return fmt.Errorf("%w: a message did not come back: %w", ErrUnavailable, context.Cause(ctx))
			}
		})
	}
}

// judge adds what is wrong with the part in this store, whatever the engine says of itself.
func (p *probe) judge() {
	var more []Problem
	if p.role == RoleDurable && !p.found.Abilities.Durable && p.found.Read > 0 {
		more = append(more, Problem{What: "what is kept here does not survive the loss of power, and profiles and results are kept here", Danger: true})
	}
	if p.role == RoleDurable && !p.found.Abilities.MultiKey && p.found.Read > 0 {
		more = append(more, Problem{What: "no transaction spans two keys here, so receipts, mail and trades are refused", Danger: true})
	}
	p.found.Inspection.Problems = append(more, p.found.Inspection.Problems...)
}
