package chaos

import (
	"strings"
	"testing"
	"time"
)

// run is a run that a test tells a ledger of; at is the time.
type run struct {
	*Ledger

	at time.Duration
}

func newRun() *run {
	r := new(run)
	r.Ledger = NewLedger(func() time.Duration { return r.at })
	return r
}

// load is a load with a count, whose revision is ten times as much.
func (r *run) load(daemon int, epoch uint64, count int64, got ...string) *Tenure {
	f := Found{Epoch: epoch, Revision: uint64(10 * count), Asked: r.at, Count: count, Got: make(map[string]int64)}
	for _, id := range got {
		f.Got[id]++
	}
	return r.Loaded("p", daemon, f)
}

// deal is a trade between p and q.
func (r *run) deal() { r.Dealing("t1", "p", "q", 3) }

// find is a load of a player with coins.
func (r *run) find(key string, epoch uint64, coins int64, got ...string) {
	f := Found{Epoch: epoch, Asked: r.at, Coins: coins, Got: make(map[string]int64)}
	for _, id := range got {
		f.Got[id]++
	}
	r.Loaded(key, 0, f)
}

// play plays up to a count.
func play(t *Tenure, count int64) {
	t.Playing()
	t.Played(uint64(10*count), count)
}

func (r *run) lose(from, to time.Duration) { r.times.begin(from, everybody, true)(to) }

func (r *run) trouble(daemon int, from, to time.Duration) { r.times.begin(from, daemon, false)(to) }

func TestLedgerFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  func(*run)
		want string // in the first violation; empty: there is none
	}{
		"nothing": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(true).Acknowledged(10)
			b := r.load(1, 2, 1)
			play(b, 2)
			r.load(0, 3, 1) // what was not acknowledged may be lost
		}},
		"a save is lost": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(true).Acknowledged(10)
			r.load(1, 2, 0)
		}, want: "save acknowledged"},
		"a save is lost that was acknowledged late": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			promise := a.Saving(true)
			r.load(1, 2, 0)
			promise.Acknowledged(10)
		}, want: "save acknowledged"},
		"a save that was late and is there": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			promise := a.Saving(true)
			r.load(1, 2, 1)
			promise.Acknowledged(10)
		}},
		"a save is lost after one session": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(true).Acknowledged(10)
			r.load(1, 2, 1)
			r.load(1, 3, 0)
		}, want: "save acknowledged"},
		"a save is lost in the fast store's memory": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(true).Acknowledged(10)
			r.lose(time.Second, 2*time.Second)
			r.trouble(0, time.Second, 2*time.Second)
			r.at = 3 * time.Second
			r.load(1, 2, 0)
		}, want: "save acknowledged"},
		"a sync is lost": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(false).Acknowledged(10)
			r.trouble(0, time.Second, 2*time.Second)
			r.at = 3 * time.Second
			r.load(1, 2, 0)
		}, want: "sync acknowledged"},
		"a sync is lost with daemon and memory": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(false).Acknowledged(10)
			r.lose(time.Second, 2*time.Second)
			r.trouble(0, 3*time.Second, 4*time.Second)
			r.at = 5 * time.Second
			r.load(1, 2, 0)
		}},
		"a sync is lost with the memory and another daemon": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(false).Acknowledged(10)
			r.lose(time.Second, 2*time.Second)
			r.trouble(1, 3*time.Second, 4*time.Second)
			r.at = 5 * time.Second
			r.load(1, 2, 0)
		}, want: "sync acknowledged"},
		"a sync is lost long after the memory": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(false).Acknowledged(10)
			r.lose(time.Second, 2*time.Second)
			r.trouble(0, 20*time.Second, 21*time.Second)
			r.at = 30 * time.Second
			r.load(1, 2, 0)
		}, want: "sync acknowledged"},
		"a sync is lost that was answered after the loss": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			promise := a.Saving(false) // it is in the memory that is lost
			r.lose(time.Second, 2*time.Second)
			r.trouble(0, 0, 20*time.Second)
			r.at = 12 * time.Second
			promise.Acknowledged(10)
			r.load(1, 2, 0)
		}},
		"an old session acknowledges": {run: func(r *run) {
			a := r.load(0, 1, 0)
			r.load(1, 2, 0)
			play(a, 1)
			a.Saving(true).Acknowledged(10)
		}, want: "although epoch 2 had begun"},
		"an acknowledgement falls short": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Saving(true).Acknowledged(0)
		}, want: "was answered before"},
		"an epoch comes twice": {run: func(r *run) {
			r.load(0, 1, 0)
			r.load(1, 1, 0)
		}, want: "epoch 1 was loaded after epoch 1"},
		"an epoch goes back": {run: func(r *run) {
			r.load(0, 2, 0)
			r.load(1, 1, 0)
		}, want: "epoch 1 was loaded after epoch 2"},
		"a session goes on": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			a.Playing() // its answer was lost
			play(r.load(0, 1, 2), 3)
		}},
		"a session goes on with less": {run: func(r *run) {
			play(r.load(0, 1, 0), 1)
			r.load(0, 1, 0)
		}, want: "goes on with count 0"},
		"a count that nobody made": {run: func(r *run) {
			play(r.load(0, 1, 0), 1)
			r.load(1, 2, 2)
		}, want: "at most 1 were ever made"},
		"a call that counts twice": {run: func(r *run) {
			play(r.load(0, 1, 0), 2)
		}, want: "made 1"},
		"a count that stands still": {run: func(r *run) {
			a := r.load(0, 1, 0)
			play(a, 1)
			play(a, 1)
		}, want: "plays count 1"},
		"a receipt is lost": {run: func(r *run) {
			r.load(0, 1, 0)
			r.Claiming("p", "r1", false)
			r.Claimed("p", "r1")
			r.load(1, 2, 0)
		}, want: "r1 was acknowledged"},
		"a receipt of which nobody knows": {run: func(r *run) {
			r.load(0, 1, 0)
			r.Claiming("p", "r1", false)
			r.load(1, 2, 0)
			r.load(0, 3, 0, "r1") // it came late
		}},
		"a receipt vanishes": {run: func(r *run) {
			r.Claiming("p", "r1", false)
			r.load(1, 1, 0, "r1")
			r.load(0, 2, 0)
		}, want: "r1 was acknowledged or seen"},
		"a receipt counts twice": {run: func(r *run) {
			r.Claiming("p", "r1", false)
			r.load(0, 1, 0, "r1", "r1")
		}, want: "2 times"},
		"a receipt from nowhere": {run: func(r *run) {
			r.load(0, 1, 0, "r1")
		}, want: "never sent"},
		"a trade is in both or in none": {run: func(r *run) {
			r.deal()
			r.find("p", 1, 0)
			r.find("q", 1, 0)
			r.find("p", 2, -3, "t1")
			r.find("q", 2, 3, "t1")
		}},
		"half of a trade was seen": {run: func(r *run) {
			r.deal()
			r.find("p", 1, -3, "t1")
			r.find("q", 1, 0)
		}, want: "q: t1 was acknowledged or seen"},
		"a trade that came after the load": {run: func(r *run) {
			r.deal()
			r.at = time.Second
			r.find("p", 1, -3, "t1")
			r.Loaded("q", 1, Found{Epoch: 1, Asked: time.Second / 2})
		}},
		"a trade is lost": {run: func(r *run) {
			r.deal()
			r.Dealt("t1", "p")
			r.find("q", 1, 0)
		}, want: "q: t1 was acknowledged"},
		"a trade is made twice": {run: func(r *run) {
			r.deal()
			r.find("p", 1, -6, "t1", "t1")
		}, want: "2 times"},
		"a trade was refused and is made": {run: func(r *run) {
			r.deal()
			r.Refused("t1", "p")
			r.find("q", 1, 3, "t1")
		}, want: "q: t1 was refused"},
		"a trade was made and is refused": {run: func(r *run) {
			r.deal()
			r.find("q", 1, 3, "t1")
			r.Refused("t1", "p")
		}, want: "p: t1 was refused"},
		"coins from nowhere": {run: func(r *run) {
			r.deal()
			r.find("q", 1, 4, "t1")
		}, want: "has 4 coins, and 3 by its trades"},
		"a receipt is only in an open session": {run: func(r *run) {
			r.Claiming("p", "r1", false)
			r.Loaded("p", 0, Found{Epoch: 1, Live: true, Got: map[string]int64{"r1": 1}})
			r.load(1, 2, 0) // the daemon died before it was stored
		}},
		"a mail was applied in memory": {run: func(r *run) {
			r.Claiming("p", "m1", true)
			r.Claimed("p", "m1")
			r.load(0, 1, 0, "m1")
			r.load(1, 2, 0) // the daemon died before it was stored; it comes again
		}},
		"an open session lacks a receipt": {run: func(r *run) {
			r.load(0, 1, 0)
			r.Claiming("p", "r1", false)
			r.Claimed("p", "r1")
			r.Loaded("p", 0, Found{Epoch: 1, Live: true})
		}, want: "r1 was acknowledged"},
		"mail takes its time": {run: func(r *run) {
			r.Claiming("p", "m1", true)
			r.Claimed("p", "m1")
			r.load(0, 1, 0)
			if left := r.Waiting("p", Found{}); len(left) != 1 {
				r.Violate("p", "waiting: %v", left)
			}
		}},
		"a score is lost": {run: func(r *run) {
			r.Scoring("p", 5)
			r.Scored("p", 5)
			r.lose(time.Second, 2*time.Second)
			r.Board("p", 4, false)
		}, want: "score 4; 5 was acknowledged"},
		"a score is lost with the memory": {run: func(r *run) {
			r.Scoring("p", 5)
			r.Scored("p", 5)
			r.lose(time.Second, 2*time.Second)
			r.Board("p", 0, true)
		}},
		"a score that nobody made": {run: func(r *run) {
			r.Scoring("p", 5)
			r.Board("p", 6, true)
		}, want: "at most 5 was submitted"},
		"a result changes": {run: func(r *run) {
			r.Result("C1S1", "a")
			r.Result("C1S1", "a")
			r.Result("C1S2", "b")
			r.Result("C1S1", "b")
		}, want: "C1S1: its result has changed"},
		"a season goes back": {run: func(r *run) {
			r.Loaded("p", 0, Found{Epoch: 1, Season: 2})
			r.Loaded("p", 1, Found{Epoch: 2, Season: 1})
		}, want: "is in season 1"},
		"a session's season goes back": {run: func(r *run) {
			a := r.load(0, 1, 0)
			a.Caught(2)
			a.Caught(2)
			a.Caught(1)
		}, want: "season 1 after season 2"},
		"a prize is paid twice": {run: func(r *run) {
			r.Loaded("p", 0, Found{Epoch: 1, Titles: 1, Prizes: 1})
			r.Loaded("p", 1, Found{Epoch: 2, Titles: 1, Prizes: 2})
		}, want: "1 titles and 2 prizes"},
	} {
		r := newRun()
		c.run(r)
		tally, violations := r.Verdict()
		switch {
		case c.want == "" && tally.Violations != 0:
			t.Errorf("%s: %v", name, violations)
		case c.want != "" && (tally.Violations == 0 || !strings.Contains(violations[0], c.want)):
			t.Errorf("%s: %v, want %q first", name, violations, c.want)
		}
	}
}

