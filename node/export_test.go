package node

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Pulse opens the pure rules of the own beats to the tests.
type Pulse struct{ p pulse }

// Landed is the pulse after a beat has landed, where DeadAfter is four beats.
func (p Pulse) Landed(v store.Version, sent, acked time.Time, beat time.Duration) Pulse {
	return Pulse{p.p.landedBeat(sentBeat{v, sent}, acked, beat, 4*beat)}
}

func (p Pulse) SentUnknown(v store.Version, sent time.Time) Pulse {
	return Pulse{p.p.sentUnknown(sentBeat{v, sent})}
}

func (p Pulse) Forgotten() Pulse { return Pulse{p.p.forgotten()} }

func (p Pulse) Own(v store.Version) bool {
	_, ok := p.p.own(v)
	return ok
}

func (p Pulse) MayJudge(own store.Record, sent, answered time.Time, beat time.Duration) (may, moved bool) {
	return p.p.mayJudge(own, sent, answered, beat)
}

// Marked is the pulse with a mark that has landed.
func (p Pulse) Marked(slot int, v store.Version, sent, acked time.Time) Pulse {
	return Pulse{p.p.withMark(slot, mark{v, sent, acked})}
}

func (p Pulse) MarkDue(now time.Time, beat time.Duration) (slot int, ok bool) {
	return p.p.markDue(now, beat)
}

func (p Pulse) ReadMarks(seen [2]store.Record, sent, answered time.Time, beat time.Duration) (after Pulse, vouched, moved bool) {
	q, vouched, moved := p.p.readMarks(p.p.marks, seen, sent, answered, beat)
	return Pulse{q}, vouched, moved
}

func (p Pulse) Suspect(now time.Time, beat, deadAfter time.Duration) bool {
	return p.p.suspect(now, beat, deadAfter)
}

// EstimateAt is fleet time at now, from one round trip.
func EstimateAt(sent, answered, storeTime, now time.Time) (time.Time, bool) {
	return estimateFrom(sent, answered, storeTime).at(now)
}

// NextTick opens the grid of the loops.
func NextTick(last, now time.Time, period time.Duration) time.Time {
	return nextTick(last, now, period)
}

// Gate opens the request budget to the tests, without a node around it.
type Gate struct{ g *gate }

func NewGate(l Limits, players func() int) Gate {
	return Gate{newGate(l.withDefaults(), clock.System(), players)}
}

func (g Gate) Pass(ctx context.Context, c Class, k Kind, n int) error {
	var d demand
	d[k] = n
	return g.g.pass(ctx, c, d)
}

func (g Gate) Spare(c Class) bool { return g.g.spare(c, demand{KindRead: 1}) }

func (g Gate) Stats() map[Class]GateCount { return g.g.stats() }

// Allowed is a node's share of a kind, a minute.
func Allowed(l Limits, k Kind, here, fleet, nodes int) float64 {
	return l.allowed(k, crowd{here: here, fleet: fleet, nodes: nodes})
}

// DueTick opens the grid of the beats.
func DueTick(last, now time.Time, period time.Duration) time.Time {
	return dueTick(last, now, period)
}
