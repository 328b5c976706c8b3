package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// ErrBudget is a call that waited for the request budget and was not made. It is also a
// store.ErrUnavailable: nothing was applied.
var ErrBudget = errors.New("node: request budget")

// gate lets store calls through as the limits allow: saves first, then loads, boards and
// background work, each class in the order of arrival. A call goes behind those only that
// wait for the same kind of request: a save that waits to write holds up no read. A call that
// waits is woken when its turn may have come; nothing polls, except background work, which
// looks twice a second so that it takes only what really nobody else wants.
type gate struct {
	limits Limits
	clock  clock.Clock
	here   func() int // the players of this node, now

	mu struct {
		sync.Mutex
		fleet  crowd // as last counted
		purses [kinds]purse
		queues [classes][]*waiter
		want   [classes]demand // how many calls of a class wait for each kind
		timer  clock.Timer     // nil: none is set
		wake   time.Time       // when it goes off
		counts [classes]GateCount
	}
}

// waiter is one call that waits.
type waiter struct {
	demand  demand
	class   Class // guarded by the gate
	patient bool  // it came as background work
	since   time.Time
	granted chan struct{} // closed when it may go
}

// GateCount is what the gate has seen of one class.
type GateCount struct {
	Passed  uint64        // calls let through
	Waited  uint64        // of these, calls that had to wait
	Refused uint64        // calls that gave up, were cancelled, or found the queue full
	Wait    time.Duration // summed over all calls that waited
	Queue   int           // calls that wait now
}

func newGate(l Limits, c clock.Clock, here func() int) *gate {
	g := &gate{limits: l, clock: c, here: here}
	g.mu.fleet = crowd{nodes: 1}
	return g
}

// setCrowd tells the gate how many players the fleet has.
func (g *gate) setCrowd(c crowd) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.fleet = c
	g.serveLocked(g.clock.Now())
}

// crowdLocked is the fleet as last counted, with the players that this node has now.
func (g *gate) crowdLocked() crowd {
	c := g.mu.fleet
	now := g.here()
	c.fleet += now - c.here
	c.here = now
	return c
}

// pass waits until the call may be made, or ctx ends.
func (g *gate) pass(ctx context.Context, c Class, d demand) error { return g.passAs(ctx, c, c, d) }

// passAs is pass for a call that, when nobody waits, may leave as little as another class.
func (g *gate) passAs(ctx context.Context, c, leaving Class, d demand) error {
	if ctx.Err() != nil {
		return g.refused(c, 0, context.Cause(ctx))
	}
	w, err := g.enter(c, leaving, d)
	if w == nil {
		return err
	}
	return g.await(ctx, w)
}

// enter lets a call through at once, or has it wait in the line of its class, unless that is
// too long. It does not block.
func (g *gate) enter(c, leaving Class, d demand) (*waiter, error) {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refillLocked(now)
	if !g.blockedLocked(c, d) && g.affordsLocked(d, leaving) {
		g.spendLocked(d)
		g.mu.counts[c-1].Passed++
		return nil, nil
	}
	if len(g.mu.queues[c-1]) >= g.limits.Queue {
		return nil, g.refusedLocked(c, 0, fmt.Errorf("%d calls wait already", g.limits.Queue))
	}
	w := &waiter{demand: d, class: c, patient: c == ClassBackground, since: now, granted: make(chan struct{})}
	g.queueLocked(w)
	g.armLocked()
	return w, nil
}

func (g *gate) queueLocked(w *waiter) {
	g.mu.queues[w.class-1] = append(g.mu.queues[w.class-1], w)
	g.countLocked(w, 1)
}

// countLocked counts a waiter in, or out.
func (g *gate) countLocked(w *waiter, by int) {
	want := &g.mu.want[w.class-1]
	*want = want.plus(w.demand.kinds(), by)
}

// await waits for the turn of a call.
func (g *gate) await(ctx context.Context, w *waiter) error {
	var late <-chan time.Time
	if w.patient {
		t := g.clock.NewTimer(g.limits.BackgroundWait)
		defer t.Stop()
		late = t.C()
	}
	for {
		select {
		case <-w.granted:
			return nil
		case <-late:
			if gone, err := g.withdraw(w, true, context.DeadlineExceeded); gone {
				return err
			}
			late = nil // it is a save by now, or has been granted
		case <-ctx.Done():
			_, err := g.withdraw(w, false, context.Cause(ctx))
			return err
		}
	}
}

// withdraw takes a waiter out of its line, background: only as long as it is background work.
// gone is false when that is not so, or when it has been granted.
func (g *gate) withdraw(w *waiter, background bool, cause error) (gone bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if background && w.class != ClassBackground || !g.removeLocked(w) {
		return false, nil
	}
	now := g.clock.Now()
	g.serveLocked(now) // those behind it may be served now
	return true, g.refusedLocked(w.class, now.Sub(w.since), cause)
}

// hurry has a waiter go on in the line of saves, from its end.
func (g *gate) hurry(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.class == ClassSave || !g.removeLocked(w) {
		return
	}
	w.class = ClassSave
	g.queueLocked(w)
	g.serveLocked(g.clock.Now())
}

