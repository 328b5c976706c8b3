package sim

import "time"

// This file holds the scenarios of the field's benchmark: who comes when and where.

// between draws a duration for the script.
func (f *Fleet) between(lo, hi time.Duration) time.Duration { return f.rng.within(Span{lo, hi}) }

// sleep waits for a drawn duration.
func (f *Fleet) sleep(lo, hi time.Duration) { f.Script.Sleep(f.between(lo, hi)) }

// depart has a player leave and waits for it.
func depart(v *Visit) {
	v.Leave()
	v.AwaitOver()
}

// sometimes is the usual player: now and then the game wants a step to be safe.
func sometimes() Plan { return Plan{Sync: 0.03, Save: 0.02} }

// rejoin: play 10 to 120 s, leave, join elsewhere 0 to 5 s later.
func rejoin(f *Fleet) {
	s, key := f.Servers(2), f.Key()
	v := f.Join(s[0], key, sometimes())
	v.AwaitOpen()
	f.sleep(10*time.Second, 120*time.Second)
	v.Leave()
	f.sleep(0, 5*time.Second)
	w := f.Join(s[1], key, sometimes())
	w.AwaitOpen()
	f.sleep(5*time.Second, 10*time.Second)
	depart(w)
}

// handoff: join elsewhere while still held.
func handoff(f *Fleet) {
	s, key := f.Servers(2), f.Key()
	f.Join(s[0], key, sometimes()).AwaitOpen()
	f.sleep(10*time.Second, 120*time.Second)
	w := f.Join(s[1], key, sometimes())
	w.AwaitOpen()
	f.sleep(5*time.Second, 10*time.Second)
	depart(w)
}

// crash: play 30 to 290 s, crash, join elsewhere at once.
func crash(f *Fleet) { crashWith(f, Plan{}) }

// crashSynced is crash with a game that wants some steps to be safe.
func crashSynced(f *Fleet) { crashWith(f, Plan{Sync: 0.2, Save: 0.05}) }

func crashWith(f *Fleet, plan Plan) {
	s, key := f.Servers(2), f.Key()
	f.Join(s[0], key, plan).AwaitOpen()
	f.sleep(30*time.Second, 290*time.Second)
	f.Crash(s[0])
	w := f.Join(s[1], key, plan)
	w.AwaitOpen()
	f.sleep(5*time.Second, 10*time.Second)
	depart(w)
}

// partitioned: the holder is cut off from the bus.
func partitioned(f *Fleet) {
	s, key := f.Servers(2), f.Key()
	f.Join(s[0], key, sometimes()).AwaitOpen()
	f.sleep(10*time.Second, 60*time.Second)
	f.Script.Do(func() { s[0].Cut[Bus] = true })
	f.sleep(0, 4*time.Second)
	w := f.Join(s[1], key, sometimes())
	w.AwaitOpen()
	f.sleep(5*time.Second, 10*time.Second)
	depart(w)
}

// thirdRequester: two more servers ask at the same moment.
func thirdRequester(f *Fleet) {
	s, key := f.Servers(3), f.Key()
	f.Join(s[0], key, sometimes()).AwaitOpen()
	f.sleep(10*time.Second, 60*time.Second)
	v, w := f.Join(s[1], key, sometimes()), f.Join(s[2], key, sometimes())
	v.AwaitOpen()
	w.AwaitOpen()
	f.sleep(5*time.Second, 10*time.Second)
	for _, x := range []*Visit{v, w} {
		if x.Open() {
			depart(x)
		}
	}
}

// flapping: A to B to A within one beat, and on.
func flapping(f *Fleet) {
	s, key := f.Servers(2), f.Key()
	v := f.Join(s[0], key, sometimes())
	v.AwaitOpen()
	f.sleep(5*time.Second, 10*time.Second)
	for round := range 6 {
		next := f.Join(s[(round+1)%2], key, sometimes())
		if f.rng.chance(0.3) { // without waiting: the asks overtake each other
			f.sleep(0, time.Second)
		} else {
			next.AwaitOpen()
			f.sleep(0, 2*time.Second)
		}
		v = next
	}
	v.AwaitOpen()
	f.sleep(5*time.Second, 10*time.Second)
	depart(v)
}

// poison: the game tries to put what cannot be stored.
func poison(f *Fleet) {
	s, key := f.Servers(2), f.Key()
	plan := Plan{Sync: 0.1, Save: 0.1, Poison: 0.3}
	v := f.Join(s[0], key, plan)
	v.AwaitOpen()
	f.sleep(30*time.Second, 90*time.Second)
	depart(v)
	w := f.Join(s[1], key, plan)
	w.AwaitOpen()
	f.sleep(20*time.Second, 40*time.Second)
	depart(w)
}

// shutdownAll: 50 players, and calls that take 1 to 3 s.
func shutdownAll(f *Fleet) {
	s := f.Servers(2)
	visits := make([]*Visit, 50)
	for i := range visits {
		visits[i] = f.Join(s[0], f.Key(), Plan{Sync: 0.005})
	}
	for _, v := range visits {
		v.AwaitOpen()
	}
	f.sleep(20*time.Second, 60*time.Second)
	f.Script.Await(f.Close(s[0]))
	if len(s[0].left) > 0 {
		f.Ledger.Violated("left", "a server that closed left sessions behind")
	}
	w := f.Join(s[1], visits[0].Key, Plan{})
	w.AwaitOpen()
	depart(w)
}

// slowly are calls of 1 to 3 s.
func slowly(w *[parts]Weather) {
	for i := range w {
		w[i].Took = Span{Min: time.Second, Max: 3 * time.Second}
	}
}

// cost: 20 players for an hour, each making a step a second.
func cost(f *Fleet) { costOf(f, Plan{}) }

// costIdle is the same with players who do nothing.
func costIdle(f *Fleet) { costOf(f, Plan{Every: -1}) }

func costOf(f *Fleet, plan Plan) {
	s := f.Servers(1)
	visits := make([]*Visit, 20)
	for i := range visits {
		visits[i] = f.Join(s[0], f.Key(), plan)
	}
	f.Script.Sleep(time.Hour)
	for _, v := range visits {
		v.Leave()
	}
	for _, v := range visits {
		v.AwaitOver()
	}
}
