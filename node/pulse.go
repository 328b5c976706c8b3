package node

import (
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds what a node knows about its own beats: pure, without I/O or clock.

// pulse is the history of a node's own beats, as far as the rules need it.
type pulse struct {
	version store.Version // of the last beat known to have landed; 0 when none
	landed  time.Time     // local time at which that beat was sent
	acked   time.Time     // local time at which its answer came
	run     time.Time     // when the current run of landed beats began
	blocked time.Time     // judging is forbidden until then: the store's clock has moved
	pending []sentBeat    // beats whose outcome is unknown, oldest first, at most maxPending
}

type sentBeat struct {
	version store.Version
	sent    time.Time
}

// maxPending bounds the beats whose answer was lost. An older one than that cannot land any
// more unless nothing has landed since, and is then found as foreign; the bound is generous.
const maxPending = 64

// sentUnknown remembers a beat that may still land.
func (p pulse) sentUnknown(b sentBeat) pulse {
	pending := append(append([]sentBeat(nil), p.pending...), b)
	if len(pending) > maxPending {
		pending = pending[len(pending)-maxPending:]
	}
	p.pending = pending
	return p
}

// landedBeat notes a beat that has landed. A gap of more than 1.5 beats starts a new run.
func (p pulse) landedBeat(b sentBeat, acked time.Time, beat time.Duration) pulse {
	if p.version == 0 || b.sent.Sub(p.landed) > beat+beat/2 {
		p.run = b.sent
	}
	p.version, p.landed, p.acked, p.pending = b.version, b.sent, acked, nil
	return p
}

// forgotten notes that the store has no beat of this node any more.
func (p pulse) forgotten() pulse {
	return pulse{blocked: p.blocked, pending: p.pending}
}

// own finds v among the beats that this node sent.
func (p pulse) own(v store.Version) (sentBeat, bool) {
	if v != 0 && v == p.version {
		return sentBeat{p.version, p.landed}, true
	}
	for _, b := range p.pending {
		if b.version == v {
			return b, true
		}
	}
	return sentBeat{}, false
}

// mayJudge tells whether the node may judge by a look that was sent at sent, answered at
// answered, and saw the node's own beat with version and age. moved tells that the store's
// clock is certainly wrong: then nobody may be judged for DeadAfter.
//
// The age of the own beat is honest when it lies between (sent − acked) and (answered −
// landed): the store stamped it somewhere between sending and answer.
func (p pulse) mayJudge(own store.Record, sent, answered time.Time, beat time.Duration) (may, moved bool) {
	if p.version == 0 || own.Version != p.version {
		return false, false
	}
	half := beat / 2
	longest, shortest := answered.Sub(p.landed), sent.Sub(p.acked)
	if own.Age > longest+half || own.Age < shortest-half {
		return false, true
	}
	inRun := !answered.Before(p.run.Add(beat+half)) && longest <= beat+half
	calibrated := longest-own.Age <= half
	return inRun && calibrated && !answered.Before(p.blocked), false
}

// suspect tells that the beats do not land: DeadAfter − 1.5 beats have passed since the last
// landed one was sent, and at least a beat and a quarter, so that a healthy node is not
// suspect between two beats where DeadAfter is short.
func (p pulse) suspect(now time.Time, beat, deadAfter time.Duration) bool {
	return p.version == 0 || now.Sub(p.landed) > max(deadAfter-beat-beat/2, beat+beat/4)
}
