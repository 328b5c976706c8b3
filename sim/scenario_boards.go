package sim

import "time"

// This file holds the scenarios of boards: see contest.go and bids.go.

// ranked has the servers keep boards, and little else to do.
func ranked(s *Settings) { s.Boards = allBoards() }

// leagueOf is a fleet whose players hand in scores.
type leagueOf struct {
	Servers, Moves int
	Lasts          time.Duration
	Contest        Contest
	Crash, Restart float64 // chance that a move is a crash, or an end in order, with a new start
	Skew           time.Duration
	// Also is called before each move: more faults.
	Also func(f *Fleet, s *stew)
}

func (o leagueOf) play(f *Fleet) {
	s := &stew{soupOf: soupOf{Skew: o.Skew}, f: f}
	for i := range o.Servers {
		s.servers = append(s.servers, s.start(string(rune('A'+i))))
	}
	pace := o.Lasts / time.Duration(o.Moves)
	for range o.Moves {
		f.sleep(0, 2*pace)
		if o.Also != nil {
			o.Also(f, s)
		}
		f.contend(o.Contest)
		crash, restart := f.rng.chance(o.Crash), f.rng.chance(o.Restart)
		switch {
		case crash:
			s.crash()
		case restart:
			s.restart()
		}
	}
}

// restart closes a server in order and starts another under its name, while the first one may
// still be writing.
func (s *stew) restart() {
	i := s.f.rng.below(len(s.servers))
	if !s.servers[i].Up() {
		return
	}
	s.f.Close(s.servers[i])
	s.f.sleep(0, 3*time.Second)
	s.servers[i] = s.start(string(rune('A' + i)))
}

func league() leagueOf {
	return leagueOf{Servers: 3, Moves: 200, Lasts: 6 * time.Minute, Contest: lively()}
}

// boardsCalm: three servers, one board of each rule and order, and no fault.
func boardsCalm(f *Fleet) {
	o := league()
	o.Restart = 0.03
	o.play(f)
}

// boardsFaults: answers are lost, calls hang and land late, the boards are down now and then,
// servers stop for up to a minute with writes in flight, or are cut off, and their clocks are
// wrong.
func boardsFaults(f *Fleet) {
	o := league()
	o.Restart, o.Skew, o.Also = 0.03, 10*time.Minute, disturbed
	o.play(f)
}

// disturbed has something happen to a server, or to the boards.
func disturbed(f *Fleet, s *stew) {
	server, lasts, what := s.servers[f.rng.below(len(s.servers))], f.between(0, time.Minute), f.rng.below(40)
	if !server.Up() {
		return
	}
	switch what {
	case 0:
		f.pauseFor(server, lasts)
	case 1:
		f.cutFor(server, lasts, Boards)
	case 2:
		f.downFor(lasts/2, Boards)
	}
}

// boardsCrash: servers crash with scores in their queues and writes on their way.
func boardsCrash(f *Fleet) {
	o := league()
	o.Crash, o.Restart = 0.08, 0.03
	o.play(f)
}

// boardsForget: the boards lose their memory now and then. What they held is gone; what is
// written from then on is kept, and counted once.
func boardsForget(f *Fleet) {
	o := league()
	o.Crash = 0.02
	o.Also = func(f *Fleet, s *stew) {
		if f.rng.chance(0.04) {
			f.forgetBoards()
		}
		disturbed(f, s)
	}
	o.play(f)
}

// boardsSealed: each board is sealed at some time, by several servers at once, while scores
// are on their way.
func boardsSealed(f *Fleet) {
	o := league()
	o.Crash = 0.02
	o.Also = func(f *Fleet, _ *stew) {
		for f.rng.chance(0.06) {
			f.compete("seal", f.seal)
		}
	}
	o.play(f)
}

// roughBoards is weather in which a third of the writes to boards meets a fault.
func roughBoards(w *[parts]Weather) {
	w[Boards].Wait = Span{Max: 300 * time.Millisecond}
	w[Boards].Took = Span{Min: time.Millisecond, Max: 800 * time.Millisecond}
	w[Boards].Effect = Anywhere
	w[Boards].Refuse, w[Boards].LoseApplied, w[Boards].LoseUnapplied = 0.05, 0.12, 0.05
	w[Boards].Late, w[Boards].Hang = 0.08, 0.03
}
