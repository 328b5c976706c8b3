package sim

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Process is one server process: it can be paused, cut off from parts of the store, and
// crash. What happens to it happens in commands, see [Actor.Do].
type Process struct {
	// Name tells processes apart in traces: a restart gets another.
	Name string
	// Offset is how far its local clock is from the truth.
	Offset time.Duration
	// Cut tells which parts it cannot reach.
	Cut [parts]bool
	// Mute are prefixes of keys: its calls that begin with one are refused.
	Mute []string
	// Budget is how many reads, writes and lists of records a minute the durable store takes from
	// it, each; what is over it is refused. 0: no limit.
	Budget int

	w      *World
	index  int
	hash   uint64
	dead   chan struct{} // closed by its crash
	gone   atomic.Bool   // it has crashed, or the run has ended
	paused bool
	pauses uint64
	purses [3]purse // reads, writes and lists
	deaf   bool     // the answer to its next write to a record is lost
	// cleared is when it was last cut off or paused.
	cleared time.Duration
	held    []*event
	flying  []*call
	counts  map[uint64]uint64 // calls so far, by what they are
	timers  timers
	ctx     context.Context //nolint:containedctx // the life of the process, as a signal handler's would be
	cancel  context.CancelFunc
	ghost   func() // ends the library after a crash, when it can do no harm any more
	draws   draws
}

// NewProcess starts a process in the world. In a command or by the script only.
func (w *World) NewProcess(name string, offset time.Duration) *Process {
	p := &Process{
		Name: name, Offset: offset, w: w, index: len(w.procs), hash: foldText(uint64(len(w.procs)), name),
		dead: make(chan struct{}), counts: make(map[uint64]uint64),
	}
	p.timers.p = p
	p.ctx, p.cancel = context.WithCancel(context.Background())
	w.procs = append(w.procs, p)
	return p
}

// Parts are the process's handles on the store.
func (p *Process) Parts() store.Parts {
	out := store.Parts{Durable: &records{p, Durable}, Boards: &boards{p}, Bus: &bus{p}}
	if p.w.opts.Apart {
		out.Fast = &records{p, Fast}
	}
	return out
}

// Clock is the process's local clock.
func (p *Process) Clock() clock.Clock { return localClock{p} }

// Context lives as long as the process.
func (p *Process) Context() context.Context { return p.ctx }

// troubled tells that it cannot hear of everything: it is paused or cut off.
func (p *Process) troubled() bool { return p.paused || p.Cut != [parts]bool{} }

// Gone tells that the process has crashed or ended.
func (p *Process) Gone() bool { return p.gone.Load() }

// Paused tells that it is held back.
func (p *Process) Paused() bool { return p.paused }

// OnCrash has end called when the process crashes, on a goroutine of its own: it ends the
// library's goroutines, which cannot reach anything any more.
func (p *Process) OnCrash(end func()) { p.ghost = end }

// holdBack keeps an event of a paused process, and drops one of a crashed one.
func (p *Process) holdBack(ev *event) bool {
	if p.Gone() {
		return true
	}
	if p.paused {
		p.held = append(p.held, ev)
		return true
	}
	return false
}

// Pause holds back everything that would happen in the process: timers, answers, messages,
// the ends of contexts.
func (p *Process) Pause() {
	p.paused = true
	p.w.say(p, "pauses")
}

// Resume lets what was held back happen, in an order of the seed's.
func (p *Process) Resume() {
	if !p.paused {
		return
	}
	p.w.say(p, "resumes")
	p.paused, p.cleared = false, p.w.now()
	p.pauses++
	held := p.held
	p.held = nil
	for i, ev := range held {
		p.w.schedule(p.w.now(), p, fold(fold(fold(p.hash, p.pauses), ev.tie), uint64(i)), ev.run)
	}
}

// Crash ends the process at once. What it has sent may still land.
func (p *Process) Crash() {
	if p.Gone() {
		return
	}
	p.w.say(p, "crashes")
	p.crash()
}

func (p *Process) crash() {
	if p.gone.Swap(true) {
		return
	}
	p.cancel()
	close(p.dead)
	p.timers.stop()
	for _, c := range p.flying {
		c.abandon()
	}
	p.flying, p.held = nil, nil
	p.w.unsubscribe(p)
	if p.ghost != nil {
		go p.ghost()
	}
}
