package sim

import "time"

// Part is a part of the store that a call goes to.
type Part uint8

// The parts. With one record store the fast one is the durable one.
const (
	Durable Part = iota
	Fast
	Boards
	Bus
	parts = int(Bus) + 1
)

// String is "durable", "fast", "boards" or "bus".
func (p Part) String() string {
	switch p {
	case Durable:
		return "durable"
	case Fast:
		return "fast"
	case Boards:
		return "boards"
	case Bus:
		return "bus"
	}
	return "no part"
}

// Moment is when, between sending and answer, a call has its effect.
type Moment uint8

// The moments.
const (
	AtTheEnd Moment = iota
	InTheMiddle
	Anywhere // drawn for each transaction and each key
)

// Weather is what may happen to the calls of one part. The zero Weather is instant and fine.
type Weather struct {
	Wait   Span   // before a call leaves its process
	Took   Span   // from sending to answer
	Effect Moment // in between
	Carry  Span   // Bus: from the effect of a publish to the delivery

	Refuse        float64 // not applied, and said so
	LoseApplied   float64 // a write that is applied, but its answer says unknown
	LoseUnapplied float64 // a write that is not applied, and its answer says unknown
	Late          float64 // a write whose answer says unknown, and that is applied later
	LateBy        Span    // how much later than the answer
	Hang          float64 // no answer at all; applied or not
	Drop, Double  float64 // Bus: a message is lost, or comes twice
}

// fair is the same weather without faults.
func (w Weather) fair() Weather {
	return Weather{Wait: w.Wait, Took: w.Took, Effect: w.Effect, Carry: w.Carry, LateBy: w.LateBy}
}

// patience is after how long a call that gets no answer is told so, if its caller has not
// given up before.
const patience = time.Minute

// fate is what happens to one call, drawn when it arrives.
type fate struct {
	wait, took time.Duration
	refuse     bool // the whole call: it was not taken
	hang       bool // no answer
	units      []unitFate
}

// unitFate is what happens to one transaction, or to one key that is read.
type unitFate struct {
	effect time.Duration // from sending
	apply  bool
	lost   bool // the answer says unknown
}

// fateOf draws what happens to a call. It draws the same number of times whatever the
// weather, so that one fault more or less leaves the others where they are.
func fateOf(w *Weather, s *stream, write bool, units int) fate {
	f := fate{wait: s.within(w.Wait), took: s.within(w.Took)}
	f.refuse, f.hang = s.chance(w.Refuse), s.chance(w.Hang)
	f.units = make([]unitFate, units)
	for i := range f.units {
		f.units[i] = unitFateOf(w, s, write, f)
	}
	return f
}

func unitFateOf(w *Weather, s *stream, write bool, f fate) unitFate {
	u := unitFate{effect: f.took, apply: !f.refuse}
	anywhere, late, fork := s.unit(), s.within(w.LateBy), s.unit()
	switch w.Effect {
	case InTheMiddle:
		u.effect = f.took / 2
	case Anywhere:
		u.effect = time.Duration(anywhere * float64(f.took)).Truncate(time.Microsecond)
	case AtTheEnd:
	}
	if f.hang {
		u.apply = u.apply && anywhere < 0.5
		return u
	}
	if !write || f.refuse {
		return u
	}
	switch {
	case fork < w.LoseApplied:
		u.lost = true
	case fork < w.LoseApplied+w.LoseUnapplied:
		u.lost, u.apply = true, false
	case fork < w.LoseApplied+w.LoseUnapplied+w.Late:
		u.lost, u.effect = true, f.took+late
	}
	return u
}

// purse is what is left of a budget: at most a minute's allowance.
type purse struct {
	spent float64 // requests that have not been paid back
	at    time.Duration
}

// take takes n requests out of a budget of so many a minute, and tells whether they were there.
func (p *purse) take(now time.Duration, n, perMinute int) bool {
	p.spent = max(0, p.spent-(now-p.at).Minutes()*float64(perMinute))
	p.at = now
	if p.spent+float64(n) > float64(perMinute) {
		return false
	}
	p.spent += float64(n)
	return true
}

// affords tells whether the store takes a call from its process.
func (c *call) affords() bool {
	p := c.p
	if p.Budget == 0 || c.part == Boards || c.part == Bus || fastKey(c.key) || c.op == opNow {
		return true
	}
	kind := 0
	switch {
	case c.op.writes():
		kind = 1
	case c.op == opScan:
		kind = 2
	}
	return p.purses[kind].take(p.w.now(), c.units, p.Budget)
}
