package profile

import (
	"slices"
	"unicode/utf8"

	"github.com/shoalworks/shoal/doc"
)

// This file holds the rules of what the audit log keeps of a commit: pure, without I/O, clock
// or chance.

// AuditPolicy says which commits the audit log keeps.
type AuditPolicy uint8

// The policies. The zero AuditPolicy is AuditOthers.
const (
	// AuditOthers keeps the commits of everybody but the game and the seasons: operators, the
	// library, services; and every commit with a claim: receipts, mails, trades.
	AuditOthers AuditPolicy = iota + 1
	AuditAll                // every commit
	AuditNone               // none
)

// String is "others", "all" or "none".
func (p AuditPolicy) String() string {
	switch p {
	case AuditOthers:
		return "others"
	case AuditAll:
		return "all"
	case AuditNone:
		return "none"
	}
	return "no audit policy"
}

// keeps tells whether a commit goes into the audit log.
func (p AuditPolicy) keeps(c Commit) bool {
	switch p {
	case AuditAll:
		return true
	case AuditOthers:
		return c.Claim != "" || c.Source.Kind != SourceGame && c.Source.Kind != SourceSeason
	case AuditNone:
	}
	return false
}

const (
	// maxAuditEntry is what one entry may take, in bytes of its edits; beyond it only their
	// paths are kept, as many as fit.
	maxAuditEntry = 16 << 10
	// maxAuditText is what actor, note, id and claim may take each; they are cut.
	maxAuditText = 1 << 10
	// auditSoon is how much may wait for a save; then one comes early.
	auditSoon = 64 << 10
	// auditRoom is how much may wait while saves do not land. What comes then is kept without
	// edits and paths, up to twice as much; after that the last entry stands for all that
	// follow.
	auditRoom = 512 << 10

	auditEntryRoom = 192 // about what an entry takes without its texts and edits
)

// auditable is a commit as the audit log keeps it.
func auditable(c Commit) AuditEntry {
	e := AuditEntry{
		Revision: c.Revision, Through: c.Revision, Commits: 1, ID: shortened(c.ID), Time: c.Time, Claim: shortened(c.Claim),
		Source: Source{Kind: SourceKind(shortened(string(c.Source.Kind))), Actor: shortened(c.Source.Actor), Note: shortened(c.Source.Note)},
	}
	return e.withEdits(c.Edits)
}

// withEdits is the entry with edits, which are only read, or, when they are too large, with
// their paths.
func (e AuditEntry) withEdits(edits []doc.Edit) AuditEntry {
	if room := maxAuditEntry - editsSize(edits); room >= 0 {
		e.Edits = edits
		return e
	}
	room := maxAuditEntry
	for i := range edits {
		if room -= len(edits[i].Path.String()) + 3; room < 0 {
			e.More = len(edits) - i
			break
		}
		e.Paths = append(e.Paths, edits[i].Path)
	}
	return e
}

func editsSize(edits []doc.Edit) (n int) {
	for i := range edits {
		n += editTextRoom + edits[i].Value.Size()
		for _, s := range edits[i].Path.Segments() {
			n += len(s) + 1
		}
	}
	return n
}

const editTextRoom = 48 // about what an edit's text takes without path and value

// bare is the entry without what it changed.
func (e AuditEntry) bare() AuditEntry {
	e.More += len(e.Edits) + len(e.Paths)
	e.Edits, e.Paths = nil, nil
	return e
}

// size is about what an entry takes, in bytes.
func (e AuditEntry) size() int {
	n := auditEntryRoom + len(e.ID) + len(e.Claim) + len(e.Source.Kind) + len(e.Source.Actor) + len(e.Source.Note) + editsSize(e.Edits)
	for _, p := range e.Paths {
		n += len(p.String()) + 3
	}
	return n
}

// auditQueue are the entries that no save has stored yet, oldest first.
type auditQueue struct {
	list  []AuditEntry
	bytes int
}

// add takes in an entry, as much of it as there is room for.
func (q *auditQueue) add(e AuditEntry) {
	size := e.size()
	if q.bytes+size > auditRoom {
		e = e.bare()
		size = e.size()
	}
	if n := len(q.list); n > 0 && q.bytes+size > 2*auditRoom {
		last := &q.list[n-1]
		last.Through = e.Through
		last.Commits += e.Commits
		return
	}
	q.list = append(q.list, e)
	q.bytes += size
}

// stored forgets what a record at this revision holds: it was stored with it. Of an entry that
// stood for fewer commits when it was sent, the others stay.
func (q *auditQueue) stored(revision uint64) (n int) {
	for n < len(q.list) && q.list[n].Revision <= revision {
		n++
	}
	if n == 0 {
		return 0
	}
	q.drop(q.list[:n])
	var rest []AuditEntry
	if last := q.list[n-1]; last.Through > revision {
		e := last.upTo(last.Through - revision)
		e.Revision, e.ID, e.Claim, e.Edits, e.Paths, e.More = revision+1, "", "", nil, nil, 0
		e.Source = Source{Kind: SourceSystem, Note: "many commits while saves did not land; who made them is not known"}
		rest, q.bytes = []AuditEntry{e}, q.bytes+e.size()
	}
	q.list = append(rest, q.list[n:]...)
	return n
}

// upTo is an entry that stands for no more than so many commits.
func (e AuditEntry) upTo(commits uint64) AuditEntry {
	if uint64(e.Commits) > commits {
		e.Commits = int(commits)
	}
	return e
}

// retract forgets what can never be stored: everything from a revision on.
func (q *auditQueue) retract(from uint64) {
	n := len(q.list)
	for n > 0 && q.list[n-1].Revision >= from {
		n--
	}
	q.drop(q.list[n:])
	if q.list = q.list[:n]; n > 0 && q.list[n-1].Through >= from {
		last := &q.list[n-1]
		last.Through = from - 1
		*last = last.upTo(from - last.Revision)
	}
}

func (q *auditQueue) drop(list []AuditEntry) {
	for i := range list {
		q.bytes -= list[i].size()
	}
}

// upTo are the entries that go with a record at this revision.
func (q *auditQueue) upTo(revision uint64) []AuditEntry {
	n := len(q.list)
	for n > 0 && q.list[n-1].Revision > revision {
		n--
	}
	return slices.Clone(q.list[:n])
}

// shortened is a text with at most maxAuditText bytes, whole characters.
func shortened(s string) string {
	if len(s) <= maxAuditText {
		return s
	}
	n := maxAuditText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
