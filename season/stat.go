package season

import (
	"fmt"
	"math"
)

// Kind is how a stat counts.
type Kind uint8

// The kinds of stats.
const (
	Sum       Kind = iota + 1 // the events' amounts, or Each per event, added up; a negative one takes away
	Run                       // a streak: Each (1) per event, set to 0 by the events in ResetOn
	BestOfRun                 // the highest value that the run named by Of has reached
	Max                       // the largest amount
	Min                       // the smallest amount, for boards of times
	Last                      // the latest amount
)

// String is the name that the configuration uses.
func (k Kind) String() string {
	switch k {
	case Sum:
		return "sum"
	case Run:
		return "run"
	case BestOfRun:
		return "best"
	case Max:
		return "max"
	case Min:
		return "min"
	case Last:
		return "last"
	}
	return "no kind"
}

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, bool) {
	for k := Sum; k <= Last; k++ {
		if k.String() == s {
			return k, true
		}
	}
	return 0, false
}

// Event is something that happened in the game and that stats count.
type Event struct {
	Name   string
	Amount int64 // coins earned, the weight of a fish; may be negative; unused by runs and by sums with Each
}

// Stat is a counter of the season block.
type Stat struct {
	// Name is the stat's name in the block: at most 64 bytes of letters, digits and ._-:@+=~.
	Name string
	// Kind is how it counts.
	Kind Kind
	// On names the events that it counts. Not for best.
	On []string
	// ResetOn names the events that end a run. Only for run.
	ResetOn []string
	// Of names the run whose best this is. Only for best.
	Of string
	// Each is what one event adds, for sum and run. Default 0: the event's amount for sum, 1
	// for run.
	Each int64
}

// maxStats bounds the stats of a season, so that a tally fits on the stack.
const maxStats = 32

// tally is the values of a block's stats while events are counted. A stat that no event has
// touched is absent, and not on its board.
type tally struct {
	vals    [maxStats]int64
	fetched uint32 // read from the block
	has     uint32 // has a value
	changed uint32 // has another value than before
}

func (t *tally) get(i int) (int64, bool) { return t.vals[i], t.has&(1<<i) != 0 }

func (t *tally) set(i int, v int64) {
	if old, ok := t.get(i); ok && old == v {
		return
	}
	t.vals[i] = v
	t.has |= 1 << i
	t.changed |= 1 << i
}

// act is what an event does to one stat.
type act uint8

const (
	actAdd     act = iota + 1 // add the amount
	actEach                   // add the stat's Each
	actEnd                    // set to 0
	actBest                   // raise to the run's value
	actHighest                // raise to the amount
	actLowest                 // lower to the amount
	actReplace                // set to the amount
)

// effect is one act on one stat.
type effect struct {
	stat, run int // run: the stat that actBest looks at
	act       act
	each      int64
}

// effectsOf lists for each event what it does, runs before the bests that look at them. The
// stats are valid.
func effectsOf(stats []Stat) map[string][]effect {
	out := make(map[string][]effect)
	index := make(map[string]int, len(stats))
	for i, s := range stats {
		index[s.Name] = i
		for _, e := range s.On {
			out[e] = append(out[e], effect{stat: i, act: actOf(s), each: eachOf(s)})
		}
		for _, e := range s.ResetOn {
			out[e] = append(out[e], effect{stat: i, act: actEnd})
		}
	}
	for i, s := range stats {
		if s.Kind != BestOfRun {
			continue
		}
		run := index[s.Of]
		for _, e := range stats[run].On {
			out[e] = append(out[e], effect{stat: i, run: run, act: actBest})
		}
	}
	return out
}

func eachOf(s Stat) int64 {
	if s.Kind == Run && s.Each == 0 {
		return 1
	}
	return s.Each
}

func actOf(s Stat) act {
	switch s.Kind {
	case Sum:
		if s.Each == 0 {
			return actAdd
		}
		return actEach
	case Run:
		return actEach
	case BestOfRun:
		return actBest
	case Max:
		return actHighest
	case Min:
		return actLowest
	case Last:
		return actReplace
	}
	return 0
}

// apply does one effect of an event.
func (t *tally) apply(e effect, amount int64) error {
	now, has := t.get(e.stat)
	switch e.act {
	case actAdd, actEach:
		by := amount
		if e.act == actEach {
			by = e.each
		}
		sum, ok := add(now, by)
		if !ok {
			return fmt.Errorf("%w: %d and %d more", ErrOverflow, now, by)
		}
		t.set(e.stat, sum)
	case actEnd:
		t.set(e.stat, 0)
	case actBest:
		if run, ok := t.get(e.run); ok && (!has || run > now) {
			t.set(e.stat, run)
		}
	case actHighest:
		if !has || amount > now {
			t.set(e.stat, amount)
		}
	case actLowest:
		if !has || amount < now {
			t.set(e.stat, amount)
		}
	case actReplace:
		t.set(e.stat, amount)
	}
	return nil
}

// add is a+b; ok is false when the sum leaves int64.
func add(a, b int64) (sum int64, ok bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}
