package node

import (
	"fmt"
	"time"
)

// This file holds the rules of the request budget: pure, without I/O, clock or goroutine.

// Class says what a store call is for, and with it who goes first when the budget is short.
type Class uint8

// The classes, first come those that go first. Beats and notes are in no class: they never wait.
const (
	ClassSave       Class = iota + 1 // saves and releases: what frees a profile for others
	ClassLoad                        // loads; they leave a reserve for saves
	ClassBoard                       // boards and seasons' last values
	ClassBackground                  // everything that can wait; it gives up after BackgroundWait
	classes         = int(ClassBackground)
)

// String is "save", "load", "board" or "background".
func (c Class) String() string {
	switch c {
	case ClassSave:
		return "save"
	case ClassLoad:
		return "load"
	case ClassBoard:
		return "board"
	case ClassBackground:
		return "background"
	}
	return "no class"
}

// Kind is a kind of request that a store may limit by itself.
type Kind uint8

// The kinds. A write of an entry of a board is an ordered write and an ordered read, since
// an engine with limits reads what it replaces.
const (
	KindRead Kind = iota
	KindWrite
	KindOrderedRead
	KindOrderedWrite
	KindList
	kinds = int(KindList) + 1
)

// String is "read", "write", "ordered read", "ordered write" or "list".
func (k Kind) String() string {
	switch k {
	case KindRead:
		return "read"
	case KindWrite:
		return "write"
	case KindOrderedRead:
		return "ordered read"
	case KindOrderedWrite:
		return "ordered write"
	case KindList:
		return "list"
	}
	return "no kind"
}

// Rate is how many requests a minute are allowed: Base + PerPlayer × players. The zero Rate
// is no limit.
type Rate struct {
	Base, PerPlayer int
}

// perMinute is the rate at a number of players; 0 is no limit.
func (r Rate) perMinute(players int) float64 {
	if r == (Rate{}) {
		return 0
	}
	return max(1, float64(r.Base)+float64(r.PerPlayer)*float64(players)) // the first player must get in
}

// Rates are limits by kind.
type Rates struct {
	Read, Write, OrderedRead, OrderedWrite, List Rate
}

func (r Rates) of(k Kind) Rate {
	return [kinds]Rate{r.Read, r.Write, r.OrderedRead, r.OrderedWrite, r.List}[k]
}

// Limits are what the store allows. The zero Limits limit nothing.
type Limits struct {
	// Node is what this node may ask for by itself. Default: no limit.
	Node Rates
	// Fleet is what all nodes together may ask for. This node takes the share of its players
	// among those of all beats. Default: no limit.
	Fleet Rates
	// Reserve is how many requests of each kind loads and boards leave for saves. Background
	// work leaves half of what the budget holds, a minute's allowance. Default 10.
	Reserve int
	// BackgroundWait is after how long background work gives up. Default 150 s.
	BackgroundWait time.Duration
	// BackgroundLook is how often waiting background work looks. Default 0.5 s.
	BackgroundLook time.Duration
	// Queue is how many calls of one class wait for budget; more are refused. Default 10,000.
	Queue int
}

func (l Limits) withDefaults() Limits {
	defaultTo(&l.Reserve, 10)
	defaultTo(&l.BackgroundWait, 150*time.Second)
	defaultTo(&l.BackgroundLook, 500*time.Millisecond)
	defaultTo(&l.Queue, 10_000)
	return l
}

// limited tells that anything is limited.
func (l Limits) limited() bool { return l.Node != Rates{} || l.Fleet != Rates{} }

func (l Limits) problems() []error {
	var errs []error
	for k := range Kind(kinds) {
		for where, r := range map[string]Rate{"Node": l.Node.of(k), "Fleet": l.Fleet.of(k)} {
			if r.Base < 0 || r.PerPlayer < 0 {
				errs = append(errs, fmt.Errorf("node: options: Limits.%s: %v: 0 or more a minute expected, got %+v", where, k, r))
			}
		}
	}
	if l.Reserve < 0 || l.BackgroundWait < 0 || l.BackgroundLook <= 0 || l.Queue < 1 {
		errs = append(errs, fmt.Errorf("node: options: Limits: a reserve, waits and a queue of at least 0 expected, got %+v", l))
	}
	return errs
}

// crowd is how many players there are, for the limits that grow with them.
type crowd struct {
	here  int // of this node
	fleet int // of all nodes, this one included
	nodes int // living ones, this one included
}

// allowed is how many requests of a kind a minute this node may make; 0 is no limit. A fleet
// without players is shared equally.
func (l Limits) allowed(k Kind, c crowd) float64 {
	own := l.Node.of(k).perMinute(c.here)
	whole := l.Fleet.of(k).perMinute(max(c.fleet, c.here))
	if whole == 0 {
		return own
	}
	share := whole / float64(max(c.nodes, 1))
	if c.fleet > 0 {
		share = whole * float64(c.here) / float64(max(c.fleet, c.here))
	}
	// A node that has no players yet must be able to load its first.
	share = max(share, whole/float64(10*max(c.nodes, 1)))
	if own == 0 {
		return share
	}
	return min(own, share)
}

// demand is how many requests of each kind a call makes.
type demand [kinds]int

// kinds is one request of each kind that d makes.
func (d demand) kinds() demand {
	for k := range d {
		d[k] = min(d[k], 1)
	}
	return d
}

// shares tells that d makes requests of a kind that o makes too.
func (d demand) shares(o demand) bool {
	for k := range d {
		if d[k] > 0 && o[k] > 0 {
			return true
		}
	}
	return false
}

// plus is d and so many times o.
func (d demand) plus(o demand, times int) demand {
	for k := range d {
		d[k] += times * o[k]
	}
	return d
}

// purse is what is left of one kind: a token bucket of a minute's allowance.
type purse struct {
	tokens float64
	full   float64 // what it holds at most, and gains in a minute; 0 is no limit
	at     time.Time
}

// refilled is the purse at now, with another allowance from now on. A new purse is full.
func (p purse) refilled(now time.Time, perMinute float64) purse {
	if perMinute == 0 {
		return purse{at: now}
	}
	full := perMinute
	if p.full == 0 {
		return purse{tokens: full, full: full, at: now}
	}
	gained := max(0, now.Sub(p.at).Minutes()) * p.full
	return purse{tokens: min(full, p.tokens+gained), full: full, at: now}
}

// affords tells whether n requests may be made by a class. What is larger than a full purse
// goes when the purse is full, and leaves a debt.
func (p purse) affords(n int, c Class, reserve int) bool {
	if p.full == 0 || n == 0 {
		return true
	}
	return p.tokens >= min(float64(n)+p.left(c, reserve), p.full)
}

// left is what a class leaves for others: loads and boards a reserve for saves, and background
// work half of what the purse holds. To be behind those who wait now is not enough for it: what
// it takes would be missed by the loads of the next half minute.
func (p purse) left(c Class, reserve int) float64 {
	switch c {
	case ClassSave:
		return 0
	case ClassBackground:
		return max(float64(reserve), p.full/2)
	case ClassLoad, ClassBoard:
	}
	return float64(reserve)
}

// spent is the purse after n requests.
func (p purse) spent(n int) purse {
	if p.full > 0 {
		p.tokens -= float64(n)
	}
	return p
}

// wait is how long until n requests may be made by a class; 0 is now.
func (p purse) wait(n int, c Class, reserve int) time.Duration {
	if p.affords(n, c, reserve) {
		return 0
	}
	missing := min(float64(n)+p.left(c, reserve), p.full) - p.tokens
	return time.Duration(missing/p.full*float64(time.Minute)) + time.Millisecond
}
