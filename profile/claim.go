package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// claim is what must happen exactly once with a commit, outside the profile: records of the
// durable store that are written in one Tx with the save that stores the commit (PROTOCOL.md
// B5). Until that Tx has landed the commit, and all later ones, stay out of the journal, so
// that a takeover can never replay the commit without what it claims.
type claim struct {
	name    string        // what is claimed, for those who would claim it again; empty: nobody would
	rows    []store.Write // conditional ones; the versions they put are never used again
	handled *handled      // the mail that the commit deals with; nil: none
	// sign makes the value of the first row once the commit is known. It is pure; nil: the
	// value is there.
	sign func(Commit) []byte
	// stored tells those who wait how it ended: nil when commit and rows are stored. Once
	// the commit is made it is answered for certain, at the latest by the session's end.
	stored *ticket
}

// cut is a claim that is not stored yet.
type cut struct {
	claim    *claim
	commit   Commit    // the one with the claim
	revision uint64    // of the commit with the claim
	before   doc.Value // the data before it
	schema   int
	marks    []mark
	handled  []handled
	told     bool // those who wait for the claim know how it ended
}

// tell answers them, once.
func (c *cut) tell(err error) {
	if !c.told {
		c.told = true
		c.claim.stored.finish(err)
	}
}

const (
	// maxCuts bounds the claims of a session that are not stored yet; more are refused with
	// ErrBusy.
	maxCuts = 64
	// maxClaimBytes bounds what they write; more is refused with ErrBusy.
	maxClaimBytes = 2 << 20
	// maxClaimRows bounds the records that they write: all go into one Tx with the profile's
	// own, and whatever else belongs there. More are refused with ErrBusy.
	maxClaimRows = store.MaxTxWrites - 16
)

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

// pending is what a claim of this name that is not stored yet was committed with, and the
// ticket of its end; nil when there is none.
func (s *Session) pending(name string) (Commit, *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.mu.cuts {
		if c.claim.name == name && name != "" {
			return c.commit, c.claim.stored
		}
	}
	return Commit{}, nil
}

// settled waits until a claim that was committed is stored, or certainly is not: nil, an
// errVoid, or an ErrUnknown when ctx or the session ends before that is known.
func (s *Session) settled(ctx context.Context, t *ticket) error {
	s.hurryClaim(t)
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), store.ErrUnknown)
	}
}

// hurryClaim has the claim stored by a save that is sent at once.
func (s *Session) hurryClaim(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-t.done:
	default:
		if s.mu.reason == 0 && s.mu.write.fails == 0 { // else the back-off decides
			s.joinLocked()
		}
	}
}

// mayClaimLocked refuses a claim while too many are being stored, or one of the same record, or while
// the durable store is known to be down.
func (s *Session) mayClaimLocked(c *claim) error {
	bytes, rows, n := c.size(), len(c.rows), len(s.mu.cuts)
	if h := c.handled; h != nil {
		if err := mayHandle(s.mu.handled, h.id); err != nil {
			return err
		}
	}
	for _, other := range s.mu.cuts {
		bytes, rows = bytes+other.claim.size(), rows+len(other.claim.rows)
		if c.name != "" && c.name == other.claim.name {
			return fmt.Errorf("%s is being stored: %w", c.name, ErrBusy)
		}
		if key, both := c.shares(other.claim); both {
			return fmt.Errorf("%s is being stored: %w", key, ErrBusy)
		}
	}
	switch {
	case n >= maxCuts, n > 0 && bytes > maxClaimBytes, n > 0 && rows > maxClaimRows:
		return fmt.Errorf("%d claims are being stored: %w", n, ErrBusy)
	case s.mu.write.fails > 0:
		return fmt.Errorf("the last save did not land: %w", store.ErrUnavailable)
	}
	return nil
}

// shares is a record that both claims write.
func (c *claim) shares(other *claim) (key string, both bool) {
	for _, w := range c.rows {
		if slices.ContainsFunc(other.rows, func(o store.Write) bool { return o.Key == w.Key }) {
			return w.Key, true
		}
	}
	return "", false
}

// label is how commits, the history and the audit log name it.
func (c *claim) label() string {
	switch {
	case c.name != "":
		return c.name
	case c.handled != nil:
		return "mail/" + c.handled.id
	case len(c.rows) > 0 && !c.keepsVersion():
		return c.rows[0].Key
	}
	return ""
}

// size is about what the claim writes, in bytes.
func (c *claim) size() int {
	n := 0
	for _, w := range c.rows {
		n += len(w.Key) + len(w.Value)
	}
	return n
}