// Trouble of everybody puts off when journals are there again.
func TestTimelineWaitsForQuiet(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.lose(10*time.Second, 11*time.Second)
	r.trouble(everybody, 14*time.Second, 30*time.Second) // PostgreSQL, say
	r.trouble(0, 33*time.Second, 34*time.Second)
	r.trouble(1, 40*time.Second, 41*time.Second)
	for _, c := range []struct {
		what     string
		daemon   int
		from, to time.Duration
		want     bool
	}{
		{"promised before the loss", 0, 9 * time.Second, 50 * time.Second, true},
		{"promised before, found before it was lost", 0, time.Second, 4 * time.Second, false},
		{"promised when all was there again", 0, 38 * time.Second, 50 * time.Second, false},
		{"lost when all was there again", 1, 9 * time.Second, 50 * time.Second, false},
		{"of a daemon without trouble", 2, 9 * time.Second, 50 * time.Second, false},
	} {
		if got := r.times.lostBoth(c.daemon, c.from, c.to); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	r.times.begin(60*time.Second, 1, false)
	r.times.begin(61*time.Second, everybody, true) // neither has ended
	if !r.times.lostBoth(1, 59*time.Second, 62*time.Second) {
		t.Error("the memory is lost while the daemon is")
	}
}

func TestPlanFollowsFromItsSeed(t *testing.T) {
	t.Parallel()
	const length = 10 * time.Minute
	one, again, two := Describe(Plan(1, length, 3)), Describe(Plan(1, length, 3)), Describe(Plan(2, length, 3))
	if one != again {
		t.Error("a seed has two plans")
	}
	if one == two {
		t.Error("two seeds have one plan")
	}
	for l := range lanes {
		for _, k := range l.kinds() {
			if !strings.Contains(one, string(k)) {
				t.Errorf("%s never happens", k)
			}
		}
	}
	var end [lanes]time.Duration
	for _, f := range Plan(3, length, 3) {
		over := f.At + f.Lead + f.Hold + f.Gap + f.For
		if f.At < end[f.lane] || over > length {
			t.Errorf("%s begins before %v, or is not over at the end", f, end[f.lane])
		}
		end[f.lane] = over
	}
}

// A plan is sharp only if its daemons are struck often, in every way, and their clocks step both
// ways.
func TestPlanIsSharp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		strikes, ways, steps := 0, make(map[Kind]bool), make(map[bool]bool)
		for _, f := range Plan(seed, 90*time.Second, 3) {
			switch f.Kind { //nolint:exhaustive // the others are counted nowhere
			case StrikeDaemon:
				strikes++
				ways[f.Before] = true
			case StepClock:
				steps[f.Offset > 0] = true
			}
		}
		if strikes < 12 || len(ways) < 4 || len(steps) != 2 {
			t.Errorf("seed %d: %d strikes in %d ways, steps %v", seed, strikes, len(ways), steps)
		}
	}
}

func TestMemoryIsKeptInTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, length time.Duration
		want       bool
	}{
		{0, 90 * time.Second, true},
		{44 * time.Second, 90 * time.Second, true},
		{45 * time.Second, 90 * time.Second, false},
		{10 * time.Second, 20 * time.Second, false},
		{9 * time.Second, 20 * time.Second, true},
		{100 * time.Second, 10 * time.Minute, true},
		{140 * time.Second, 10 * time.Minute, false},
	} {
		if got := keepsMemory(c.at, c.length); got != c.want {
			t.Errorf("at %v of %v: %v", c.at, c.length, got)
		}
	}
}
