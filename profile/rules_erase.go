package profile

import (
	"time"

	"github.com/shoalworks/shoal/doc"
)

// This file holds the rules of erasing a person's data (PROTOCOL.md S18): pure, without I/O,
// clock or chance.

// eraseStep is what an erasure does next, from a reading of the record.
type eraseStep uint8

const (
	eraseNothing eraseStep = iota + 1 // there is no profile: only what lies around it, if anything
	eraseAgain                        // erased before: finish what a crash may have left
	eraseClaim                        // free: claim it
	eraseMine                         // claimed: delete what lies around it, then the data
	eraseTake                         // another has it: take it over
	eraseRefuse                       // not understood: left as it is
)

// eraseStepOf decides. mine tells that the record names the erasure's own token.
func eraseStepOf(r reading, mine bool) eraseStep {
	switch {
	case r.missing():
		return eraseNothing
	case r.problem != nil:
		return eraseRefuse
	case mine:
		return eraseMine
	case r.record.session != nil:
		return eraseTake
	case !r.record.erased.IsZero():
		return eraseAgain
	}
	return eraseClaim
}

// seizedFree is a free record with the session of an erasure. Its data stays until the end, so
// that nothing is lost of a request that is never finished.
func seizedFree(r record, me claimant, now time.Time) record {
	r.epoch++
	r.session = me.tenure(now)
	r.ask = nil
	r.updated = stamp(now)
	return r
}

// tombstone is what stays of a profile: that there was one, so that no epoch and no revision
// ever comes twice. Of the last takeover it keeps which node's session ended, by which an old
// holder knows that it was not its own save that ended it.
func tombstone(r record, now time.Time) record {
	out := record{
		epoch: r.epoch, revision: r.revision, created: stamp(now), updated: stamp(now), erased: stamp(now),
	}
	if t := r.tookFrom; t != nil {
		out.tookFrom = &takeover{token: t.token, node: t.node, evidence: t.evidence, epoch: t.epoch, at: t.at}
	}
	return out
}

// emptySeal takes the place of a profile's journals: nothing of the person is in it, and a
// holder that does not know yet that it has none any more can add nothing.
func emptySeal(r record, by string) journal {
	return journal{
		epoch: r.epoch, token: r.holder(), base: r.revision, baseDigest: doc.Value{}.Digest(),
		rev: r.revision, sealedBy: by,
	}
}

// sealedEmpty tells that such a seal of this epoch, or of a later one, stands.
func sealedEmpty(j journalReading, epoch uint64) bool {
	return !j.missing() && j.problem == nil && j.journal.epoch >= epoch && j.journal.sealedBy != "" && j.journal.effects.Len() == 0 && len(j.journal.marks) == 0
}