// mayCarryLocked refuses a claim with data that no save would store.
func (s *Session) mayCarryLocked(c *claim, after doc.Value) error {
	if c != nil && keepStored(s.mu.rec.data, after, s.set.opts.HardBytes) {
		return overHard(s.mu.rec.data, after, s.set.opts.HardBytes)
	}
	return nil
}

// void gives up the newest claim of a save that can never be stored. Those before it may fit
// without it, and may even land by an earlier try; if not, the next try gives up the next.
func (s *Session) void(because error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.voidLocked(len(s.mu.cuts)-1, fmt.Errorf("%w: %w", errVoid, because))
}

// cutLocked begins a claim: what is there now is the last that may be journaled.
func (s *Session) cutLocked(c *claim, commit Commit) {
	if c.sign != nil {
		c.rows[0].Value = c.sign(commit)
	}
	if c.stored == nil {
		c.stored = newTicket()
	}
	s.mu.cuts = append(s.mu.cuts, &cut{
		claim: c, commit: commit, revision: commit.Revision,
		before: s.mu.data, schema: s.mu.schema, marks: s.mu.marks, handled: s.mu.handled,
	})
	s.mu.journal.tracks.cut(s.mu.data, s.mu.revision)
	if c.handled != nil {
		c.handled.at, c.handled.revision = stamp(commit.Time), commit.Revision
		s.mu.handled = withHandled(s.mu.handled, *c.handled)
	}
}

func newTicket() *ticket { return &ticket{done: make(chan struct{})} }

// rowsLocked are the writes that go with the next save.
func (s *Session) rowsLocked() (rows []store.Write) {
	for _, c := range s.mu.cuts {
		rows = append(rows, c.claim.rows...)
	}
	return rows
}

// settleCutsLocked takes in what the record is known to hold.
func (s *Session) settleCutsLocked() {
	n := 0
	for n < len(s.mu.cuts) && s.mu.rec.revision >= s.mu.cuts[n].revision {
		s.mu.cuts[n].tell(nil)
		n++
	}
	s.mu.cuts = s.mu.cuts[n:]
}

// endCutsLocked answers those who wait for claims when the session ends: what is not known to
// be stored by now may be, or come to be.
func (s *Session) endCutsLocked(because error) {
	for _, c := range s.mu.cuts {
		c.tell(fmt.Errorf("%w: %w", store.ErrUnknown, because))
	}
}

// takenClaim is a claim that cannot land any more, and why.
type takenClaim struct {
	revision uint64 // of its commit
	why      error
}

// rowTaken reads the records that the claims write, before the profile's own is read; so a
// claim that has landed by now shows there. It answers the first that cannot land any more,
// if there is one.
func (s *Session) rowTaken() (*takenClaim, error) {
	s.mu.Lock()
	cuts := slices.Clone(s.mu.cuts)
	s.mu.Unlock()
	var keys []string
	for _, c := range cuts {
		for _, w := range c.claim.rows {
			keys = append(keys, w.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
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
	i := 0
	for _, c := range cuts {
		for _, w := range c.claim.rows {
			if !w.If.Holds(recs[i].Version) && (w.Op != store.Put || recs[i].Version != w.Version) {
				return &takenClaim{c.revision, fmt.Errorf("%w: %w", errVoid, &store.ConflictError{Key: w.Key})}, nil
			}
			i++
		}
	}
	return nil, nil
}

// refuseLocked takes in that a claim cannot land, although the record is still this session's.
func (s *Session) refuseLocked(t *takenClaim) {
	for i, c := range s.mu.cuts {
		if c.revision == t.revision {
			s.voidLocked(i, t.why)
			return
		}
	}
}

// voidLocked takes in that a claim is refused although the record is still this session's.
// What was committed before it is stored by a final save, and the session ends as lost: it
// must not go on with a commit that cannot be stored.
func (s *Session) voidLocked(at int, because error) {
	if at < 0 || at >= len(s.mu.cuts) {
		return
	}
	c := s.mu.cuts[at]
	for _, gone := range s.mu.cuts[at:] {
		gone.tell(because)
	}
	s.mu.void = true
	s.mu.data, s.mu.revision, s.mu.schema, s.mu.marks, s.mu.handled = c.before, c.revision-1, c.schema, c.marks, c.handled
	s.mu.frozen, s.mu.cuts = true, s.mu.cuts[:at:at]
	s.retractLocked(c.before, c.revision-1)
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
