package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// history is what a session remembers of its commits, oldest first, each following the one
// before. It is in memory only, and begins with the session.
type history struct {
	all   []past // what is before from is forgotten
	from  int
	bytes int
}

func (h *history) list() []past { return h.all[h.from:] }

// Why a commit was not taken back.
var (
	// ErrForgotten: the session's history does not reach back that far, or never knew the
	// commit: it begins with the session, and Options.History bounds it. Versions reach
	// further (see Session.Restore).
	ErrForgotten = errors.New("not in the session's history")
	// ErrChanged: what the commit touched has changed since. See [ConflictError].
	ErrChanged = errors.New("changed since")
	// ErrClaimed: the commit came with something that happened outside the profile exactly
	// once: a receipt, a mail, a trade. Taking the commit back does not make that unhappen, so
	// the player would lose what was paid for, or the other party would keep theirs.
	// UndoOptions.Force takes it back all the same.
	ErrClaimed = errors.New("the commit came with a receipt, a mail or a trade")
)

// ConflictError is the refusal of an Undo. It is an [ErrChanged].
type ConflictError struct {
	Commit string     // id of the commit that was to be taken back
	Paths  []doc.Path // what it touched and what has changed since; a list counts as a whole
}

// Error names the commit and the places.
func (e *ConflictError) Error() string {
	const most = 8
	names := make([]string, 0, most)
	for _, p := range e.Paths[:min(len(e.Paths), most)] {
		names = append(names, fmt.Sprintf("%q", p))
	}
	more := ""
	if n := len(e.Paths) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("what commit %s touched has changed since: %s%s", e.Commit, strings.Join(names, ", "), more)
}

// Is makes errors.Is(err, ErrChanged) hold.
func (e *ConflictError) Is(target error) bool { return target == ErrChanged }

// Which names a commit of a session's history: by its ID, or by its Revision if ID is empty.
type Which struct {
	ID       string
	Revision uint64
}

// String is the id, or "revision <n>".
func (w Which) String() string {
	if w.ID != "" {
		return w.ID
	}
	return fmt.Sprintf("revision %d", w.Revision)
}

// UndoOptions of one Undo. Nil is fine, zero is the default.
type UndoOptions struct {
	// Force takes back a commit with a claim, which stays. Default false: ErrClaimed.
	Force bool
}

// RolledBack tells what a Rollback or a Restore has done.
type RolledBack struct {
	Commit Commit // the one that took the others back
	// TakenBack are the commits whose effects are gone, oldest first, without their data. Of a
	// request that was repeated there are none.
	TakenBack []Commit
	// Claimed are those of them that came with a receipt, a mail or a trade (Commit.Claim).
	// What they claimed stays: a receipt cannot be granted again, a mail does not come back,
	// and the other parties of a trade keep theirs.
	Claimed []Commit
}

// add takes in a commit, and forgets the oldest beyond the bounds.
func (h *history) add(p past, most, bytes int) {
	if n := len(h.all); n > 0 && h.all[n-1].commit.Revision+1 != p.commit.Revision {
		*h = history{}
	}
	h.makeRoom(most)
	h.all = append(h.all, p)
	h.bytes += p.size
	for h.from < len(h.all) && (len(h.list()) > most || h.bytes > bytes) {
		h.bytes -= h.all[h.from].size
		h.all[h.from] = past{}
		h.from++
	}
}

// makeRoom has room for one more: what is kept moves to the front now and then, so that
// nothing is allocated for a commit once there are as many as there may be.
func (h *history) makeRoom(most int) {
	const slack = 16
	n := len(h.all)
	switch {
	case n < cap(h.all):
	case h.from >= slack:
		kept := copy(h.all, h.list())
		clear(h.all[kept:])
		h.all, h.from = h.all[:kept], 0
	case 2*n > most+slack:
		h.all = slices.Grow(h.all, max(1, most+slack-n))
	}
}

// rememberLocked takes a commit into the history. What it answers has edits of its own: the
// caller of Transact may do with his what he likes.
func (s *Session) rememberLocked(before doc.Value, c Commit) Commit {
	o := &s.set.opts
	if o.History <= 0 {
		return c.own()
	}
	c.Reports = slices.Clone(c.Reports)
	p := pastOf(before, c)
	c.Edits = p.commit.Edits
	s.mu.history.add(p, o.History, o.HistoryBytes)
	return c
}

