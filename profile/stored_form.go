package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// This file knows that data may be stored in another form than the one the game sees: an
// older one before it was brought to this release's, or that of WriteVersion.

// shapeProblems reports what says how data is to look, beside AsStored.
func (o *Options) shapeProblems() error {
	var set []string
	for name, is := range map[string]bool{
		"Template": !o.Template.IsNull(), "Schema": o.Schema != 0, "WriteVersion": o.WriteVersion != 0, "Migrations": o.Migrations != nil,
		"Derived": o.Derived != nil, "Reactions": o.Reactions != nil, "SourcePolicies": o.SourcePolicies != nil,
		"JSONSchema": o.JSONSchema != nil, "Validate": o.Validate != nil, "Guards": o.Guards != nil,
	} {
		if is {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return nil
	}
	slices.Sort(set)
	return fmt.Errorf("profile: options: AsStored: %s must be unset beside it", strings.Join(set, ", "))
}

// shown is the live form of what a session's record holds: made when it is asked for, and
// kept for as long as the record stands at the revision.
type shown struct {
	revision uint64
	data     doc.Value
	known    bool
}

// brought is what a load makes of stored data: migrations, the template's members, derived
// fields, then the checks. Its errors are ErrMigration, ErrNewerSchema and ErrSchema.
func (s *Set) brought(data doc.Value, schema int) (doc.Value, error) {
	if s.opts.AsStored {
		return data, nil
	}
	data, err := s.opts.raised(data, schema)
	if err != nil {
		s.countPanic(err)
		return data, err
	}
	return s.prepared(data)
}

// countPanic counts an error that was a panic of a migration.
func (s *Set) countPanic(err error) {
	if panicked := new(PanicError); errors.As(err, &panicked) {
		s.stats.panics.Add(1)
	}
}

// lowered is live data in the form in which it is stored, and the version of that. Data that
// would not come back the same from WriteVersion's form is stored in the live one, with the
// error that says why: an older release will refuse it, but nothing of it is lost.
func (s *Set) lowered(live doc.Value) (data doc.Value, schema int, err error) {
	if s.opts.WriteVersion == s.opts.Schema {
		return live, s.opts.Schema, nil
	}
	if data, err = s.opts.loweredTo(live, s.opts.WriteVersion, s.pipes.write.Derive); err != nil {
		return live, s.opts.Schema, err
	}
	return data, s.opts.WriteVersion, nil
}

// asStored is a record that was made with live data as it is to be stored. It calls the game's
// functions: no lock may be held.
func (s *Set) asStored(key string, rec record) record {
	if s.opts.AsStored {
		return rec
	}
	var err error
	if rec.data, rec.schema, err = s.lowered(rec.data); err != nil {
		s.countPanic(err)
		s.stats.unlowered.Add(1)
		s.log.ErrorContext(s.life(), "data does not survive WriteVersion: stored in the newest form", "key", key, "writeVersion", s.opts.WriteVersion, "err", err)
	}
	return rec
}

// takeIn takes in what a load made of the record: a commit, in memory, unless storing it would
// store what is stored already. Nobody else has the session yet.
func (s *Session) takeIn(live doc.Value) {
	if s.set.opts.AsStored {
		return
	}
	was := s.mu.rec
	s.mu.data, s.mu.schema = live, s.set.opts.Schema
	data, schema, _ := s.set.lowered(live)
	if data.Size() <= was.data.Size() { // larger in the game's form only
		s.mu.gain = max(0, live.Size()-was.data.Size())
	}
	if schema != was.schema || !data.Equal(was.data) {
		s.mu.revision++
		s.auditOpeningLocked(was, live)
	}
	if was.schema < s.set.opts.WriteVersion {
		s.set.stats.migrated.Add(1)
	}
}

// stored is what the record holds, and its revision: in the live form, as a load would make it
// of another one.
func (s *Session) stored() (doc.Value, uint64) {
	s.mu.Lock()
	rec, seen := s.mu.rec, s.mu.shown
	s.mu.Unlock()
	if rec.schema == s.set.opts.Schema || s.set.opts.AsStored {
		return rec.data, rec.revision
	}
	if seen.known && seen.revision == rec.revision {
		return seen.data, seen.revision
	}
	live, err := s.set.opts.loaded(rec.data, rec.schema, s.set.pipes.write.Derive)
	if err != nil { // it has come up before
		s.set.log.Error("stored data does not come up again", "key", s.key, "err", fmt.Errorf("schema %d: %w", rec.schema, err))
		return rec.data, rec.revision
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.shown = shown{revision: rec.revision, data: live, known: true}
	return live, rec.revision
}
