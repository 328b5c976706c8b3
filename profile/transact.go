package profile

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/shoalworks/shoal/doc"
)

// Transact applies operations to the data, all or none, in memory: it never waits for a
// store. What it returns is durable once Sync, Save or an autosave has acknowledged its
// revision. Operations that change nothing make no commit, unless the source has an ID.
//
// It refuses with a [RefusedError], which has every complaint with its path and is what they
// are (an error of package doc, ErrTooLarge, ErrSchema, ErrPolicy and so on), or with
// ErrRepeated, ErrBusy or ErrEnded (ErrLost); then nothing was applied.
func (s *Session) Transact(src Source, ops ...doc.Op) (Commit, error) {
	digest := ""
	if src.ID != "" {
		var err error
		if digest, err = doc.OpsDigest(ops); err != nil {
			return s.refused(err)
		}
	}
	return s.transact(proposal{src: src, digest: digest, fn: func(doc.Value) ([]doc.Op, error) { return ops, nil }})
}

// Change is Transact with operations that depend on the data: fn gets what is there now and
// answers what to do, and nothing else commits in between. fn must be pure and quick, and
// must not call the session. An error of fn is returned, and nothing was applied. With
// Source.ID the id alone decides whether the request is known.
func (s *Session) Change(src Source, fn func(doc.Value) ([]doc.Op, error)) (Commit, error) {
	return s.transact(proposal{src: src, fn: fn})
}

// proposal is a transaction that is asked for.
type proposal struct {
	src    Source
	digest string // of the request, if it comes with an id
	fn     func(doc.Value) ([]doc.Op, error)
	claim  *claim // what is to happen exactly once with it; nil: nothing
}

func (s *Session) refused(err error) (Commit, error) {
	s.set.stats.refused.Add(1)
	var ended *EndedError
	if errors.As(err, &ended) {
		return Commit{}, err
	}
	return Commit{}, fmt.Errorf("profile: transact %s: %w", s.key, err)
}

func (s *Session) transact(p proposal) (Commit, error) {
	c, err := s.propose(p)
	if err != nil {
		return s.refused(err)
	}
	s.report(c)
	s.deliver()
	return c, nil
}

// propose is a transaction up to its commit.
func (s *Session) propose(p proposal) (Commit, error) {
	s.change.Lock()
	defer s.change.Unlock()
	before, known, err := s.admit(p)
	if err != nil || known.Repeated {
		return known, err
	}
	ops, err := p.fn(before)
	if err != nil {
		return Commit{}, err
	}
	if p.src.Kind == "" {
		p.src.Kind = SourceGame
	}
	st, err := s.set.stage(before, p.src, ops)
	if err != nil {
		return Commit{}, err
	}
	if len(st.edits) == 0 && p.src.ID == "" && p.claim == nil {
		return Commit{Revision: known.Revision, Source: p.src, Data: before}, nil
	}
	return s.commit(Commit{
		ID: p.src.ID, Revision: known.Revision, Time: s.set.node.Now(), Source: p.src, Edits: st.edits, Data: st.after, Reports: st.reports,
	}, p)
}

// admit lets a transaction in, or answers it from the ids that are remembered.
func (s *Session) admit(p proposal) (doc.Value, Commit, error) {
	src, digest := p.src, p.digest
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLocked(); err != nil {
		return doc.Value{}, Commit{}, err
	}
	if p.claim != nil {
		if err := s.mayClaimLocked(p.claim); err != nil {
			return doc.Value{}, Commit{}, err
		}
	}
	now := Commit{Revision: s.mu.revision}
	if src.ID == "" {
		return s.mu.data, now, nil
	}
	m, ok := record{marks: s.mu.marks}.marked(src.ID)
	if !ok {
		return s.mu.data, now, nil
	}
	if m.digest != digest && m.digest != "" && digest != "" {
		return doc.Value{}, Commit{}, fmt.Errorf("id %q: %w", src.ID, ErrRepeated)
	}
	return doc.Value{}, Commit{Revision: m.revision, ID: m.id, Source: src, Repeated: true}, nil
}

// openLocked refuses while the session is frozen, has ended, or has a listener that holds up
// the others.
func (s *Session) openLocked() error {
	switch {
	case s.mu.reason != 0, s.mu.void:
		return s.endedLocked()
	case s.mu.frozen:
		return fmt.Errorf("a final save is under way: %w", ErrBusy)
	case s.mu.trade != nil:
		return fmt.Errorf("a trade is under way: %w", ErrBusy)
	case len(s.mu.publish.queue) >= maxUnpublished:
		return fmt.Errorf("%d commits wait for the listener %s: %w", maxUnpublished, s.currentListenerLocked(), ErrBusy)
	}
	return nil
}

// commit makes the staged change the session's data, unless the session was frozen
// meanwhile. c has the revision of the data that it was made of; a trade may have come and gone
// since.
func (s *Session) commit(c Commit, p proposal) (Commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLocked(); err != nil {
		return Commit{}, err
	}
	if c.Revision != s.mu.revision {
		return Commit{}, fmt.Errorf("a trade came between: %w", ErrBusy)
	}
	if err := s.mayCarryLocked(p.claim, c.Data); err != nil {
		return Commit{}, err
	}
	wasDirty := s.dirtyLocked()
	c.Revision++
	named := c.ID != ""
	if !named {
		c.ID = commitID(s.epoch, c.Revision)
	}
	if p.claim != nil {
		c.Claim = p.claim.label()
		s.cutLocked(p.claim, c)
	}
	kept := s.rememberLocked(s.mu.data, c)
	s.mu.data, s.mu.revision = c.Data, c.Revision
	if named {
		s.mu.marks = record{marks: s.mu.marks}.withMarks(mark{id: c.ID, revision: c.Revision, digest: p.digest})
	}
	s.publishLocked(kept)
	s.set.stats.commits.Add(1)
	s.noteSizeLocked()
	s.dirtiedLocked()
	if !wasDirty {
		s.planLocked()
	}
	return c, nil
}

// noteSizeLocked counts when the data comes to be over the soft budget.
func (s *Session) noteSizeLocked() {
	soft, size := s.set.opts.SoftBytes, s.mu.data.Size()
	over := soft > 0 && size > soft
	if over && !s.mu.overSoft {
		s.set.stats.overSoft.Add(1)
	}
	s.mu.overSoft = over
}

func commitID(epoch, revision uint64) string {
	var buf [41]byte
	out := strconv.AppendUint(buf[:0], epoch, 10)
	out = append(out, '-')
	return string(strconv.AppendUint(out, revision, 10))
}

// validate runs the game's own check, and takes a panic for a refusal.
func (s *Set) validate(v doc.Value) (err error) {
	if s.opts.Validate == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			s.stats.panics.Add(1)
			err = fmt.Errorf("%w: %w", ErrSchema, &PanicError{Where: "Validate", Value: p})
		}
	}()
	if err := s.opts.Validate(v); err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return nil
}
