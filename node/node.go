package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Node is one process that takes part.
type Node struct {
	id   string
	st   *store.Store
	opts Options

	stop      context.CancelFunc // ends the loops, and the calls of all but the beat's
	cutBeat   context.CancelFunc // ends the beat's calls
	loops     sync.WaitGroup
	notesFrom string   // where the next read of notes begins; empty: at the first; of the notes loop
	census    struct { // of the census loop
		crowd  crowd // as it was last gone by
		shrunk bool  // the last census has found less than half of it
	}
	failed   chan struct{} // closed when another process was found under this id
	failOnce sync.Once

	gate    *gate // nil without limits
	classes [classes]*store.Store

	mu struct {
		sync.Mutex
		pulse    pulse
		beats    uint64
		started  time.Time
		estimate estimate
		skewed   bool // a local clock that is off has been reported
		handlers map[string]func(Note)
		players  func() int
		// subscription to the node's messages; nil: none yet
		subscription store.Subscription
		seen         map[string]sight // the beats of other nodes, at most maxMembers
		deaths       map[string]death
		forgot       uint64 // times that the fast store was found to have lost its memory
	}
	random struct {
		sync.Mutex
		next func(purpose, key string) uint64
	}
	janitor janitor // of the census goroutine
	closing closing
}

// Start makes the process a node of the fleet: its first beat has landed and fleet time is
// known when Start returns. ctx bounds the start only.
func Start(ctx context.Context, st *store.Store, opts *Options) (*Node, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Node{st: st, opts: o, failed: make(chan struct{})}
	n.random.next = o.Random
	if o.Random == nil {
		chance := rand.NewChaCha8(systemSeed())
		n.random.next = func(string, string) uint64 { return chance.Uint64() }
	}
	n.id = o.Name + "-" + n.word(idLetters, "id", o.Name)
	n.mu.handlers = make(map[string]func(Note))
	n.mu.seen, n.mu.deaths = make(map[string]sight), make(map[string]death)
	n.closing.begun = make(chan struct{})
	n.closing.ended = make(chan struct{})
	n.openGate()

	// The first estimate comes before the first beat, which carries the start in fleet time.
	if err := n.refreshTime(ctx); err != nil {
		return nil, fmt.Errorf("node: start: %w", err)
	}
	if err := n.firstBeat(ctx); err != nil {
		return nil, fmt.Errorf("node: start: %w", err)
	}
	n.renewMark(ctx)
	loopCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	beatCtx, cutBeat := context.WithCancel(context.WithoutCancel(ctx))
	n.cutBeat = cutBeat
	if !n.subscribe(ctx) {
		n.loops.Go(func() { n.every(loopCtx, o.DeadAfter, n.subscribeAgain) })
	}
	n.loops.Go(func() { n.keepBeating(loopCtx, beatCtx) })
	n.loops.Go(func() { n.every(loopCtx, o.AskEvery, n.readNotes) })
	n.loops.Go(func() { n.every(loopCtx, o.Beat, n.keepTime) })
	chance := rand.New(rand.NewPCG(n.Random("census", n.id), n.Random("census", n.id))) // the census goroutine's own
	n.janitor.draw = chance.IntN
	offset := time.Duration(chance.Int64N(int64(censusEvery * o.Beat)))
	n.loops.Go(func() { n.keepCensus(loopCtx, offset) })
	o.Logger.InfoContext(ctx, "node started", "node", n.id, "beat", o.Beat, "deadAfter", o.DeadAfter, "askEvery", o.AskEvery, "leaseTimeout", o.LeaseTimeout)
	return n, nil
}

// ID is the node's id, new at every start: <name>-<8 random characters>.
func (n *Node) ID() string { return n.id }

// Store is what the fleet shares.
func (n *Node) Store() *store.Store { return n.st }

// Clock is the node's local clock.
func (n *Node) Clock() clock.Clock { return n.opts.Clock }

// Logger takes what an operator should know.
func (n *Node) Logger() *slog.Logger { return n.opts.Logger }

// Options are the effective options.
func (n *Node) Options() Options { return n.opts }

// Rules are the numbers by which this node judges.
func (n *Node) Rules() Rules {
	return Rules{DeadAfter: n.opts.DeadAfter, LeaseTimeout: n.opts.LeaseTimeout, Beat: n.opts.Beat}
}

// Random yields 64 random bits. purpose and key say what they are for, and of what; see
// Options.Random.
func (n *Node) Random(purpose, key string) uint64 {
	n.random.Lock()
	defer n.random.Unlock()
	return n.random.next(purpose, key)
}

