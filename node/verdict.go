package node

import (
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds the rules by which a holder is declared dead: pure, without I/O or clock.

// Rules are the numbers that [Judge] needs.
type Rules struct {
	DeadAfter    time.Duration
	LeaseTimeout time.Duration
}

// Held is what one version of a profile's record says about its session. The claim that
// follows a verdict must be conditional on this very version.
type Held struct {
	Beating bool          // the holder vouches for its beat
	Age     time.Duration // of the record, by the store's clock
}

// Look is one successful read of a holder's beat, together with the looker's own.
type Look struct {
	At       time.Time     // local, monotonic, when the answer came
	MayJudge bool          // the looker may judge by this look (see mayJudge)
	Present  bool          // the holder has a beat record
	Version  store.Version // of the beat; 0 when missing
	Age      time.Duration // of the beat, by the store's clock
	Closed   bool          // the holder says that it has ended
}

// Verdict is what a look, or two, say about a holder.
type Verdict uint8

// The three verdicts.
const (
	Undecided Verdict = iota + 1 // look again
	Alive                        // its beat is young
	Dead                         // see the evidence
)

// String is "undecided", "alive" or "dead".
func (v Verdict) String() string {
	switch v {
	case Undecided:
		return "undecided"
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	}
	return "no verdict"
}

// Evidence tells why a holder counts as dead.
type Evidence string

// The kinds of evidence. Orphan is found without a look: a session names this very node and
// the node knows no such token.
const (
	NoEvidence      Evidence = ""
	EvidenceClosed  Evidence = "closed"
	EvidenceAge     Evidence = "age"
	EvidenceUnmoved Evidence = "unmoved"
	EvidenceAbsent  Evidence = "absent"
	EvidenceLease   Evidence = "lease"
	EvidenceOrphan  Evidence = "orphan"
)

// Judge decides whether the holder of a session is dead. first is the earliest look since
// which the beat has not moved (see [FirstLook]), latest the newest; they may be the same.
// A node that may not judge by its latest look judges nobody.
func Judge(h Held, first, latest Look, r Rules) (Verdict, Evidence) {
	switch {
	case !latest.MayJudge:
		return Undecided, NoEvidence
	case latest.Present && latest.Closed:
		return Dead, EvidenceClosed
	case !h.Beating:
		// The beat is no evidence for a holder that does not vouch for it, neither way.
		if h.Age > r.LeaseTimeout {
			return Dead, EvidenceLease
		}
		return Undecided, NoEvidence
	case latest.Present && latest.Age > r.DeadAfter:
		return Dead, EvidenceAge
	case still(first, latest) && latest.At.Sub(first.At) >= r.DeadAfter:
		if latest.Present {
			return Dead, EvidenceUnmoved
		}
		return Dead, EvidenceAbsent
	case latest.Present:
		return Alive, NoEvidence
	}
	return Undecided, NoEvidence
}

// FirstLook is the look to keep beside the latest one: first while nothing has moved since,
// else latest. The zero first answers latest.
func FirstLook(first, latest Look) Look {
	if still(first, latest) {
		return first
	}
	return latest
}

// still tells that both looks saw the same beat, or both saw none.
func still(first, latest Look) bool {
	return !first.At.IsZero() && first.Present == latest.Present && first.Version == latest.Version
}
