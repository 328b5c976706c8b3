package profile

import (
	"time"

	"github.com/shoalworks/shoal/node"
)

// This file holds the rules of taking a session over (PROTOCOL.md T1 to T5): pure, without
// I/O, clock or chance. The claim that follows is conditional on the very version of the
// record that was read before the journal.

// sealStep is what a takeover does with the journal it has read.
type sealStep uint8

const (
	sealNothing    sealStep = iota + 1 // nothing to seal or replay
	sealWrite                          // seal it, entries kept, on its version
	sealStands                         // sealed already, by whomever: go on
	sealStale                          // the record read is older than this journal: start over
	sealQuarantine                     // the record store went back in time: copy it, treat it as absent
	sealReplace                        // unreadable: copy it, then seal its place without entries
	sealLater                          // of a later release: the load fails (rule J3)
)

// sealStepOf decides from a journal that was read after the record. confirmed tells that the
// record was read again, unchanged, after this same journal had been found newer.
func sealStepOf(r record, j journalReading, confirmed bool) sealStep {
	switch {
	case j.missing():
		return sealNothing
	case j.later():
		return sealLater
	case j.foreign():
		return sealReplace
	case j.journal.epoch < r.epoch:
		return sealNothing
	case j.journal.epoch > r.epoch, !r.holds(j.journal.token):
		if confirmed {
			return sealQuarantine
		}
		return sealStale
	case j.journal.sealedBy != "":
		return sealStands
	}
	return sealWrite
}

// staleJournal tells that a journal, read after the record, is of a session that is over, so
// that nobody will replay it. Its removal must be conditional on its version.
func staleJournal(r reading, j journalReading) bool {
	if r.missing() || r.problem != nil || j.missing() || j.problem != nil {
		return false
	}
	return j.journal.epoch < r.record.epoch || j.journal.epoch == r.record.epoch && r.record.session == nil
}

// sealInstead is the seal that takes the place of an unreadable journal: it says that
// nothing is to be replayed, and keeps a living holder from appending there.
func sealInstead(r record, by string) journal {
	return journal{
		epoch: r.epoch, token: r.holder(), base: r.revision, baseDigest: r.data.Digest(),
		schema: r.schema, rev: r.revision, sealedBy: by,
	}
}

// replayStep is what a takeover does with a sealed journal.
type replayStep uint8

const (
	replayApply      replayStep = iota + 1 // its effects are newer than the record
	replayNothing                          // all of it is in the record
	replayStale                            // the record read is too old: start over
	replayQuarantine                       // made for other data: copy it, do not apply it, report
	replayLater                            // its data has a form that this code does not know
)

// replayStepOf decides by rule J2. confirmed is as for sealStepOf.
func replayStepOf(r record, j journal, confirmed bool, schema int) replayStep {
	switch fits(j, r) {
	case fitNothing:
		return replayNothing
	case fitStale, fitMismatch:
		if confirmed {
			return replayQuarantine
		}
		return replayStale
	case fitApplies:
	}
	if j.schema > schema {
		return replayLater
	}
	return replayApply
}

// taken is the record, replay included, with the session of the load that took it over.
func taken(r record, me claimant, evidence node.Evidence, now time.Time) record {
	r.tookFrom = tookFrom(r, evidence, now)
	r.epoch++
	r.session = me.tenure(now)
	r.ask = nil
	r.updated = stamp(now)
	return r
}

// freed is the record, replay included, of a session that nobody has: free again.
func freed(r record, evidence node.Evidence, now time.Time) record {
	r.tookFrom = tookFrom(r, evidence, now)
	return givenBack(r, now)
}

func tookFrom(r record, evidence node.Evidence, now time.Time) *takeover {
	t := &takeover{evidence: evidence, epoch: r.epoch, at: stamp(now)}
	if r.session != nil {
		t.token, t.node = r.session.token, r.session.node
	}
	return t
}