// NewVersion is a version for one write: by what, and to what.
func (n *Node) NewVersion(purpose, key string) store.Version {
	return store.VersionFrom(n.Random(purpose, key))
}

// NewToken names a session, or something else, of a key: 24 random letters and digits (120 bits).
func (n *Node) NewToken(purpose, key string) string { return n.word(tokenLetters, purpose, key) }

const (
	idLetters    = 8
	tokenLetters = 24
	letters      = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's 32, no i l o u
	perDraw      = 12                                 // letters of five bits in 64 random bits
)

func (n *Node) word(length int, purpose, key string) string {
	out := make([]byte, 0, length)
	for len(out) < length {
		bits := n.Random(purpose, key)
		for range min(perDraw, length-len(out)) {
			out = append(out, letters[bits&31])
			bits >>= 5
		}
	}
	return string(out)
}

// systemSeed draws 32 bytes from the runtime's own generator, which the system seeds.
func systemSeed() (seed [32]byte) {
	source := rand.Uint64 //nolint:forbidigo // the one place where chance comes from the system
	for i := 0; i < len(seed); i += 8 {
		bits := source()
		for j := range 8 {
			seed[i+j] = byte(bits >> (8 * j))
		}
	}
	return seed
}

// Now is fleet time: the durable store's clock, carried on the local monotonic clock. It is
// the local clock while the store has never answered.
func (n *Node) Now() time.Time {
	t, _ := n.FleetTime()
	return t
}

// FleetTime is [Node.Now]; fresh tells that the store's clock was read within a minute.
func (n *Node) FleetTime() (t time.Time, fresh bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.estimate.at(n.opts.Clock.Now())
}

// Beating is false while the node is suspect: its beats do not land. Sessions say so in
// their records, and the node judges nobody.
func (n *Node) Beating() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.mu.pulse.suspect(n.opts.Clock.Now(), n.opts.Beat, n.opts.DeadAfter)
}

// Failed is closed when another process was found beating under this node's id. The node
// has stopped beating; the game should end the process.
func (n *Node) Failed() <-chan struct{} { return n.failed }

func (n *Node) fail(ctx context.Context, err error) {
	n.failOnce.Do(func() {
		n.opts.Logger.ErrorContext(ctx, "another process beats under this id: end this one", "node", n.id, "err", err)
		close(n.failed)
	})
}

// errStopped ends a loop for good.
var errStopped = errors.New("node: stopped")

// every calls step once a period until ctx ends or step answers errStopped. A step that
// takes longer than the period skips what it overlaps.
func (n *Node) every(ctx context.Context, period time.Duration, step func(context.Context) error) {
	n.everyWhile(ctx, ctx, period, step, nextTick)
}

// keepBeating beats until ctx ends, each time within one period. A beat under way when ctx ends
// goes on until steps ends. One that has used up its time is followed at once by the next, which
// is due then: others count the time without a beat.
func (n *Node) keepBeating(ctx, steps context.Context) {
	n.everyWhile(ctx, steps, n.opts.Beat, n.beat, dueTick)
}

// everyWhile is every with a context of its own for the steps: one that runs when ctx ends
// goes on. tick is when the next one begins, of which the last and the time now are known.
func (n *Node) everyWhile(ctx, steps context.Context, period time.Duration, step func(context.Context) error, tick func(last, now time.Time, period time.Duration) time.Time) {
	next := n.opts.Clock.Now().Add(period)
	for {
		if clock.Sleep(ctx, n.opts.Clock, next.Sub(n.opts.Clock.Now())) != nil {
			return
		}
		callCtx, cancel := clock.WithTimeout(steps, n.opts.Clock, period)
		err := step(callCtx)
		cancel()
		if errors.Is(err, errStopped) {
			return
		}
		next = tick(next, n.opts.Clock.Now(), period)
	}
}

// nextTick is the first tick after now on the grid of last and period.
func nextTick(last, now time.Time, period time.Duration) time.Time {
	if late := now.Sub(last); late > 0 {
		last = last.Add(late - late%period)
	}
	return last.Add(period)
}

// dueTick is the newest tick on that grid that is due by now, or else the one after last.
func dueTick(last, now time.Time, period time.Duration) time.Time {
	last = last.Add(period)
	if late := now.Sub(last); late > 0 {
		last = last.Add(late - late%period)
	}
	return last
}
