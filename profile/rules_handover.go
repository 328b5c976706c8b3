package profile

import (
	"time"

	"github.com/shoalworks/shoal/node"
)

// This file holds the rules of asking and handing over (PROTOCOL.md B4): pure, without I/O,
// clock or chance.

// released is a holder's final record with the session cleared.
func released(r record, now time.Time) record {
	r.session = nil
	r.ask = nil
	r.updated = stamp(now)
	return r
}

// granted is a holder's final record that makes the asker the next session. Whether the
// asker's node beats is not known here; it says so itself, at once, if not.
func granted(r record, to asker, now time.Time) record {
	r.epoch++
	r.session = &tenure{token: to.token, node: to.node, since: stamp(now), beating: true}
	r.ask = nil
	r.updated = stamp(now)
	return r
}

// withAsk is the record with an ask in it, written when the record was so old; the session and
// everything else stays.
func withAsk(r record, a asker, age time.Duration) record {
	r.ask, r.session = &a, r.session.stand(age)
	return r
}

// withoutAsk is the record without the ask of this load, written when it was so old.
func withoutAsk(r record, age time.Duration) record {
	r.ask, r.session = nil, r.session.stand(age)
	return r
}

// maxStood bounds what is kept of how long a holder has not written: more proves no more.
const maxStood = 24 * time.Hour

// stand is the session in a record that somebody else writes when it is so old.
func (t *tenure) stand(age time.Duration) *tenure {
	if t == nil {
		return nil
	}
	c := *t
	c.stood = min(maxStood, t.stood+max(0, age.Truncate(time.Millisecond)))
	return &c
}

// askStep is what a holder does with an ask.
type askStep uint8

const (
	askGrant    askStep = iota + 1 // hand over to this asker
	askStale                       // it is for another session, or void: remove it
	askUnknown                     // it is for a token that this node does not know: see disownStep
	askNotReady                    // the session is being loaded: look again
)

// askFacts are what a node knows about the session that an ask names.
type askFacts struct {
	session bool // a live session here has the token
	loading bool // a load here has the token
	recent  bool // a session here had it and has just ended in order
	age     time.Duration
	void    time.Duration // age from which an ask is void: LoadTimeout
}

// askStepOf decides what becomes of an ask.
func askStepOf(f askFacts) askStep {
	switch {
	case f.age > f.void, f.recent && !f.session:
		return askStale
	case f.session:
		return askGrant
	case f.loading:
		return askNotReady
	}
	return askUnknown
}

// noteState is what a read of the note for the holder showed.
type noteState uint8

const (
	noteUnread   noteState = iota // not read, or the read failed: nothing is known
	noteNone                      // no ask for this session
	noteMine                      // this load's ask
	noteAccepted                  // this load's ask, and the holder is at work on it
	noteOther                     // a newer ask by another load
)

// noteStateOf reads a note beside the session that was asked for.
func noteStateOf(n node.Note, target, token string) noteState {
	switch {
	case n.Kind != node.NoteAsk, n.For != target:
		return noteNone
	case n.Token != token:
		return noteOther
	case n.Accepted:
		return noteAccepted
	}
	return noteMine
}

// waitStep is what a load does about a session of another node.
type waitStep uint8

const (
	waitOn       waitStep = iota + 1 // look again
	waitAsk                          // leave the ask, once more if it is gone
	waitTakeOver                     // by the evidence that goes with it
	waitOutbid                       // a newer ask has taken this one's place
	waitInUse                        // quiet: the holder lives
	waitHeld                         // Fail: the holder has not let go
)

// waitFacts are what a load knows about the holder it waits for.
type waitFacts struct {
	policy   Policy
	quiet    bool
	vouches  bool // the record vouches for the holder's beats; else only its age tells
	verdict  node.Verdict
	evidence node.Evidence
	note     noteState
	bidden   bool // the record carries the ask of another load, made after this one's
	landed   bool // this load's ask for this session has landed
	// waited is the time since that ask landed, or since the holder accepted it.
	waited     time.Duration
	stealAfter time.Duration
}

// waitStepOf decides. A dead holder is taken over under every policy.
func waitStepOf(f waitFacts) (waitStep, node.Evidence) {
	switch {
	case f.note == noteOther, f.bidden:
		return waitOutbid, node.NoEvidence
	case f.verdict == node.Dead:
		return waitTakeOver, f.evidence
	case f.quiet && (f.verdict == node.Alive || !f.vouches):
		return waitInUse, node.NoEvidence
	case f.quiet:
		return waitOn, node.NoEvidence
	case f.landed && f.waited >= f.stealAfter && f.policy == Steal:
		return waitTakeOver, EvidencePolicy
	case f.landed && f.waited >= f.stealAfter && f.policy == Fail:
		return waitHeld, node.NoEvidence
	case !f.landed, f.note == noteNone:
		return waitAsk, node.NoEvidence
	}
	return waitOn, node.NoEvidence
}

// outbid tells that a newer ask has taken the place of this load's, while the record may have
// moved on already: to that asker, whom this load must not ask in turn, since it would end the
// session of the newer request. A record that is free may be claimed all the same.
func outbid(note noteState, r reading) bool { return note == noteOther && r.holder() != "" }

// patience is how long a load waits for a living holder before its policy speaks. A holder
// that does not vouch for its beat reads its asks at its fallback saves only.
func patience(stealAfter, fallbackSave time.Duration, beating bool) time.Duration {
	if beating {
		return stealAfter
	}
	return max(stealAfter, fallbackSave+fallbackMargin)
}

// fallbackMargin is what a holder gets beyond its next fallback save.
const fallbackMargin = 15 * time.Second

// passedOn is the record of a load that was granted the session after a newer load had
// asked for it: the session goes to that one. Each session has an epoch of its own.
func passedOn(r record, to asker, now time.Time) record { return granted(r, to, now) }
