package node

import (
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds what a node knows about its own beats: pure, without I/O or clock.

// pulse is the history of a node's own beats, as far as the rules need it.
type pulse struct {
	version store.Version   // of the last beat known to have landed; 0 when none
	landed  time.Time       // local time at which that beat was sent
	acked   time.Time       // local time at which its answer came
	run     time.Time       // when the current run of landed beats began
	marks   [2]mark         // older records of this node, see mark
	blocked time.Time       // judging is forbidden until then: the store's clock has moved
	doubt   int             // landed beats in time that are needed before the node trusts itself again
	pending []sentBeat      // beats whose outcome is unknown, oldest first, at most maxPending
	past    []store.Version // beats that landed before, or may have, oldest first, at most maxPast
	// older is a beat of this node that stands in the store again, because the store went back
	// in time (a failover may lose the last moments): the next beat goes on it. 0: none.
	older store.Version
}

// maxPast bounds how far back a store may go without this node's beat seeming another's.
const maxPast = 64

type sentBeat struct {
	version store.Version
	sent    time.Time
}

// mark is a record that this node writes now and then, only to read its Age again: the beat
// itself is always young, and after a step of the store's clock soon honest again, while the
// beats of others still seem old. A mark of at least 1.5 beats, read in the same call, proves
// that the clock has not moved since, and by then every living node has beaten again. The two
// are written in turns, so that one is always old enough.
type mark struct {
	version     store.Version // 0: not usable
	sent, acked time.Time
}

// markEvery is after how many beats the other mark is written. Two steps of the clock that
// undo each other are seen unless both fall between the older mark and the look: so it is
// short.
const markEvery = 4

// markDue tells which mark is to be written at now; ok is false when none is.
func (p pulse) markDue(now time.Time, beat time.Duration) (slot int, ok bool) {
	newest := time.Time{}
	for i, m := range p.marks {
		if m.version != 0 && m.acked.After(newest) {
			newest, slot = m.acked, 1-i
		}
	}
	return slot, newest.IsZero() || now.Sub(newest) >= markEvery*beat
}

// withMark notes a mark that has landed, or, with version 0, one that cannot be used.
func (p pulse) withMark(slot int, m mark) pulse {
	p.marks[slot] = m
	return p
}

// readMarks takes in how the marks were seen by a look: whether one of them vouches for the
// store's clock, and whether one proves that it has moved. A mark that is not there any more
// cannot be used.
//
// known are the marks as they were when the look began: a newer one cannot have been seen.
func (p pulse) readMarks(known [2]mark, seen [2]store.Record, sent, answered time.Time, beat time.Duration) (after pulse, vouched, moved bool) {
	half := beat / 2
	for i, m := range p.marks {
		switch {
		case m.version == 0, m.version != known[i].version:
		case seen[i].Version != m.version:
			p.marks[i] = mark{}
		case seen[i].Age > answered.Sub(m.sent)+half, seen[i].Age < sent.Sub(m.acked)-half:
			moved = true
			p.marks[i] = mark{}
		case sent.Sub(m.acked) >= beat+half:
			vouched = true
		}
	}
	return p, vouched, moved
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

// regain is how many beats must land in time before a node that was suspect is so no more.
// Where calls are slow, so that each beat lands a little too late, it would otherwise say the
// one and the other at every beat, and each time in all its records.
const regain = 2

// landedBeat notes a beat that has landed. A gap of more than 1.5 beats starts a new run.
func (p pulse) landedBeat(b sentBeat, acked time.Time, beat, deadAfter time.Duration) pulse {
	switch {
	case p.version != 0 && p.overdue(acked, beat, deadAfter):
		p.doubt = regain
	case p.doubt > 0:
		p.doubt--
	}
	if p.version == 0 || b.sent.Sub(p.landed) > beat+beat/2 {
		p.run = b.sent
	}
	p.past = p.pastAfter(b.version)
	p.version, p.landed, p.acked, p.pending, p.older = b.version, b.sent, acked, nil, 0
	return p
}

// pastAfter is what is past once a beat of this version has landed. A beat whose answer was lost
// is among it: it may have landed in a server that was replaced meanwhile, and stands there when
// that one comes back.
func (p pulse) pastAfter(landed store.Version) []store.Version {
	past := slices.Clone(p.past)
	for _, b := range p.pending {
		if b.version != landed {
			past = append(past, b.version)
		}
	}
	if p.version != 0 { // the last one to be forgotten of these
		past = append(past, p.version)
	}
	return past[max(0, len(past)-maxPast):]
}

// cond is the version that the next beat is conditional on.
func (p pulse) cond() store.Version {
	if p.version != 0 {
		return p.version
	}
	return p.older
}

// wentBack notes that an earlier beat of this node stands in the store; ok is false when v is
// none. It is no landed beat: others see it grow old, and the store may have forgotten more.
func (p pulse) wentBack(v store.Version) (after pulse, ok bool) {
	if v == 0 || v != p.older && !slices.Contains(p.past, v) {
		return p, false
	}
	p = p.forgotten()
	p.older = v
	return p, true
}

// forgotten notes that the store has no beat of this node any more.
func (p pulse) forgotten() pulse {
	past := p.past
	if p.version != 0 {
		past = append(past[:len(past):len(past)], p.version)
	}
	return pulse{blocked: p.blocked, pending: p.pending, marks: p.marks, doubt: p.doubt, past: past[max(0, len(past)-maxPast):]}
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
// A run must have lasted for two and a half beats: after an outage, or after the store has
// forgotten, every living node has beaten again by then, and also one whose first beat failed.
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
	inRun := !answered.Before(p.run.Add(2*beat+half)) && longest <= beat+half
	calibrated := longest-own.Age <= half
	return inRun && calibrated && !answered.Before(p.blocked), false
}

// suspect tells that the beats do not land in time, or have only just begun to again.
func (p pulse) suspect(now time.Time, beat, deadAfter time.Duration) bool {
	return p.version == 0 || p.doubt > 0 || p.overdue(now, beat, deadAfter)
}

// overdue tells that DeadAfter − 1.5 beats have passed since the last landed beat was sent,
// and at least a beat and a quarter, so that a healthy node is not suspect between two beats
// where DeadAfter is short.
func (p pulse) overdue(now time.Time, beat, deadAfter time.Duration) bool {
	return now.Sub(p.landed) > max(deadAfter-beat-beat/2, beat+beat/4)
}
