package memstore

import "time"

// Part names parts of the memory, for what a simulation does to them. Parts combine with |.
type Part uint8

// The parts. Without Options.Apart, Durable and Fast are the same memory.
const (
	Durable Part = 1 << iota
	Fast
	Boards
)

// All is every part.
const All = Durable | Fast | Boards

// Forget empties the parts, as an engine that lost its memory does. Open handles go on.
func (e *Engine) Forget(parts Part) {
	e.eachRecordMap(parts, (*recordMap).forget)
	if parts&Boards != 0 {
		e.boards.forget()
	}
}

// StepClock moves the clock of the record maps named by d, forward or back, as a failover or
// a time server does: from then on Now and every Age are off by d, and no Age is below 0.
func (e *Engine) StepClock(parts Part, d time.Duration) {
	e.eachRecordMap(parts, func(m *recordMap) { m.stepClock(d) })
}

// eachRecordMap calls f once for each record map among the parts.
func (e *Engine) eachRecordMap(parts Part, f func(*recordMap)) {
	if parts&Durable != 0 {
		f(e.durable)
	}
	if parts&Fast != 0 && (e.fast != e.durable || parts&Durable == 0) {
		f(e.fast)
	}
}

// Snapshot is a state of the memory at one time, for [Engine.Restore]. It does not change.
type Snapshot struct {
	parts         Part
	durable, fast map[string]stored
	boards        map[string]*board
}

// Snapshot keeps the present state of the parts. Each part is one state of its own; calls
// that run at the same time may be in one part and not in another.
func (e *Engine) Snapshot(parts Part) *Snapshot {
	s := &Snapshot{parts: parts}
	if parts&Durable != 0 {
		s.durable = e.durable.snapshot()
	}
	if parts&Fast != 0 {
		s.fast = e.fast.snapshot()
	}
	if parts&Boards != 0 {
		s.boards = e.boards.snapshot()
	}
	return s
}

// Restore puts the parts of the snapshot back, as a failover to an older replica does: what
// was written since is gone, and what was deleted since is back. Clocks are not touched. A
// snapshot can be restored many times, on any engine.
func (e *Engine) Restore(s *Snapshot) {
	if s.parts&Durable != 0 {
		e.durable.restore(s.durable)
	}
	if s.parts&Fast != 0 {
		e.fast.restore(s.fast)
	}
	if s.parts&Boards != 0 {
		e.boards.restore(s.boards)
	}
}
