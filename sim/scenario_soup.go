package sim

import (
	"time"

	"github.com/shoalworks/shoal/store/memstore"
)

// soupOf is a fleet in which everything happens: players come, leave and move, servers crash
// and come back under their names.
type soupOf struct {
	Servers, Keys, Moves int
	Lasts                time.Duration
	Crash                float64 // chance that a move is a crash
	Skew                 time.Duration
	Plan                 Plan
	Bustle               Bustle
	// Also is called before each move: more faults.
	Also func(f *Fleet, s *stew)
}

// stew is a soup that is being cooked.
type stew struct {
	soupOf
	f       *Fleet
	servers []*Server
	keys    []string
	last    map[string]*Visit
}

func (o soupOf) play(f *Fleet) {
	s := &stew{soupOf: o, f: f, last: make(map[string]*Visit)}
	for i := range o.Servers {
		s.servers = append(s.servers, s.start(string(rune('A'+i))))
	}
	for range o.Keys {
		s.keys = append(s.keys, f.Key())
	}
	f.Script.Sleep(2 * f.Settings.Beat)
	pace := o.Lasts / time.Duration(o.Moves)
	for range o.Moves {
		f.sleep(0, 2*pace)
		if o.Also != nil {
			o.Also(f, s)
		}
		f.stir(o.Bustle, s.keys)
		if f.rng.chance(o.Crash) {
			s.crash()
			continue
		}
		s.move()
	}
}

func (s *stew) start(name string) *Server {
	skew := time.Duration(0)
	if s.Skew > 0 {
		skew = s.f.between(0, 2*s.Skew) - s.Skew
	}
	return s.f.StartWith(name, s.f.Settings, skew)
}

func (s *stew) crash() {
	i := s.f.rng.below(len(s.servers))
	name := string(rune('A' + i))
	s.f.Crash(s.servers[i])
	s.f.sleep(0, 3*time.Second)
	s.servers[i] = s.start(name)
}

// move has one player come, leave, or go to another server without leaving.
func (s *stew) move() {
	f := s.f
	key, server := s.keys[f.rng.below(len(s.keys))], s.servers[f.rng.below(len(s.servers))]
	leaves := f.rng.chance(0.4)
	v := s.last[key]
	here := v != nil && v.Server.Up() && !isClosed(v.Over)
	switch {
	case here && leaves:
		v.Leave()
	case here && v.Server == server, !server.Up():
	default:
		s.last[key] = f.Join(server, key, s.plan())
	}
}

// plan is that of the soup, or of a game that wants nothing to be safe, or most of it.
func (s *stew) plan() Plan {
	plan := s.Plan
	switch s.f.rng.below(4) {
	case 0:
		plan = Plan{}
	case 1:
		plan = syncing()
	}
	if s.Bustle != (Bustle{}) {
		plan.Earn = 0.3
	}
	return plan
}

// soup: 3 servers, 10 keys, 120 random joins, leaves and crashes over 20 minutes, and scores.
func soup(f *Fleet) {
	bustle := busy()
	bustle.Contest = lively()
	soupOf{Servers: 3, Keys: 10, Moves: 120, Lasts: 20 * time.Minute, Crash: 0.08, Plan: sometimes(), Bustle: bustle}.play(f)
}

// everything is a fleet that keeps versions, and boards.
func everything(s *Settings) {
	versioned(s)
	s.Boards = allBoards()
}

// lostAnswers: every write is applied, and reported as failed with probability 0.2.
func lostAnswers(f *Fleet) { broth().play(f) }

func losing(w *[parts]Weather) {
	w[Durable].LoseApplied, w[Fast].LoseApplied = 0.2, 0.2
}

// broth is a smaller soup, for faults that do not need twenty minutes.
func broth() soupOf {
	return soupOf{Servers: 3, Keys: 5, Moves: 50, Lasts: 5 * time.Minute, Crash: 0.08, Plan: Plan{Sync: 0.1, Save: 0.05}}
}

// memoryLoss: the fast store forgets everything, now and then, and between seal and claim.
func memoryLoss(f *Fleet) {
	f.Ledger.onSeal = func(*Process, string) {
		if f.rng.chance(0.3) {
			f.schedule(f.now()+f.between(0, 300*time.Millisecond), nil, f.rng.next(), func() bool {
				f.forget()
				return false
			})
		}
	}
	o := broth()
	o.Also = func(f *Fleet, _ *stew) {
		if f.rng.chance(0.2) {
			f.Forget()
		}
	}
	o.play(f)
}

