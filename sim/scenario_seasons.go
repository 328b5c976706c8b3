package sim

import (
	"time"

	"github.com/shoalworks/shoal/season"
)

// This file holds the scenarios of seasons: see seasons.go.

// competing has the servers run short seasons: three minutes, and closed 45 s later.
func competing(s *Settings) {
	rules := season.Reef()
	rules.Calendar = season.Calendar{Epoch: beginning(), Length: 3 * time.Minute, PerCycle: 3}
	rules.Boards = []season.Board{rules.Boards[0], rules.Boards[3]}
	rules.Grace, rules.FlushEvery, rules.CacheFor = 45*time.Second, 15*time.Second, 30*time.Second
	rules.FirstClose, rules.CloseEvery = 20*time.Second, 60*time.Second
	rules.Top, rules.Keep = 3, 5
	s.Seasons = &rules
	s.AskEvery, s.Save = 2*time.Second, 20*time.Second
}

// regattaOf is a fleet whose players compete in seasons.
type regattaOf struct {
	Servers, Anglers int
	Boundaries       int     // how many ends of seasons it lasts
	Moves            int     // in each season: a player comes, leaves, or goes elsewhere
	Crash, Restart   float64 // chance that a move is a crash, or an end in order, with a new start
	Skew             time.Duration
	Outing           Outing
	// Also is called before each move: more faults.
	Also func(f *Fleet, s *regatta)
}

// regatta is one that is under way.
type regatta struct {
	stew
	regattaOf
	keys []string
	last map[string]*Stay
}

// casting is the usual outing.
func casting() Outing {
	return Outing{Every: Span{Min: time.Second, Max: 12 * time.Second}, Lose: 0.15, Sync: 0.1, Save: 0.03, Look: 0.2}
}

func races() regattaOf {
	return regattaOf{Servers: 3, Anglers: 6, Boundaries: 2, Moves: 10, Outing: casting()}
}

// begin starts the servers and has everybody come.
func (o regattaOf) begin(f *Fleet) *regatta {
	r := &regatta{regattaOf: o, keys: crowd(o.Anglers), last: make(map[string]*Stay)}
	r.stew = stew{soupOf: soupOf{Skew: o.Skew}, f: f}
	for i := range o.Servers {
		r.servers = append(r.servers, r.start(string(rune('A'+i))))
	}
	f.Script.Sleep(2 * f.Settings.Beat)
	for i, key := range r.keys {
		r.last[key] = f.Angle(r.servers[i%o.Servers], key, o.Outing)
	}
	return r
}

// play lasts until a little after the last end.
func (o regattaOf) play(f *Fleet) {
	r := o.begin(f)
	pace := f.Settings.Seasons.Length / time.Duration(max(o.Moves, 1))
	for k, _ := f.season(); int(k) < o.Boundaries; k, _ = f.season() {
		f.sleep(0, 2*pace)
		if o.Also != nil {
			o.Also(f, r)
		}
		switch crash, restart := f.rng.chance(o.Crash), f.rng.chance(o.Restart); {
		case crash:
			r.crash()
		case restart:
			r.restart()
		default:
			r.wander()
		}
	}
	f.sleep(0, time.Minute)
}

// wander has a player come, leave, or go to another server without leaving.
func (r *regatta) wander() {
	f := r.f
	key, server := r.keys[f.rng.below(len(r.keys))], r.servers[f.rng.below(len(r.servers))]
	leaves := f.rng.chance(0.4)
	st := r.last[key]
	switch {
	case st.Here() && leaves:
		st.Leave()
	case st.Here() && st.Server == server, !server.Up():
	default:
		r.last[key] = f.Angle(server, key, r.Outing)
	}
}

// seasonsSkewed: the clocks are up to ten minutes off, more than three seasons; nothing else is
// wrong, and nothing may be lost, or come too late.
func seasonsSkewed(f *Fleet) { // case S4
	f.flawless = true
	o := races()
	o.Skew, o.Restart = 10*time.Minute, 0.05
	o.play(f)
}
