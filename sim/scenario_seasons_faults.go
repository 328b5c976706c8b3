package sim

import (
	"fmt"
	"time"

	"github.com/shoalworks/shoal/store/memstore"
)

// seasonsLastSecond: everybody catches in the last second before each end, and in the first one
// after it. Each catch is in a result, and in one only.
func seasonsLastSecond(f *Fleet) { // case S9
	f.flawless = true
	o := races()
	o.Outing.Every, o.Outing.Sync, o.Outing.Save = exactly(30*time.Second), 0, 0
	r := o.begin(f)
	for range o.Boundaries {
		f.untilEnd(-time.Second)
		for range 20 {
			st := r.last[r.keys[f.rng.below(len(r.keys))]]
			f.sleep(0, 200*time.Millisecond)
			f.cast(st)
		}
	}
	f.sleep(0, 30*time.Second)
}

// cast has a player catch something now, if there.
func (f *Fleet) cast(st *Stay) {
	if !st.Here() || st.hold == nil {
		return
	}
	f.contests++
	f.Go(st.Server.Process, fmt.Sprintf("%s casts %d", st.Key, f.contests), func(*Actor) {
		if !isClosed(st.Over) {
			st.cast(catch)
		}
	})
}

// seasonsClosers: ten servers close each season at one moment.
func seasonsClosers(f *Fleet) { // case S2
	f.flawless = true
	o := races()
	o.Servers, o.Moves = 10, 4
	r := o.begin(f)
	for range o.Boundaries {
		f.untilEnd(0)
		f.Script.Sleep(f.Settings.Seasons.Grace + f.between(0, 200*time.Millisecond))
		for _, s := range r.servers {
			f.closeDue(s)
		}
		r.wander()
	}
	f.sleep(0, 30*time.Second)
}

// closeDue has a server close what is due now.
func (f *Fleet) closeDue(s *Server) {
	if !s.Up() {
		return
	}
	f.contests++
	f.Go(s.Process, fmt.Sprintf("close %d", f.contests), func(*Actor) { _ = s.seasonal().CloseDue(s.Context()) })
}

// seasonsFast: one server is ten minutes fast, and may not close early; it closes whatever is
// due by its idea all the time.
func seasonsFast(f *Fleet) {
	f.flawless = true
	o := races()
	r := o.begin(f)
	fast := f.StartWith("D", f.Settings, 10*time.Minute)
	r.servers = append(r.servers, fast)
	for k, _ := f.season(); int(k) < o.Boundaries; k, _ = f.season() {
		f.sleep(0, 20*time.Second)
		f.closeDue(fast)
		r.wander()
	}
	f.sleep(0, time.Minute)
}

// seasonsBlind: from just before the first season may be closed one of its boards cannot be
// reached, until the next season is closed. In the end both are, and nobody's title is missing.
func seasonsBlind(f *Fleet) { // case S8
	o := races()
	r := o.begin(f)
	f.untilEnd(f.between(30*time.Second, 44*time.Second))
	f.Ledger.Met("closers blinded")
	_, left := f.season()
	board := f.Settings.Seasons.Boards[f.rng.below(2)].Name
	f.bar(left+f.between(70*time.Second, 90*time.Second), reefPrefix+board+"/C1S1")
	for range 8 {
		f.sleep(0, time.Minute)
		r.wander()
	}
}

// bar has calls to some keys refused for a while; the script goes on.
func (f *Fleet) bar(lasts time.Duration, prefix string) {
	f.Script.Do(func() {
		f.say(nil, "%s is shut for %v", prefix, lasts)
		f.Shut = append(f.Shut, prefix)
		f.schedule(f.now()+lasts, nil, foldText(uint64(lasts), prefix), func() bool {
			f.Shut = nil
			return false
		})
	})
}

// seasonsForgotten: the boards lose their memory just before the close, in some runs the fast
// store too, and again while they are being rebuilt. Nobody crashes: all is rebuilt.
func seasonsForgotten(f *Fleet) {
	f.flawless = true
	o := races()
	o.Outing.Look = 0
	r := o.begin(f)
	for k := range o.Boundaries {
		f.untilEnd(0)
		r.wander()
		f.Script.Sleep(f.Settings.Seasons.Grace - f.between(0, 10*time.Second))
		what := memstore.Boards
		if k > 0 && f.Apart() {
			what |= memstore.Fast
		}
		f.forgetParts(what)
		f.sleep(5*time.Second, 15*time.Second)
		if f.rng.chance(0.5) {
			f.forgetParts(memstore.Boards)
		}
		r.wander()
	}
	f.sleep(0, 30*time.Second)
}

