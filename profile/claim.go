package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// claim is what must happen exactly once with a commit, outside the profile: records of the
// durable store that are written in one Tx with the save that stores the commit (PROTOCOL.md
// B5). Until that Tx has landed the commit, and all later ones, stay out of the journal, so
// that a takeover can never replay the commit without what it claims.
type claim struct {
	rows []store.Write // conditional ones; the versions they put are never used again
}

// cut is a claim that is not stored yet.
type cut struct {
	claim    *claim
	revision uint64    // of the commit with the claim
	before   doc.Value // the data before it
	schema   int
	marks    []mark
}

// errVoid tells that a claim can not be stored: a record that it puts is there already, or
// has changed. The session has ended; nothing of the commit, or after it, was stored.
var errVoid = errors.New("profile: what the commit claims is taken")

// commitWithClaim commits, and returns when commit and claim are stored, or neither can be.
func (s *Session) commitWithClaim(ctx context.Context, src Source, c *claim, ops ...doc.Op) (Commit, error) {
	out, err := s.transact(proposal{src: src, claim: c, fn: func(doc.Value) ([]doc.Op, error) { return ops, nil }})
	if err != nil {
		return out, err
	}
	return out, s.Save(ctx)
}

// mayClaimLocked refuses a claim while another is being stored, or while the durable store is
// known to be down.
func (s *Session) mayClaimLocked() error {
	switch {
	case s.mu.cut != nil:
		return fmt.Errorf("another claim is being stored: %w", ErrBusy)
	case s.mu.write.fails > 0:
		return fmt.Errorf("the last save did not land: %w", store.ErrUnavailable)
	}
	return nil
}

// mayCarryLocked refuses a claim with data that no save would store.
func (s *Session) mayCarryLocked(c *claim, after doc.Value) error {
	if c != nil && keepStored(s.mu.rec.data, after, s.set.opts.HardBytes) {
		return overHard(s.mu.rec.data, after, s.set.opts.HardBytes)
	}
	return nil
}

// void gives up a claim that can never be stored.
func (s *Session) void(because error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.voidLocked(fmt.Errorf("%w: %w", errVoid, because))
}

// cutLocked begins a claim: what is there now is the last that may be journaled.
func (s *Session) cutLocked(c *claim) {
	s.mu.cut = &cut{claim: c, revision: s.mu.revision + 1, before: s.mu.data, schema: s.mu.schema, marks: s.mu.marks}
	s.mu.journal.tracks.cut(s.mu.data, s.mu.revision)
}

// rowsLocked are the writes that go with the next save.
func (s *Session) rowsLocked() []store.Write {
	if s.mu.cut == nil {
		return nil
	}
	return s.mu.cut.claim.rows
}

// settleCutLocked takes in what the record is known to hold.
func (s *Session) settleCutLocked() {
	if c := s.mu.cut; c != nil && s.mu.rec.revision >= c.revision {
		s.mu.cut = nil
	}
}

// rowTaken reads the records that a claim writes, before the profile's own is read; so a
// claim that has landed by now shows there. It answers why the claim cannot land any more,
// if it cannot.
func (s *Session) rowTaken() (taken, err error) {
	s.mu.Lock()
	rows := s.rowsLocked()
	s.mu.Unlock()
	if len(rows) == 0 {
		return nil, nil
	}
	keys := make([]string, len(rows))
	for i, w := range rows {
		keys[i] = w.Key
	}
	if err := s.set.node.Pass(s.set.life(), node.ClassSave, node.KindRead); err != nil {
		return nil, fmt.Errorf("read claim: %w", err)
	}
	ctx, cancel := s.set.call()
	defer cancel()
	recs, err := s.set.durable.Get(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("read claim: %w", err)
	}
	for i, w := range rows {
		if !w.If.Holds(recs[i].Version) && (w.Op != store.Put || recs[i].Version != w.Version) {
			return fmt.Errorf("%w: %w", errVoid, &store.ConflictError{Key: w.Key}), nil
		}
	}
	return nil, nil
}

// voidLocked takes in that the claim is refused although the record is still this session's.
// What was committed before it is stored by a final save, and the session ends as lost: it
// must not go on with a commit that cannot be stored.
func (s *Session) voidLocked(because error) {
	c := s.mu.cut
	if c == nil {
		return
	}
	s.mu.void = true
	s.mu.data, s.mu.revision, s.mu.schema, s.mu.marks = c.before, c.revision-1, c.schema, c.marks
	s.mu.frozen, s.mu.cut = true, nil
	w := &s.mu.write
	for _, t := range []*ticket{w.flying, w.waiting} {
		if t != nil {
			t.finish(because)
		}
	}
	w.flying, w.waiting = nil, nil
	s.refuseSyncsLocked(because)
	if s.mu.leaving != nil {
		s.mu.leaving.why = Lost
		return
	}
	s.set.tasks.start(func() { s.leave(Lost, nil) })
}
