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
	KillDaemon  Kind = "kill daemon"  // at once, and started again
	StopDaemon  Kind = "stop daemon"  // in order, and started again
	PauseDaemon Kind = "pause daemon" // as a machine that sleeps

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
	lanes
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

	lane lane
}

// String is the fault in one line.
func (f Fault) String() string {
	text := fmt.Sprintf("(%.2fs) %-27s", f.At.Seconds(), f.Kind)
	if f.lane != engineLane {
		text += fmt.Sprintf(" daemon %d", f.Daemon)
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
			if f.At+f.For > length {
				break
			}
			plan = append(plan, f)
			at += f.For + between(rng, time.Second, 8*time.Second)
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
		return []Kind{KillDaemon, KillDaemon, PauseDaemon, PauseDaemon, StopDaemon}
	case engineLane:
		return []Kind{KillPostgres, KillPostgres, RestartPostgres, PausePostgres, ForgetRedis, RewindRedis, PauseRedis}
	case networkLane:
		return []Kind{CutStore, CutFast, CutBoth, DelayBoth, ResetBoth, DeafToStore, DeafToFast}
	case lanes:
	}
	return nil
}

// fault draws one of a lane. The draws are the same in number whatever comes of them.
func fault(rng *rand.Rand, l lane, daemons int) Fault {
	kinds := l.kinds()
	f := Fault{
		lane: l, Kind: kinds[rng.IntN(len(kinds))], Daemon: rng.IntN(daemons),
		For: between(rng, 300*time.Millisecond, 9*time.Second).Round(10 * time.Millisecond),
	}
	offset := between(rng, -2*time.Hour, 2*time.Hour).Round(time.Second)
	delay := between(rng, 20*time.Millisecond, 400*time.Millisecond).Round(time.Millisecond)
	switch f.Kind {
	case KillDaemon, StopDaemon:
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