// forgetParts has boards, and the fast store, lose their memory at once.
func (f *Fleet) forgetParts(what memstore.Part) {
	f.Script.Do(func() {
		f.say(nil, "%d forget", what)
		f.engine.Forget(what)
		f.Ledger.forgottenSeasons()
		if what&memstore.Fast != 0 {
			f.Ledger.Forgot()
			f.Ledger.forgottenAnglers()
		}
	})
}

// seasonsLost: answers are lost at every write, applied or not, and some come late.
func seasonsLost(f *Fleet) { // case S7
	o := races()
	o.Crash = 0.05
	o.play(f)
}

// lossy loses the answers of a third of all writes.
func lossy(w *[parts]Weather) {
	for _, part := range []Part{Durable, Fast, Boards} {
		w[part].LoseApplied, w[part].LoseUnapplied, w[part].Late = 0.2, 0.1, 0.03
	}
}

// seasonsDown: all servers are down over three ends of seasons, in some runs by a crash; then
// some come back, and close them all.
func seasonsDown(f *Fleet) { // case S1, S10
	o := races()
	o.Anglers = 4
	r := o.begin(f)
	f.untilEnd(-f.between(5*time.Second, 90*time.Second))
	for _, s := range r.servers {
		if f.rng.chance(0.5) {
			f.Crash(s)
			continue
		}
		f.Close(s)
	}
	k, _ := f.season()
	for now := k; now < k+3; now, _ = f.season() {
		f.untilEnd(time.Second)
	}
	f.sleep(0, 2*time.Minute)
	r.servers = r.servers[:1]
	r.servers[0] = r.start("A")
	for range 10 {
		f.sleep(0, 20*time.Second)
		r.wander()
	}
}

// seasonsPaused: a server stops before an end, with catches that nobody else knows of, and goes
// on in the next season, when the old one is closed: what it has is refused, and reported.
func seasonsPaused(f *Fleet) { // case S5, S3
	f.Ledger.vagueClocks()
	o := races()
	o.Outing.Sync, o.Outing.Every = 0.02, Span{Min: time.Second, Max: 4 * time.Second}
	r := o.begin(f)
	for range o.Boundaries {
		f.untilEnd(-f.between(time.Second, 20*time.Second))
		s := r.servers[f.rng.below(len(r.servers))]
		_, left := f.season()
		f.pauseFor(s, left+f.Settings.Seasons.Grace+f.between(-5*time.Second, 60*time.Second))
		f.sleep(0, 30*time.Second)
		r.wander()
		f.untilEnd(-time.Minute)
	}
	f.sleep(0, time.Minute)
}

// seasonsAway: somebody who has won is away for ten seasons, while others play, and finds the
// titles at the next load.
func seasonsAway(f *Fleet) { // case S6
	f.flawless = true
	o := races()
	o.Servers, o.Anglers = 2, 4
	o.Outing.Every = Span{Min: 10 * time.Second, Max: 40 * time.Second}
	r := o.begin(f)
	eager := o.Outing
	eager.Every = Span{Min: time.Second, Max: 3 * time.Second}
	winner := f.Angle(r.servers[0], "winner", eager)
	f.untilEnd(f.between(5*time.Second, 60*time.Second)) // a season and a part of the next one
	winner.Leave()
	for k, _ := f.season(); k < 11; k, _ = f.season() {
		f.untilEnd(time.Second)
		r.wander()
	}
	winner = f.Angle(r.servers[1], "winner", resting())
	winner.AwaitOpen()
	f.Script.Sleep(20 * time.Second)
	if got := f.Ledger.titlesOf("winner"); got < 2 {
		f.Ledger.Violated("titles", fmt.Sprintf("the winner of two seasons finds %d titles after ten seasons", got))
	}
	winner.Leave()
	winner.AwaitOver()
}

// titlesOf is how many titles a player's record has.
func (l *Ledger) titlesOf(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.reef.angler(key).block.Titles)
}

// seasonsSoup: everything at once.
func seasonsSoup(f *Fleet) {
	f.Ledger.vagueClocks()
	o := races()
	o.Skew, o.Crash, o.Restart, o.Moves = 10*time.Minute, 0.06, 0.04, 16
	o.Also = func(f *Fleet, r *regatta) {
		server := r.servers[f.rng.below(len(r.servers))]
		part, lasts, what := Part(f.rng.below(parts)), f.between(0, 90*time.Second), f.rng.below(14)
		if !server.Up() {
			return
		}
		switch what {
		case 0:
			f.pauseFor(server, lasts)
		case 1, 2:
			f.cutFor(server, lasts/2, part)
		case 3:
			f.downFor(lasts/4, part)
		case 4:
			f.forgetParts(memstore.Boards)
		case 5:
			f.closeDue(server)
		}
	}
	o.play(f)
}
