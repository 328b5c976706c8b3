package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is what goes wrong.
type Kind string

// The faults of daemons, of the servers, and of the network of one daemon.
const (
	// StrikeDaemon kills a daemon with as many acknowledgements on their way as can be, right
	// after something has become of its network.
	StrikeDaemon Kind = "strike daemon"
	KillDaemon   Kind = "kill daemon"  // at once, and started again
	StopDaemon   Kind = "stop daemon"  // in order, and started again
	PauseDaemon  Kind = "pause daemon" // as a machine that sleeps
	StepClock    Kind = "clock steps"  // of a daemon that runs, and back again

	KillPostgres    Kind = "kill PostgreSQL"
	RestartPostgres Kind = "restart PostgreSQL"
	PausePostgres   Kind = "pause PostgreSQL"
	ForgetRedis     Kind = "Redis forgets"           // killed, comes back empty
	RewindRedis     Kind = "Redis goes back in time" // killed, comes back as it was when the fault began
	PauseRedis      Kind = "pause Redis"

	CutStore    Kind = "cut from PostgreSQL"
	CutFast     Kind = "cut from Redis"
	CutBoth     Kind = "cut from both"
	DelayBoth   Kind = "slow network"
	ResetBoth   Kind = "connections reset"
	DeafToStore Kind = "answers of PostgreSQL lost"
	DeafToFast  Kind = "answers of Redis lost"
)

// lane is a sequence of faults of which one is active at a time. Lanes overlap.
type lane int

const (
	daemonLane lane = iota
	engineLane
	networkLane
	clockLane
	lanes
)

const (
	// leastFault is the shortest fault.
	leastFault = 200 * time.Millisecond
	// memoryKept is how long the fast store's memory is kept in turn, and may be lost in turn:
	// nothing is excused where it is kept.
	memoryKept = 45 * time.Second
)

// Fault is one thing that goes wrong.
type Fault struct {
	// At is when it begins, from the start of the run; For is how long it lasts.
	At, For time.Duration
	Kind    Kind
	// Daemon is whom it concerns, for faults of daemons and of their networks.
	Daemon int
	// Offset is how wrong the clock of a daemon is from its next start on.
	Offset time.Duration
	// Delay is that of a slow network, each way.
	Delay time.Duration
	// Server is the one that a fault concerns, of several of a kind.
	Server int
	// Before is what a strike does to the network: from Lead after the players have begun to
	// hurry, for Hold; Gap later the daemon is killed.
	Before          Kind
	Lead, Hold, Gap time.Duration

	lane lane
}

// String is the fault in one line.
func (f Fault) String() string {
	text := fmt.Sprintf("(%.2fs) %-27s", f.At.Seconds(), f.Kind)
	if f.lane != engineLane {
		text += fmt.Sprintf(" daemon %d", f.Daemon)
	}
	if f.Kind == StrikeDaemon {
		text += fmt.Sprintf(" after %q", cmp.Or(f.Before, "nothing"))
	}
	text += fmt.Sprintf(" for %.2fs", f.For.Seconds())
	if f.Offset != 0 {
		text += fmt.Sprintf(", clock off by %v", f.Offset)
	}
	if f.Delay != 0 {
		text += fmt.Sprintf(", %v each way", f.Delay)
	}
	return text
}

// Plan is what goes wrong in a run, in order of time. It follows from its arguments alone.
func Plan(seed uint64, length time.Duration, daemons int) []Fault {
	var plan []Fault
	for l := range lanes {
		rng := rand.New(rand.NewPCG(seed, uint64(l))) //nolint:gosec // it is to be reproducible
		at := between(rng, time.Second, 4*time.Second)
		for {
			f := fault(rng, l, daemons)
			f.At = at
			if f.At+f.Lead+f.Hold+f.Gap+f.For > length {
				break
			}
			plan = append(plan, f)
			at += f.For + f.Lead + f.Hold + f.Gap + between(rng, l.rhythm()/4, l.rhythm())
		}
	}
	slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return plan
}

// Describe is a plan as text, a line a fault.
func Describe(plan []Fault) string {
	var text strings.Builder
	for _, f := range plan {
		text.WriteString(f.String() + "\n")
	}
	return text.String()
}

// kinds are the faults of a lane; what stands twice happens twice as often.
func (l lane) kinds() []Kind {
	switch l {
	case daemonLane:
		return []Kind{StrikeDaemon, StrikeDaemon, StrikeDaemon, StrikeDaemon, StrikeDaemon, StrikeDaemon, KillDaemon, PauseDaemon, PauseDaemon, StopDaemon}
	case engineLane:
		return []Kind{KillPostgres, KillPostgres, RestartPostgres, PausePostgres, ForgetRedis, RewindRedis, PauseRedis}
	case networkLane:
		return []Kind{CutStore, CutFast, CutBoth, DelayBoth, ResetBoth, DeafToStore, DeafToFast}
	case clockLane:
		return []Kind{StepClock}
	case lanes:
	}
	return nil
}

// beforeStrike is what a strike may do to the network first.
func beforeStrike() []Kind {
	return []Kind{"", CutStore, CutStore, CutFast, CutBoth, DeafToStore, DeafToFast}
}

// rhythm is how long a lane is quiet after a fault, at the most.
func (l lane) rhythm() time.Duration {
	if l == daemonLane {
		return 2 * time.Second
	}
	return 7 * time.Second
}

// longest is the longest fault of a lane.
func (l lane) longest() time.Duration {
	switch l {
	case clockLane:
		return 9 * time.Second
	case engineLane: // no daemon starts without its store
		return 3 * time.Second
	case daemonLane, networkLane, lanes:
	}
	return 5 * time.Second
}

// fault draws one of a lane. The draws are the same in number whatever comes of them.
func fault(rng *rand.Rand, l lane, daemons int) Fault {
	kinds, before := l.kinds(), beforeStrike()
	f := Fault{
		lane: l, Kind: kinds[rng.IntN(len(kinds))], Daemon: rng.IntN(daemons), Server: rng.IntN(daemons),
		For: between(rng, leastFault, l.longest()).Round(10 * time.Millisecond),
	}
	offset := between(rng, -2*time.Hour, 2*time.Hour).Round(time.Second)
	delay := between(rng, 20*time.Millisecond, 400*time.Millisecond).Round(time.Millisecond)
	strike := Fault{
		Before: before[rng.IntN(len(before))], Lead: between(rng, 100*time.Millisecond, 400*time.Millisecond),
		Hold: between(rng, 20*time.Millisecond, 300*time.Millisecond), Gap: between(rng, 0, 100*time.Millisecond),
	}
	switch f.Kind {
	case StrikeDaemon:
		f.For /= 5 // its players are elsewhere already
		f.Before, f.Lead, f.Hold, f.Gap, f.Offset = strike.Before, strike.Lead, strike.Hold, strike.Gap, offset
	case KillDaemon, StopDaemon, StepClock:
		f.Offset = offset
	case DelayBoth:
		f.Delay = delay
	case ResetBoth:
		f.For = 0
	case PauseDaemon, KillPostgres, RestartPostgres, PausePostgres, ForgetRedis, RewindRedis, PauseRedis,
		CutStore, CutFast, CutBoth, DeafToStore, DeafToFast:
	}
	return f
}

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

// keepsMemory tells whether the fast store's memory must not be lost at a time of a run.
func keepsMemory(at, length time.Duration) bool {
	turn := min(memoryKept, max(length/2, 1))
	return at/turn%2 == 0
}
