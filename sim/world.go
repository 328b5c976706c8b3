package sim

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// WorldOptions say what a world is like.
type WorldOptions struct {
	Seed uint64
	// Wait returns when every other goroutine of the bubble is blocked: synctest.Wait.
	Wait func()
	// Apart keeps the fast records in a store of their own.
	Apart bool
	// Break puts a broken driver in the place of the record stores. Nil: none.
	Break func(Part, store.Records) store.Records
	// BreakBoards puts a broken driver in the place of the boards. Nil: none.
	BreakBoards func(store.Boards) store.Boards
	// Trace keeps the steps in words, for reading.
	Trace bool
	// MaxSteps ends a run that does not end. Default 20 million.
	MaxSteps uint64
}

// Watcher is told what happens at the store. It is called by the world's loop.
type Watcher interface {
	// Wrote: a transaction of p was applied. made is the step after which p made the call.
	Wrote(p *Process, tx store.Tx, made uint64)
	// Saw: p was answered with records that it had asked for at sent.
	Saw(p *Process, recs []store.Record, sent time.Duration)
	// Landed: p was told that its transaction, sent at sent, is done.
	Landed(p *Process, tx store.Tx, sent time.Duration)
	// Conflicted: a transaction of p was applied to nothing, because a condition did not hold.
	Conflicted(p *Process, tx store.Tx)
	// Ranked: a call of p to a board was applied.
	Ranked(p *Process, c *BoardCall)
	// Heard: a message was delivered to p.
	Heard(p *Process, payload []byte)
	// Violated: something is wrong with the run itself.
	Violated(kind, text string)
}

// World owns time and order: see the package's documentation.
type World struct {
	seed   uint64
	wait   func()
	opts   WorldOptions
	engine *memstore.Engine
	// Weather of each part. It is changed in commands only, see [Actor.Do].
	Weather [parts]Weather
	// Down tells which parts refuse every call. Changed in commands only.
	Down [parts]bool
	// Shut are prefixes of keys: calls that begin with one are refused. Changed in commands only.
	Shut []string
	// Refusing has calls of a process that is cut off be refused at once; otherwise the seed
	// says which are, and which get no answer.
	Refusing bool

	records  [2]store.Records // handles on the engine, by Part
	watch    Watcher
	procs    []*Process
	queue    events
	admitted uint64
	topics   map[string][]*subscription
	boards   store.Boards
	trace    trace
	tally    Tally

	clock atomic.Int64  // virtual time since the beginning
	step  atomic.Uint64 // steps released
	over  chan struct{} // closed when the run has ended
	ended atomic.Bool

	mu struct {
		sync.Mutex
		arrivals []arrival
		free     []arrival // the list that was admitted last, for use again
	}
}

// beginning is when virtual time begins.
func beginning() time.Time { return time.Date(2031, 5, 17, 12, 0, 0, 0, time.UTC) }

// NewWorld makes a world at peace, with no process in it.
func NewWorld(o WorldOptions, watch Watcher) *World {
	if o.MaxSteps == 0 {
		o.MaxSteps = 20_000_000
	}
	w := &World{seed: mix(o.Seed + 1), wait: o.Wait, opts: o, watch: watch, over: make(chan struct{})}
	w.topics = make(map[string][]*subscription)
	w.trace = trace{hash: w.seed, words: o.Trace}
	w.engine = memstore.New(&memstore.Options{Clock: stillClock{w}, Apart: o.Apart})
	w.records = [2]store.Records{w.engine.Records(), w.engine.Fast()}
	if o.Break != nil {
		w.records[Durable] = o.Break(Durable, w.records[Durable])
		if w.records[Fast] = w.records[Durable]; o.Apart {
			w.records[Fast] = o.Break(Fast, w.engine.Fast())
		}
	}
	if w.boards = w.engine.Boards(); o.BreakBoards != nil {
		w.boards = o.BreakBoards(w.boards)
	}
	return w
}

// Apart tells that the fast records are a store of their own.
func (w *World) Apart() bool { return w.opts.Apart }

// part is where calls to p go.
func (w *World) part(p Part) Part {
	if p == Fast && !w.opts.Apart {
		return Durable
	}
	return p
}

func (w *World) now() time.Duration { return time.Duration(w.clock.Load()) }

// Now is the time since the beginning.
func (w *World) Now() time.Duration { return w.now() }

// Steps is how many steps were released.
func (w *World) Steps() uint64 { return w.step.Load() }

// Hash stands for every step of the run, in its order, with its time and outcome.
func (w *World) Hash() uint64 { return w.trace.hash }

// Words are the steps in words, when WorldOptions.Trace is set.
func (w *World) Words() []string { return w.trace.lines }

