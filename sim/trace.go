package sim

import (
	"fmt"
	"time"
)

// Tally is what the calls of a run came to.
type Tally struct {
	Calls     [parts]uint64 // sent, by part
	Unknown   uint64        // writes whose answer was an unknown outcome
	Late      uint64        // writes applied after their caller had been told that it is unknown
	Refused   uint64        // calls that were not taken
	Throttled uint64        // of these, over the budget of their process
	Conflict  uint64        // writes that found another version
	Twins     uint64        // calls that arrived together and cannot be told apart
	Messages  uint64        // delivered

	Reads     uint64 // of profiles, by key
	Writes    uint64 // of profiles, by transaction
	FastCalls uint64 // of beats, notes and journals: reads, scans, and transactions
	Clock     uint64 // reads of the store's clock
	Published uint64
}

// count sorts a call that is sent.
func (t *Tally) count(r *request) {
	fast := fastKey(r.key)
	switch r.op {
	case opGet, opScan:
		if fast {
			t.FastCalls++
		} else {
			t.Reads += uint64(r.units)
		}
	case opCommit:
		if fast {
			t.FastCalls += uint64(r.units)
		} else {
			t.Writes += uint64(r.units)
		}
	case opNow:
		t.Clock++
	case opPublish:
		t.Published++
	case opSubscribe, opBoardRead, opBoardWrite:
	}
}

// trace is a run's steps, as a hash and in words.
type trace struct {
	hash  uint64
	words bool
	lines []string
}

// mark adds a step.
func (t *trace) mark(now time.Duration, p *Process, name, outcome uint64) {
	h := fold(t.hash, uint64(now))
	if p != nil {
		h = fold(h, p.hash)
	}
	t.hash = fold(fold(h, name), outcome)
}

// say adds a line, when anybody wants to read it. The arguments cost nothing otherwise.
func (w *World) say(p *Process, format string, args ...any) {
	if !w.trace.words {
		return
	}
	name := "-"
	if p != nil {
		name = p.Name
	}
	w.trace.lines = append(w.trace.lines, fmt.Sprintf("%10.3f %-4s ", w.now().Seconds(), name)+fmt.Sprintf(format, args...))
}
