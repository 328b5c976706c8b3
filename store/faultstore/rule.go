package faultstore

import (
	"math/rand/v2"
	"time"
)

// Rule decides what happens to a call. It is called by one goroutine at a time, in the order
// of the calls' numbers, and must not call the store or the [Faults].
type Rule func(Call) Fault

// First is the first of the rules' faults that is one.
func First(rules ...Rule) Rule {
	return func(c Call) Fault {
		for _, rule := range rules {
			if f := rule(c); f != (Fault{}) {
				return f
			}
		}
		return Fault{}
	}
}

// Nth strikes the n-th call (from 1) that matches, and no other. A nil match is every call.
// To lose every answer of a scenario in turn, run it with n = 1, 2, 3, … until it no longer
// strikes.
func Nth(n int, match func(Call) bool, f Fault) Rule {
	seen := 0
	return func(c Call) Fault {
		if match != nil && !match(c) {
			return Fault{}
		}
		if seen++; seen == n {
			return f
		}
		return Fault{}
	}
}

// Writes matches the calls that change something.
func Writes(c Call) bool { return c.Write }

// Odds are the chances of each kind, from 0 to 1, together at most 1; the rest passes.
// Reads meet Late and FailAfter as failures, see the package's guarantees.
type Odds struct {
	FailBefore, FailAfter, Late, Hang, HangApplied, Lose, Twice float64

	// Delay and Back are the longest times on each way; each call draws its own.
	Delay, Back time.Duration
	// After is the longest time until a late call lands, which draws its own of at least a
	// nanosecond. Default 0: it is held until [Faults.Land].
	After time.Duration
}

// Chance draws each call's fault from the odds. It is a pure function of seed and the
// call's number.
func Chance(seed uint64, o Odds) Rule {
	return func(c Call) Fault {
		rng := rand.New(rand.NewPCG(seed, c.N))
		f := Fault{Kind: o.draw(rng.Float64()), Delay: upTo(rng, o.Delay), Back: upTo(rng, o.Back)}
		if f.Kind == Late && o.After > 0 {
			f.After = 1 + upTo(rng, o.After-1)
		}
		return f
	}
}

func (o Odds) draw(chance float64) Kind {
	for _, k := range []struct {
		kind Kind
		odds float64
	}{
		{FailBefore, o.FailBefore},
		{FailAfter, o.FailAfter},
		{Late, o.Late},
		{Hang, o.Hang},
		{HangApplied, o.HangApplied},
		{Lose, o.Lose},
		{Twice, o.Twice},
	} {
		if chance < k.odds {
			return k.kind
		}
		chance -= k.odds
	}
	return Pass
}

// upTo is a time from 0 to d.
func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(rng.Int64N(int64(d) + 1))
}
