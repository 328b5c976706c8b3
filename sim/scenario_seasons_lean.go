package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/node"
)

// seasonBudget is what a server of seasonsLean may ask of its store, by the minute and kind:
// enough for those who come and go, and little more.
const seasonBudget = 60

// thrifty are seasons on a short budget.
func thrifty(s *Settings) {
	competing(s)
	rate := node.Rate{Base: seasonBudget}
	s.Limits = node.Limits{Node: node.Rates{Read: rate, Write: rate, OrderedRead: rate, OrderedWrite: rate, List: rate}}
}

// thriftyIdle is the same fleet, in which nobody closes anything.
func thriftyIdle(s *Settings) {
	thrifty(s)
	rules := *s.Seasons
	rules.CloseEvery = -time.Minute
	s.Seasons = &rules
}

// seasonsLean: a server comes back after twenty seasons, with a short budget, and has them all
// to close, while somebody comes or goes every three seconds.
func seasonsLean(f *Fleet) {
	o := races()
	o.Servers, o.Anglers, o.Outing.Look = 1, 4, 0
	r := o.begin(f)
	f.untilEnd(-10 * time.Second)
	f.Script.Await(f.Close(r.servers[0]))
	f.Script.Sleep(20 * f.Settings.Seasons.Length)
	s := r.start("A")
	f.Ledger.forgetWaits()
	keys := crowd(20)
	last := make(map[string]*Stay)
	for range 100 {
		f.Script.Sleep(3 * time.Second)
		switch key := keys[f.rng.below(len(keys))]; {
		case !last[key].Here():
			last[key] = f.Angle(s, key, Outing{Every: exactly(20 * time.Second)})
		default:
			last[key].Leave()
		}
	}
	for _, key := range keys {
		if st := last[key]; st.Here() {
			st.Leave()
			st.AwaitOver()
		}
	}
	f.Settings.Limits = node.Limits{} // how soon the auditor loads is not theirs to say
}

// forgetWaits has the ledger forget how long loads took so far.
func (l *Ledger) forgetWaits() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.reef.waits = nil
}

// LoadTimes are how long the loads of seasons took, the 50th and the 99th of a hundred, and
// the slowest.
type LoadTimes struct{ Half, Most, Slowest time.Duration }

// String is the times in a line.
func (t LoadTimes) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, slowest %v", t.Half, t.Most, t.Slowest)
}

// Loads sums up the loads of seasons.
func (s *Score) Loads() (t LoadTimes) {
	if len(s.Waits) == 0 {
		return t
	}
	sorted := slices.Sorted(slices.Values(s.Waits))
	n := len(sorted)
	return LoadTimes{sorted[n/2], sorted[n*99/100], sorted[n-1]}
}

// Lean is the scenario of a short budget; idle: nobody closes anything. Both have the same
// name, and so the same chance.
func Lean(idle bool) *Scenario {
	s := &Scenario{Name: "seasonsLean", Play: seasonsLean, Settings: thrifty, Sound: true, Few: true}
	if idle {
		s.Settings = thriftyIdle
	}
	return s
}
