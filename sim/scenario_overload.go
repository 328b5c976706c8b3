package sim

import (
	"time"

	"github.com/shoalworks/shoal/node"
)

// lean is the budget of the scenario overload: what a server with one player may ask for, by
// the minute, in reads and in writes.
const lean = 70

// tight gives our nodes the limits that the store has.
func tight(s *Settings) {
	s.Limits = node.Limits{Node: node.Rates{Read: node.Rate{Base: lean}, Write: node.Rate{Base: lean}}}
}

// overload: 3 servers of 100 profiles with a budget of one player's each, and one player who
// moves every 0.25 s, for a minute.
func overload(f *Fleet) { // case P25
	s := f.Servers(3)
	f.Script.Do(func() {
		for _, server := range s {
			server.Budget = lean
		}
	})
	last := make(map[string]*Visit)
	for i := range 300 {
		key := f.Key()
		last[key] = f.Join(s[i%3], key, Plan{Every: 5 * time.Second})
		f.sleep(0, time.Second)
	}
	f.Script.Sleep(time.Minute)
	for range 240 {
		f.Script.Sleep(250 * time.Millisecond)
		key := f.keys[f.rng.below(len(f.keys))]
		v := last[key]
		if !isClosed(v.Answered) {
			continue // on the way already
		}
		to := s[f.rng.below(3)]
		if to != v.Server {
			last[key] = f.Join(to, key, Plan{Every: 5 * time.Second})
		}
	}
	for _, key := range f.keys {
		last[key].AwaitOpen()
	}
	f.Script.Do(func() {
		for _, server := range s {
			server.Budget = 0
		}
	})
}