// History are the session's last commits, oldest first, without their data: those that Undo
// and Rollback can take back. Options.History bounds it.
func (s *Session) History() []Commit {
	return commitsOf(s.pasts())
}

func commitsOf(list []past) []Commit {
	out := make([]Commit, len(list))
	for i, p := range list {
		out[i] = p.commit.own()
	}
	return out
}

// own is a commit whose lists nobody else has.
func (c Commit) own() Commit {
	c.Edits, c.Reports = slices.Clone(c.Edits), slices.Clone(c.Reports)
	return c
}

func (s *Session) pasts() []past {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.history.list())
}

// run is the history from one commit on, up to now; false when it does not reach there.
func (s *Session) run(match func(Commit) bool) ([]past, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.mu.history.list()
	n := len(list)
	if n == 0 || list[n-1].commit.Revision != s.mu.revision {
		return nil, false
	}
	for i := n - 1; i >= 0; i-- { // an id may have been used before
		if match(list[i].commit) {
			return slices.Clone(list[i:]), true
		}
	}
	return nil, false
}

func (w Which) matches(c Commit) bool {
	if w.ID != "" {
		return c.ID == w.ID
	}
	return c.Revision == w.Revision
}

// Undo takes one commit back by a new one: what the commit touched is again as it was before.
// It goes through everything that a transaction goes through, and is refused in the same ways;
// besides, with a [ConflictError] when a touched place has changed since, ErrForgotten when
// the history does not know the commit, and ErrClaimed when the commit has a claim. Undoing an
// Undo does it again. An empty Source.Note becomes "undo of <commit id>".
func (s *Session) Undo(src Source, which Which, opts *UndoOptions) (Commit, error) {
	force := opts != nil && opts.Force
	if src.Note == "" {
		src.Note = "undo of " + which.String()
		if run, ok := s.run(which.matches); ok {
			src.Note = "undo of " + run[0].commit.ID
		}
	}
	return s.transact(proposal{src: src, fn: func(now doc.Value) ([]doc.Op, error) {
		run, ok := s.run(which.matches)
		if !ok {
			return nil, fmt.Errorf("undo %v: %w", which, ErrForgotten)
		}
		c := run[0].commit
		if c.Claim != "" && !force {
			return nil, fmt.Errorf("undo %s, which claims %s: %w", c.ID, c.Claim, ErrClaimed)
		}
		after, err := stateBefore(now, run[1:])
		if err != nil {
			return nil, fmt.Errorf("undo %s: %w", c.ID, err)
		}
		ops, conflicts, err := undone(run[0], after, now, s.set.opts.Derived)
		if err != nil || len(conflicts) == 0 {
			return ops, err
		}
		return nil, &ConflictError{Commit: c.ID, Paths: conflicts}
	}})
}

// Rollback brings the data back to what it was at a revision of the history, by a new commit:
// see Undo. Nothing conflicts, since everything after the revision is taken back, commits with
// claims included: the answer names them. The newest revision that it can go to is the present
// one, the oldest is that before the first commit of History.
func (s *Session) Rollback(src Source, revision uint64) (RolledBack, error) {
	if src.Note == "" {
		src.Note = fmt.Sprintf("rollback to revision %d", revision)
	}
	var out RolledBack
	c, err := s.transact(proposal{src: src, fn: func(now doc.Value) ([]doc.Op, error) {
		run, ok := s.run(func(c Commit) bool { return c.Revision == revision+1 })
		if !ok && revision != s.Revision() {
			return nil, fmt.Errorf("roll back to revision %d: %w", revision, ErrForgotten)
		}
		to, err := stateBefore(now, run)
		if err != nil {
			return nil, fmt.Errorf("roll back to revision %d: %w", revision, err)
		}
		out = takenBack(commitsOf(run))
		return turned(now, to, s.set.opts.Derived), nil
	}})
	if err != nil {
		return RolledBack{}, err
	}
	out.Commit = c
	return out, nil
}

func takenBack(list []Commit) RolledBack {
	out := RolledBack{TakenBack: list}
	for _, c := range list {
		if c.Claim != "" {
			out.Claimed = append(out.Claimed, c)
		}
	}
	return out
}
