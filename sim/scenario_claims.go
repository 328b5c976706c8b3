package sim

import "time"

// This file holds the scenarios of what must happen exactly once: see deeds.go.

// claimsSynced is a soup in which most wants to be safe at once, and more happens outside.
func claimsSynced(f *Fleet) {
	soupOf{
		Servers: 3, Keys: 6, Moves: 60, Lasts: 6 * time.Minute, Crash: 0.1, Plan: syncing(),
		Bustle: Bustle{Receipt: 0.8, Gift: 0.7, Letter: 0.4, Trade: 0.7, Edit: 0.4},
	}.play(f)
}

// claimsLost is the same with many answers lost, stores that are down for a moment, and
// servers that stop, or are cut off from the durable store.
func claimsLost(f *Fleet) {
	o := soupOf{
		Servers: 3, Keys: 5, Moves: 50, Lasts: 5 * time.Minute, Crash: 0.12, Plan: Plan{Sync: 0.1, Save: 0.05},
		Bustle: Bustle{Receipt: 0.9, Gift: 0.8, Letter: 0.8, Trade: 0.9, Edit: 0.5},
	}
	o.Also = func(f *Fleet, s *stew) {
		server, lasts, what := s.servers[f.rng.below(len(s.servers))], f.between(0, 30*time.Second), f.rng.below(20)
		if !server.Up() {
			return
		}
		switch what {
		case 0:
			f.pauseFor(server, lasts)
		case 1, 2:
			f.cutFor(server, lasts, Durable)
		case 3:
			f.downFor(lasts/4, Durable)
		}
	}
	o.play(f)
}

// versioned keeps a version of a profile once a minute.
func versioned(s *Settings) { s.Versions = time.Minute }

// unreliable loses answers, of calls that had their effect, that had none, and that have it
// later.
func unreliable(w *[parts]Weather) {
	for _, p := range [...]Part{Durable, Fast} {
		w[p].LoseApplied, w[p].LoseUnapplied, w[p].Late, w[p].Refuse = 0.12, 0.05, 0.06, 0.03
	}
	w[Bus].Drop = 0.2
}