// removeLocked takes a waiter out of its line; false when it has been granted.
func (g *gate) removeLocked(w *waiter) bool {
	queue := g.mu.queues[w.class-1]
	i := slices.Index(queue, w)
	if i < 0 {
		return false
	}
	g.mu.queues[w.class-1] = slices.Delete(queue, i, i+1)
	g.countLocked(w, -1)
	return true
}

func (g *gate) refused(c Class, after time.Duration, cause error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusedLocked(c, after, cause)
}

func (g *gate) refusedLocked(c Class, after time.Duration, cause error) error {
	g.mu.counts[c-1].Refused++
	return fmt.Errorf("%w: %v waited %v: %w: %w", ErrBudget, c, after, store.ErrUnavailable, cause)
}

// blockedLocked tells that a call of the class has to queue behind others: those of its class
// or a higher one that wait for a kind of request that it makes.
func (g *gate) blockedLocked(c Class, d demand) bool {
	for i := range int(c) {
		if d.shares(g.mu.want[i]) {
			return true
		}
	}
	return false
}

// wantedLocked are the kinds that any call waits for.
func (g *gate) wantedLocked() (all demand) {
	for _, d := range g.mu.want {
		all = all.plus(d, 1)
	}
	return all.kinds()
}

func (g *gate) refillLocked(now time.Time) {
	c := g.crowdLocked()
	for k := range g.mu.purses {
		g.mu.purses[k] = g.mu.purses[k].refilled(now, g.limits.allowed(Kind(k), c))
	}
}

func (g *gate) affordsLocked(d demand, c Class) bool {
	for k, n := range d {
		if !g.mu.purses[k].affords(n, c, g.limits.Reserve) {
			return false
		}
	}
	return true
}

func (g *gate) spendLocked(d demand) {
	for k, n := range d {
		g.mu.purses[k] = g.mu.purses[k].spent(n)
	}
}

// serveLocked lets through whoever may go, class by class, and arms the timer for the next. A
// call that may not go holds back those behind it that make the same kind of request.
func (g *gate) serveLocked(now time.Time) {
	g.refillLocked(now)
	var short demand
	wanted := g.wantedLocked()
	for c, queue := range g.mu.queues {
		kept := queue[:0]
		for i, w := range queue {
			if short == wanted { // nobody else can go
				kept = append(kept, queue[i:]...)
				break
			}
			if w.demand.shares(short) || !g.affordsLocked(w.demand, w.class) {
				short = short.plus(w.demand, 1).kinds()
				kept = append(kept, w)
				continue
			}
			g.spendLocked(w.demand)
			g.countLocked(w, -1)
			n := &g.mu.counts[c]
			n.Passed++
			n.Waited++
			n.Wait += now.Sub(w.since)
			close(w.granted)
		}
		clear(queue[len(kept):])
		g.mu.queues[c] = kept
	}
	g.armLocked()
}

// armLocked sets the timer to when the next call may go: the first in line for any kind.
func (g *gate) armLocked() {
	var short demand
	wanted, next := g.wantedLocked(), time.Duration(-1)
	for _, queue := range g.mu.queues {
		for _, w := range queue {
			if short == wanted {
				break
			}
			if !w.demand.shares(short) {
				if wait := g.waitLocked(w); next < 0 || wait < next {
					next = wait
				}
			}
			short = short.plus(w.demand, 1).kinds()
		}
	}
	g.wakeAtLocked(next)
}

// wakeAtLocked sets the timer; negative stops it. One that goes off earlier stays: what comes
// later must not put off those who wait.
func (g *gate) wakeAtLocked(next time.Duration) {
	at := g.clock.Now().Add(next)
	switch {
	case g.mu.timer != nil && next >= 0 && !g.mu.wake.After(at):
		return
	case g.mu.timer != nil:
		g.mu.timer.Stop()
		g.mu.timer = nil
	}
	if next < 0 {
		return
	}
	g.mu.wake = at
	g.mu.timer = g.clock.AfterFunc(next, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.mu.timer = nil
		g.serveLocked(g.clock.Now())
	})
}

// waitLocked is how long until a call that is first in line may go.
func (g *gate) waitLocked(w *waiter) time.Duration {
	var wait time.Duration
	for k, n := range w.demand {
		wait = max(wait, g.mu.purses[k].wait(n, w.class, g.limits.Reserve))
	}
	if w.class == ClassBackground {
		wait = max(wait, g.limits.BackgroundLook)
	}
	return wait
}

// spare tells whether a call could be made now without waiting, so that a loop that looks
// again and again can leave a spent budget alone.
func (g *gate) spare(c Class, d demand) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refillLocked(g.clock.Now())
	return !g.blockedLocked(c, d) && g.affordsLocked(d, c)
}

// stats are the counts by class.
func (g *gate) stats() map[Class]GateCount {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[Class]GateCount, classes)
	for i, n := range g.mu.counts {
		n.Queue = len(g.mu.queues[i])
		out[Class(i+1)] = n
	}
	return out
}