// Tally is what the calls came to.
func (w *World) Tally() Tally { return w.tally }

// arrival is what a goroutine brings to the turnstile.
type arrival struct {
	class arrivalClass
	proc  int // index of the process; -1: nobody's
	part  Part
	op    op
	name  string // a key, a topic, or an actor
	rank  uint64
	call  *call
	due   time.Duration
	run   func() bool
}

type arrivalClass uint8

const (
	newCall arrivalClass = iota
	giveUp
	actorMove
)

func (a *arrival) compare(b *arrival) int {
	if c := cmp.Or(
		cmp.Compare(a.proc, b.proc), cmp.Compare(a.class, b.class), cmp.Compare(a.part, b.part),
		cmp.Compare(a.op, b.op), strings.Compare(a.name, b.name), cmp.Compare(a.rank, b.rank),
	); c != 0 {
		return c
	}
	return a.compareContent(b)
}

// compareContent tells two calls apart that a process makes to one key at one moment.
func (a *arrival) compareContent(b *arrival) int {
	if a.call == nil || b.call == nil || a.call.content == nil || b.call.content == nil {
		return 0
	}
	return cmp.Compare(a.call.content(), b.call.content())
}

// arrive adds to the list; it is what goroutines do.
func (w *World) arrive(a arrival) {
	w.mu.Lock()
	w.mu.arrivals = append(w.mu.arrivals, a)
	w.mu.Unlock()
}

// admit takes what has arrived since the last step, by name.
func (w *World) admit() {
	w.mu.Lock()
	batch := w.mu.arrivals
	w.mu.arrivals = w.mu.free[:0]
	w.mu.Unlock()
	if len(batch) > 1 {
		slices.SortFunc(batch, func(a, b arrival) int { return a.compare(&b) })
	}
	for i := range batch {
		a := &batch[i]
		if i > 0 && a.class == newCall && !a.call.p.Gone() && a.compare(&batch[i-1]) == 0 {
			w.tally.Twins++
			w.say(w.processAt(a.proc), "%v %s: twins", a.op, a.name)
		}
		switch a.class {
		case newCall:
			w.take(a.call)
		case giveUp:
			w.takeBack(a.call)
		case actorMove:
			w.schedule(a.due, w.processAt(a.proc), fold(foldText(uint64(actorMove), a.name), a.rank), a.run)
		}
	}
	clear(batch)
	w.mu.free = batch
}

func (w *World) processAt(i int) *Process {
	if i < 0 {
		return nil
	}
	return w.procs[i]
}

// Run lets the script run to its end, and ends every process.
func (w *World) Run(script func(a *Actor)) {
	done := make(chan struct{})
	w.Go(nil, "script", func(a *Actor) {
		defer close(done)
		script(a)
	})
	for {
		w.wait()
		w.admit()
		if isClosed(done) {
			break
		}
		if !w.release() {
			break
		}
	}
	w.end()
}

// release releases the next steps, up to one that wakes somebody; false: there is none.
func (w *World) release() bool {
	for {
		if w.step.Load() >= w.opts.MaxSteps {
			w.watch.Violated("livelock", "the run does not end")
			return false
		}
		ev, timers := w.pick()
		var woke bool
		switch {
		case timers != nil:
			w.advance(timers.timers.due())
			woke = timers.fire()
		case ev == nil:
			w.watch.Violated("deadlock", "everything waits, and nothing is left to release")
			return false
		default:
			heap.Pop(&w.queue)
			if ev.proc != nil && ev.proc.holdBack(ev) {
				continue
			}
			w.advance(ev.due)
			w.step.Add(1)
			woke = ev.run()
		}
		if woke {
			return true
		}
	}
}

func (w *World) advance(to time.Duration) {
	if to > w.now() {
		w.clock.Store(int64(to))
	}
}

// pick finds the next step: an event, or the timers of a process, which fire together.
func (w *World) pick() (*event, *Process) {
	var ev *event
	if len(w.queue) > 0 {
		ev = w.queue[0]
	}
	var first *Process
	due, tie := time.Duration(1<<62), uint64(0)
	if ev != nil {
		due, tie = ev.due, ev.tie
	}
	for _, p := range w.procs {
		if p.paused || p.Gone() {
			continue
		}
		at := p.timers.due()
		if at == never || at > due {
			continue
		}
		at = max(at, w.now())
		t := fold(fold(w.seed, p.hash), uint64(at))
		if at < due || at == due && t < tie {
			first, due, tie = p, at, t
		}
	}
	return ev, first
}

// end ends what still runs, so that every goroutine of the bubble can end.
func (w *World) end() {
	w.ended.Store(true)
	close(w.over)
	for _, p := range w.procs {
		p.crash()
	}
	w.wait()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
