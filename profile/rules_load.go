package profile

import (
	"slices"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// This file holds the rules of a load that finds a record missing, free or its own
// (DESIGN.md 6.2, PROTOCOL.md T4, H7): pure, without I/O, clock or chance.

// claimant is a load: who it is, and what it understands.
//
// A token names one session for ever. So a load has a fresh one for each claim that it sends
// and for each session that it asks for: with one for all of them, a load that was granted a
// session, lost it before it knew, and took it back would have the same token in two epochs,
// and an ask for the first would end the second.
type claimant struct {
	token   string   // of the session that a claim makes
	mine    []string // all tokens of the load
	node    string
	beating bool      // the node's beats land
	schema  int       // the newest form of data that the code understands; of a claim: that of fresh
	fresh   doc.Value // the data of a new profile
}

// loadStep is what a load does next, from what it has read.
type loadStep uint8

const (
	stepCreate  loadStep = iota + 1 // missing: put a new record, if still absent
	stepClaim                       // free, or erased: claim it
	stepLoaded                      // the session is this load's: a lost answer, or a grant
	stepHeld                        // another session holds it
	stepOrphan                      // its session names this node, which knows no such token
	stepLater                       // written by a later release: leave it alone
	stepForeign                     // no profile: leave it alone, copy it to quarantine
)

// readStep decides from a successful read. The key is reserved for this load on its node, so
// a session that names the node by another token is one that nobody here knows.
func readStep(r reading, me claimant) loadStep {
	switch {
	case r.missing():
		return stepCreate
	case r.foreign():
		return stepForeign
	case r.later(), r.record.schema > me.schema:
		return stepLater
	case slices.Contains(me.mine, r.record.holder()):
		return stepLoaded
	case r.record.session == nil:
		return stepClaim
	case r.record.session.node == me.node:
		return stepOrphan
	}
	return stepHeld
}

// created is the record of a new player.
func created(me claimant, now time.Time) record {
	return record{
		data: me.fresh, schema: me.schema, created: stamp(now), updated: stamp(now),
		epoch: 1, session: me.tenure(now),
	}
}

// claimed is a free record with the session of this load. An erased one begins anew, but
// neither epoch nor revision goes back.
func claimed(r record, me claimant, now time.Time) record {
	if !r.erased.IsZero() {
		begun := created(me, now)
		begun.epoch, begun.revision = r.epoch+1, r.revision+1
		begun.extras, begun.tookFrom = r.extras, r.tookFrom
		return begun
	}
	r.epoch++
	r.session = me.tenure(now)
	r.ask = nil
	r.updated = stamp(now)
	return r
}

func (me claimant) tenure(now time.Time) *tenure {
	return &tenure{token: me.token, node: me.node, since: stamp(now), beating: me.beating}
}

// claimStep is what follows the answer to a claim.
type claimStep uint8

const (
	claimLanded   claimStep = iota + 1 // the session is this load's
	claimReadBack                      // read the record: readStep tells; it may also land later (mayLand)
	claimAgain                         // it did not: start over at the record
)

// claimStepOf decides from the outcome of a claim, a create or a takeover's claim (T4).
func claimStepOf(o store.Outcome) claimStep {
	switch o {
	case store.Done:
		return claimLanded
	case store.Unknown:
		return claimReadBack
	case store.NotDone:
	}
	return claimAgain
}

// mayLand tells whether a write that was conditional on version cond, and whose outcome is
// unknown, can still be applied to the record as it was read: versions are never used
// twice, so once the record has moved on from cond it cannot.
func mayLand(cond store.Version, r reading) bool { return r.version == cond }

// givenBack is a record that a load took and cannot use: as taken, and free again.
func givenBack(r record, now time.Time) record {
	r.session = nil
	r.ask = nil
	r.updated = stamp(now)
	return r
}
