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
		timer  clock.Timer
		counts [classes]GateCount
	}
}

// waiter is one call that waits.
type waiter struct {
	demand  demand
	class   Class
	granted chan struct{}
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
	start := g.clock.Now()
	g.mu.Lock()
	g.refillLocked(start)
	if !g.blockedLocked(c, d) && g.affordsLocked(d, leaving) {
		g.spendLocked(d)
		g.mu.counts[c-1].Passed++
		g.mu.Unlock()
		return nil
	}
	w := g.queueLocked(c, d)
	g.mu.Unlock()
	if w == nil {
		return g.refused(c, 0, fmt.Errorf("%d calls wait already", g.limits.Queue))
	}
	return g.await(ctx, w, start)
}

// queueLocked has a call wait in the line of its class; nil: the line is too long.
func (g *gate) queueLocked(c Class, d demand) *waiter {
	queue := &g.mu.queues[c-1]
	if len(*queue) >= g.limits.Queue {
		return nil
	}
	w := &waiter{demand: d, class: c, granted: make(chan struct{})}
	*queue = append(*queue, w)
	g.mu.want[c-1].add(d.kinds(), 1)
	g.armLocked()
	return w
}

// await waits for the turn of a call that has waited since start.
func (g *gate) await(ctx context.Context, w *waiter, start time.Time) error {
	c := w.class
	if c == ClassBackground {
		var cancel context.CancelFunc
		ctx, cancel = clock.WithTimeout(ctx, g.clock, g.limits.BackgroundWait)
		defer cancel()
	}
	select {
	case <-w.granted:
		g.waited(c, g.clock.Now().Sub(start))
		return nil
	case <-ctx.Done():
	}
	if !g.withdraw(w) { // granted at the same moment
		g.waited(c, g.clock.Now().Sub(start))
		return nil
	}
	return g.refused(c, g.clock.Now().Sub(start), context.Cause(ctx))
}

func (g *gate) waited(c Class, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := &g.mu.counts[c-1]
	n.Passed++
	n.Waited++
	n.Wait += d
}

func (g *gate) refused(c Class, after time.Duration, cause error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.counts[c-1].Refused++
	return fmt.Errorf("%w: %v waited %v: %w: %w", ErrBudget, c, after, store.ErrUnavailable, cause)
}

// withdraw takes a waiter out of its queue; false when it has been granted.
func (g *gate) withdraw(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.mu.queues[w.class-1]
	for i := range queue {
		if queue[i] == w {
			g.mu.queues[w.class-1] = slices.Delete(queue, i, i+1)
			g.mu.want[w.class-1].add(w.demand.kinds(), -1)
			g.serveLocked(g.clock.Now()) // those behind it may be served now
			return true
		}
	}
	return false
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
		all.add(d.kinds(), 1)
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
				short.cover(w.demand)
				kept = append(kept, w)
				continue
			}
			g.spendLocked(w.demand)
			g.mu.want[c].add(w.demand.kinds(), -1)
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
			short.cover(w.demand)
		}
	}
	if g.mu.timer != nil {
		g.mu.timer.Stop()
	}
	if next < 0 {
		return
	}
	g.mu.timer = g.clock.AfterFunc(next, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
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
