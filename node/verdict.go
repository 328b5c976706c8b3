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
	Beat         time.Duration // how often a living node beats
}

// Settled is for how long a beat must have stood still, by the looker's own clock, before its
// age counts: a living node would have rewritten it. Ages alone are not enough, since a beat
// may have been stamped while the store's clock was wrong for a moment, and no record of the
// looker's tells of two steps that undo each other.
func (r Rules) Settled() time.Duration { return r.Beat + r.Beat/4 }

// Held is what one version of a profile's record says about its session. The claim that
// follows a verdict must be conditional on this very version.
type Held struct {
	Beating bool          // the holder vouches for its beat
	Age     time.Duration // of the record, by the store's clock
}

// Look is one successful read of a holder's beat, together with the looker's own.
type Look struct {
	Sent, At time.Time     // local, monotonic, when the call was sent and when the answer came
	MayJudge bool          // the looker may judge by this look (see mayJudge)
	Present  bool          // the holder has a beat record
	Version  store.Version // of the beat; 0 when missing
	Since    time.Time     // local, when this node first saw that version; zero when missing
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
// which the beat has not moved (see [FirstLook]), latest the newest; they may be the same. What
// the node has seen of the beat before either counts too (see [Look]'s Since).
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
		if StillFor(first, latest) > r.Settled() {
			return Dead, EvidenceAge
		}
		return Undecided, NoEvidence
	case latest.Present && StillFor(first, latest) >= r.DeadAfter:
		return Dead, EvidenceUnmoved
	case latest.Present:
		return Alive, NoEvidence
	case StillFor(first, latest) >= r.DeadAfter:
		return Dead, EvidenceAbsent
	}
	return Undecided, NoEvidence
}

// StillFor is for how long at least, by the looker's own clock, the beat of the latest look
// is known to have stood still, or to be missing.
func StillFor(first, latest Look) time.Duration {
	since := latest.At
	if still(first, latest) {
		since = first.At
	}
	if latest.Present && !latest.Since.IsZero() && latest.Since.Before(since) {
		since = latest.Since
	}
	return max(0, latest.Sent.Sub(since))
}

// earliest is the look by which this node first saw the beat of l.
func (l Look) earliest() Look {
	l.Sent, l.At = l.Since, l.Since
	return l
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