// skewedClocks: the servers' clocks are up to ten minutes off.
func skewedClocks(f *Fleet) {
	o := broth()
	o.Skew = 10 * time.Minute
	o.play(f)
}

// clockStep: the stores' clocks jump by a minute, now and then; in one run all forward, in
// another all back.
func clockStep(f *Fleet) {
	step := time.Minute
	if f.rng.chance(0.5) {
		step = -step
	}
	o := broth()
	o.Also = func(f *Fleet, _ *stew) {
		which, do := f.rng.below(3), f.rng.chance(0.3)
		if do {
			f.stepClock([...]memstore.Part{memstore.Durable, memstore.Fast, memstore.Durable | memstore.Fast}[which], step)
		}
	}
	o.play(f)
}

func (f *Fleet) stepClock(part memstore.Part, by time.Duration) {
	f.Script.Do(func() {
		f.say(nil, "the clock of store %d steps by %v", part, by)
		f.engine.StepClock(part, by)
		f.Ledger.Met("clock step")
	})
}

// storm: everything at once, with calls that take their time and overtake each other.
func storm(f *Fleet) {
	o := soupOf{Servers: 3, Keys: 3, Moves: 60, Lasts: 5 * time.Minute, Crash: 0.06, Plan: Plan{Sync: 0.1, Save: 0.05}}
	o.Also = func(f *Fleet, s *stew) {
		server := s.servers[f.rng.below(len(s.servers))]
		part, lasts, what := Part(f.rng.below(parts)), f.between(0, 40*time.Second), f.rng.below(12)
		if !server.Up() {
			return
		}
		switch what {
		case 0:
			f.pauseFor(server, lasts)
		case 1, 2:
			f.cutFor(server, lasts, part)
		case 3:
			f.Forget()
		case 4:
			f.downFor(lasts/4, part)
		}
	}
	o.play(f)
}

// stormy weather loses, delays and doubles.
func stormy(w *[parts]Weather) {
	for i := range w {
		w[i].Wait = Span{Max: 300 * time.Millisecond}
		w[i].Took = Span{Min: time.Millisecond, Max: 800 * time.Millisecond}
		w[i].Effect = Anywhere
		w[i].Refuse, w[i].LoseApplied, w[i].LoseUnapplied, w[i].Late, w[i].Hang = 0.03, 0.05, 0.03, 0.05, 0.01
	}
	w[Bus].Drop, w[Bus].Double = 0.2, 0.2
}

// pauseFor pauses a server for a while; the script goes on.
func (f *Fleet) pauseFor(s *Server, lasts time.Duration) {
	f.Script.Do(func() {
		if s.Gone() || s.paused {
			return
		}
		f.Ledger.Met("pause")
		f.halt(s.Process, lasts)
	})
}

// halt pauses a process for a while. In commands and steps only.
func (f *Fleet) halt(p *Process, lasts time.Duration) {
	p.Pause()
	f.schedule(f.now()+lasts, nil, p.hash, func() bool {
		p.Resume()
		return false
	})
}

// cutFor cuts a server off from parts of the store for a while; the script goes on.
func (f *Fleet) cutFor(s *Server, lasts time.Duration, from ...Part) {
	f.Script.Do(func() {
		f.say(s.Process, "is cut off from %v for %v", from, lasts)
		for _, part := range from {
			s.Cut[f.part(part)] = true
		}
		f.schedule(f.now()+lasts, nil, s.hash, func() bool {
			for _, part := range from {
				s.Cut[f.part(part)] = false
			}
			s.cleared = f.now()
			return false
		})
	})
}

// downFor has parts of the store refuse everything for a while; the script goes on.
func (f *Fleet) downFor(lasts time.Duration, which ...Part) {
	f.Script.Do(func() {
		f.say(nil, "%v down for %v", which, lasts)
		for _, part := range which {
			f.Down[f.part(part)] = true
		}
		f.schedule(f.now()+lasts, nil, uint64(lasts), func() bool {
			for _, part := range which {
				f.Down[f.part(part)] = false
			}
			return false
		})
	})
}
