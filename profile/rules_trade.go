package profile

import "github.com/shoalworks/shoal/store"

// This file holds the rules of a trade (PROTOCOL.md B5): pure, without I/O, clock or chance.
//
// A trade is one Tx over the records of all parties, each conditional on the version at which
// its session holds it. So it lands in all of them or in none, and it cannot land any more as
// soon as one of the records has left its version without it. Each party's record keeps the
// trade's id as a commit id: that tells whether it has landed, also after a takeover.

// stake is what a trade puts into one record.
type stake struct {
	hold     hold          // the session, and the version on which the write is conditional
	put      store.Version // that the record gets
	revision uint64        // of the trade in the record
}

// trace is what one record tells of a trade.
type trace uint8

const (
	traceNone   trace = iota + 1 // nothing: it is gone, unreadable, or another session has played on for long
	traceOpen                    // it stands where it stood: the trade may still land
	traceNever                   // it has moved on without the trade, which cannot land any more
	traceLanded                  // it holds the trade
)

// traceOf reads one record.
func traceOf(id, digest string, st stake, r reading) trace {
	if r.missing() || r.problem != nil {
		return traceNone
	}
	if r.version == st.put {
		return traceLanded
	}
	if m, ok := r.record.marked(id); ok && m.digest == digest {
		return traceLanded
	}
	switch {
	case r.version == st.hold.version:
		return traceOpen
	case st.hold.mine(r), r.record.erased.IsZero() && remembers(r.record, st.revision):
		return traceNever
	}
	return traceNone
}

// remembers tells that a record without a commit id has never had it at this revision: it is
// not that far, or it keeps all ids since.
func remembers(r record, revision uint64) bool {
	return r.revision < revision || len(r.marks) < maxMarks || r.marks[0].revision <= revision
}

// fate is what became of a trade.
type fate uint8

const (
	fateLanded  fate = iota + 1 // in all records
	fateRefused                 // in none, and it never will be
	fateOpen                    // it may land: fence it by a write of the record named
	fateLost                    // no session is left to whom it matters, and no record tells
)

// fateOf decides from readings of all records, each made after the trade was sent. refused
// tells that the store has refused it for certain. Open names the party whose record is to be
// written, with what it holds, on the version that the trade is conditional on: when that has
// landed, the trade cannot.
func fateOf(id, digest string, stakes []stake, rs []reading, refused bool) (f fate, open int) {
	f, open = fateLost, -1
	for i, st := range stakes {
		switch traceOf(id, digest, st, rs[i]) {
		case traceLanded:
			return fateLanded, -1
		case traceNever:
			f = fateRefused
		case traceOpen:
			if open < 0 {
				open = i
			}
		case traceNone:
		}
	}
	switch {
	case f == fateRefused || refused:
		return fateRefused, -1
	case open >= 0:
		return fateOpen, open
	}
	return fateLost, -1
}

// partyStep is what follows for one party from the reading that decided.
type partyStep uint8

const (
	partyStands partyStep = iota + 1 // its record is as the trade has left it, or as it was
	partyAdopts                      // it is still its own, at the version read
	partyLost                        // another has the session
)

// partyStepOf decides. The readings are of different moments: one that shows the version before
// is older than the one that showed the trade.
func partyStepOf(st stake, r reading) partyStep {
	switch {
	case r.version == st.put, r.version == st.hold.version:
		return partyStands
	case st.hold.mine(r):
		return partyAdopts
	}
	return partyLost
}
