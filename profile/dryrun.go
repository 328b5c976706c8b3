package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

// DryRun tells what a transaction would do.
type DryRun struct {
	// Data is what the data would be; if the transaction would be refused, as it is.
	Data doc.Value
	// Edits lead from the data to Data: their paths are what would change.
	Edits []doc.Edit
	// Violations are the complaints for which it would be refused, at most [MaxViolations]; none if it
	// would be accepted.
	Violations []Violation
	// More is how many further ones there are.
	More int
	// Reports are the complaints that it would be accepted with.
	Reports []Violation
}

// DryRun tells what Transact would do now, and does nothing: no commit, and no listener, stat
// or log hears of it. A refusal is in the answer; only a session that has ended is an error
// (ErrEnded). Source.ID is not looked up.
func (s *Session) DryRun(src Source, ops ...doc.Op) (DryRun, error) {
	s.mu.Lock()
	before, err := s.mu.data, s.endedLocked()
	s.mu.Unlock()
	if err != nil {
		return DryRun{}, err
	}
	return s.set.dryRun(before, src, ops)
}

// DryRun tells what operations would do to data that is not open here, such as a View's: it
// is prepared as a load prepares it, and Edits lead on from there. Data that no load would
// open is an error (ErrSchema). Otherwise as Session.DryRun.
func (s *Set) DryRun(data doc.Value, src Source, ops ...doc.Op) (DryRun, error) {
	before, err := s.prepared(reconciled(s.opts.Template, data))
	if err != nil {
		return DryRun{}, fmt.Errorf("profile: dry run: stored data: %w", err)
	}
	return s.dryRun(before, src, ops)
}

func (s *Set) dryRun(before doc.Value, src Source, ops []doc.Op) (DryRun, error) {
	st, err := s.stage(before, src, ops)
	if r := (*RefusedError)(nil); errors.As(err, &r) {
		return DryRun{Data: before, Violations: r.Violations, More: r.More}, nil
	}
	if err != nil {
		return DryRun{}, fmt.Errorf("profile: dry run: %w", err)
	}
	return DryRun{Data: st.after, Edits: st.edits, Reports: st.reports}, nil
}
