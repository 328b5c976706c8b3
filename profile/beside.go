package profile

import (
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Beside its record a save writes what is to be kept of it: a row of the audit log with the
// commits that it stores, and now and then the state that it replaces, as a version. They are
// in the same Tx, so they are there exactly if the save is; they are unconditional, so they
// can not be the reason why one is refused; and where the store does not take them, because it
// takes one key a Tx or not so much, saves go on without.

// besides is the state of what goes beside a session's saves.
type besides struct {
	audit auditQueue
	kept  time.Time // of the last version that is known to be stored
	rows  [2]int    // that were stored, by retained
	off   bool      // the store does not take them
}

// beside is what goes with one save.
type beside struct {
	entries []AuditEntry
	keep    *version // the state that is replaced; nil: it is not kept
}

// keepsBeside tells that the store can take more than the record.
func (s *Set) keepsBeside() bool { return s.durable.Abilities().MultiKey }

// leisurely is the durable store for what can wait: behind everything else in the budget, if
// it is the fleet's own.
func (s *Set) leisurely() store.Records {
	if s.opts.Mode != Live {
		return s.durable
	}
	return s.node.For(node.ClassBackground).Durable()
}

// auditLocked takes a commit into the audit log. Its edits are shared with whoever only reads
// them.
func (s *Session) auditLocked(c Commit) {
	if s.set.opts.Audit.keeps(c) {
		s.noteLocked(auditable(c))
	}
}

// auditOpeningLocked takes what a load changed into the audit log. Nobody else has the session
// yet.
func (s *Session) auditOpeningLocked(was record, live doc.Value) {
	c := Commit{
		Revision: s.mu.revision, ID: commitID(s.epoch, s.mu.revision), Time: s.set.node.Now(),
		Source: Source{Kind: SourceSystem, Note: "members that the template has and the data lacked, or derived fields"},
	}
	if was.schema != s.set.opts.Schema {
		c.Source.Note = fmt.Sprintf("data of schema %d brought to %d", was.schema, s.set.opts.Schema)
	}
	if s.set.opts.Audit.keeps(c) && s.set.keepsBeside() {
		c.Edits = doc.Diff(was.data, live)
		s.noteLocked(auditable(c))
	}
}

// noteLocked has an entry stored with the next save, which comes early when much waits.
func (s *Session) noteLocked(e AuditEntry) {
	b := &s.mu.beside
	if b.off || !s.set.keepsBeside() {
		return
	}
	b.audit.add(e)
	s.set.stats.audited.Add(1)
	if b.audit.bytes > auditSoon && s.mu.write.fails == 0 {
		s.mu.write.owed = true
		s.queueLocked(plain)
	}
}

// besideLocked is what goes with a save of rec in place of the session's record, and rec as it
// is then. more are commits in rec that the session does not show yet. No row is made yet: that
// takes time, and the session's lock is held.
func (s *Session) besideLocked(rec record, now time.Time, more ...Commit) (beside, record) {
	b := &s.mu.beside
	if b.off || !s.set.keepsBeside() {
		return beside{}, rec
	}
	out := beside{entries: b.audit.upTo(rec.revision)}
	for _, c := range more {
		if s.set.opts.Audit.keeps(c) {
			out.entries = append(out.entries, auditable(c))
		}
	}
	if worthKeeping(s.mu.rec, rec, s.set.opts.VersionEvery, now) {
		v := versionOf(s.mu.rec)
		out.keep, rec.kept = &v, stamp(now)
		if s.keepingLocked(versionKey(s.set.name, s.key, v.revision)) {
			out.keep = nil
		}
	}
	return out, rec
}

// keepingLocked tells that a claim puts this record anyway.
func (s *Session) keepingLocked(key string) bool {
	return slices.ContainsFunc(s.mu.cuts, func(c *cut) bool {
		return c.claim.keepsVersion() && c.claim.rows[0].Key == key
	})
}

// writes are the rows.
func (b beside) writes(s *Set, key string) (rows []store.Write) {
	if len(b.entries) > 0 {
		rows = append(rows, s.row(auditKey(s.name, key, b.entries[0].Revision), encodeAudit(b.entries)))
	}
	if b.keep != nil {
		rows = append(rows, s.row(versionKey(s.name, key, b.keep.revision), b.keep.encode()))
	}
	return rows
}

func (b beside) empty() bool { return len(b.entries) == 0 && b.keep == nil }

// row is a write that cannot be refused for what stands there.
func (s *Set) row(key string, value []byte) store.Write {
	return store.Write{Key: key, Op: store.Put, Value: value, If: store.Any(), Version: s.node.NewVersion("row", key)}
}

// settleBesideLocked takes in what the record is known to hold: what went with it is stored.
func (s *Session) settleBesideLocked() {
	b := &s.mu.beside
	if b.audit.stored(s.mu.rec.revision) > 0 {
		s.storedRowLocked(auditRows)
	}
	if kept := s.mu.rec.kept; kept.After(b.kept) {
		b.kept = kept
		s.set.stats.versions.Add(1)
		s.storedRowLocked(versionRows)
	}
}

// storedRowLocked has old rows removed now and then, where new ones come.
func (s *Session) storedRowLocked(of retained) {
	n := s.mu.beside.rows[of]
	s.mu.beside.rows[of]++
	if n%trimEvery[of] == 0 {
		s.set.trims.add(s.set, s.key, of)
	}
}

// forgoBeside goes on without rows: the store refuses them.
func (s *Session) forgoBeside(because error) {
	s.set.stats.besideOff.Add(1)
	s.set.log.WarnContext(s.set.life(), "the store takes no audit rows and versions beside this profile: it is saved without", "key", s.key, "err", because)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.beside.off, s.mu.beside.audit = true, auditQueue{}
}

// auditedLocked is the last revision in the audit log among those that a journal up to a
// revision holds, 0 for none.
func (s *Session) auditedLocked(revision uint64) uint64 {
	list := s.mu.beside.audit.list
	for i := len(list) - 1; i >= 0; i-- {
		if e := list[i]; e.Revision <= revision {
			return min(e.Through, revision)
		}
	}
	return 0
}

// recoveredRow is what the audit log says of commits that came from a journal, which does not
// know whose they were: one entry with the difference. There is none if nothing that the log
// would have kept was among them.
func (s *Set) recoveredRow(key string, was, now record, j journal) []store.Write {
	if j.audited <= was.revision || s.opts.Audit == AuditNone || !s.keepsBeside() {
		return nil
	}
	e := AuditEntry{
		Revision: was.revision + 1, Through: now.revision, Commits: int(now.revision - was.revision), Time: s.node.Now(),
		Source: Source{Kind: SourceSystem, Note: "recovered from the journal; who made these commits is not known"},
	}
	e = e.withEdits(doc.Diff(was.data, now.data))
	return []store.Write{s.row(auditKey(s.name, key, e.Revision), encodeAudit([]AuditEntry{e}))}
}
