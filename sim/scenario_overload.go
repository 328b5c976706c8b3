package sim

import (
	"fmt"
	"time"

	"github.com/shoalworks/shoal/node"
)

const (
	// lean is the budget of the scenario overload: what a server with one player may ask for,
	// by the minute, in reads and in writes.
	lean = 70
	// eased is how long a load may take a minute after the rush.
	eased = 5 * time.Second
	// strays is how many requests of a run may reach the store too early: they pass the gate
	// evenly and are under way for longer or shorter.
	strays = 10
)

// tight gives our nodes the limits that the store has.
func tight(s *Settings) {
	s.Limits = node.Limits{Node: node.Rates{Read: node.Rate{Base: lean}, Write: node.Rate{Base: lean}, List: node.Rate{Base: lean}}}
}

// overload: 3 servers of 100 profiles with a budget of one player's each, and one player who
// moves every 0.25 s, for a minute. No load may pass its deadline, and a minute later the
// servers must have recovered.
func overload(f *Fleet) { // case P25
	r := &rush{Fleet: f, servers: f.Servers(3), last: make(map[string]*Visit)}
	f.Script.Do(func() {
		for _, server := range r.servers {
			server.Budget = lean
		}
	})
	for i := range 300 {
		r.join(r.servers[i%3], f.Key())
		f.sleep(0, time.Second)
	}
	f.Script.Sleep(time.Minute)
	for range 240 {
		f.Script.Sleep(250 * time.Millisecond)
		r.move()
	}
	r.settle()
	f.Script.Sleep(time.Minute)
	for !r.move() { // until one can
	}
	r.settle()
	if v := f.visits[len(f.visits)-1]; f.Lib.Exact() && v.Waited > eased {
		f.Ledger.Violated("overload", fmt.Sprintf("a load took %v a minute after the rush, at most %v expected", v.Waited, eased))
	}
	r.leave()
}

// meagre are limits that a handful of players reach who save now and then.
func meagre(s *Settings) {
	s.Limits = node.Limits{Node: node.Rates{Read: node.Rate{Base: 40}, Write: node.Rate{Base: 40}, List: node.Rate{Base: 40}}}
}

// leanAnswers is lostAnswers on a lean budget: what is sent again, read back and disowned
// waits for it too.
func leanAnswers(f *Fleet) {
	lostAnswers(f)
	f.Settings.Limits = node.Limits{} // how soon a key can be loaded afterwards is not theirs to say
}

// rush is many players who move at once.
type rush struct {
	*Fleet
	servers []*Server
	last    map[string]*Visit // by key
}

func (r *rush) join(s *Server, key string) {
	r.last[key] = r.Join(s, key, Plan{Every: 5 * time.Second})
}

// move has a player go to another server, and tells whether one was drawn who can.
func (r *rush) move() bool {
	key := r.keys[r.rng.below(len(r.keys))]
	v, to := r.last[key], r.servers[r.rng.below(3)]
	if !isClosed(v.Answered) || to == v.Server {
		return false
	}
	r.join(to, key)
	return true
}

// settle waits until everybody has arrived.
func (r *rush) settle() {
	for _, key := range r.keys {
		if v := r.last[key]; !v.AwaitOpen() && r.Lib.Exact() {
			r.Ledger.Violated("overload", fmt.Sprintf("the load of %s failed after %v: %v", key, v.Waited, v.Err))
		}
	}
}

// leave has everybody leave, so that what the servers may ask for says nothing about how soon
// a key can be loaded afterwards. The store has no limits then.
func (r *rush) leave() {
	for _, key := range r.keys {
		r.last[key].Leave()
	}
	for _, key := range r.keys {
		r.last[key].AwaitOver()
	}
	r.Settings.Limits = node.Limits{}
	r.Script.Do(func() {
		for _, server := range r.servers {
			server.Budget = 0
		}
		if n := r.tally.Throttled; r.Lib.Exact() && n > strays {
			r.Ledger.Violated("overload", fmt.Sprintf("the store has turned away %d requests over the budget", n))
		}
	})
}
