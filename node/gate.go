package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// ErrBudget is a call that waited for the request budget and was not made. It is also a
// store.ErrUnavailable: nothing was applied.
var ErrBudget = errors.New("node: request budget")

// gate lets store calls through as the limits allow: saves first, then loads, boards and
// background work, each class in the order of arrival. A call that waits is woken when its
// turn may have come; nothing polls, except background work, which looks twice a second so
// that it takes only what really nobody else wants.
type gate struct {
	limits Limits
	clock  clock.Clock
	here   func() int // the players of this node, now

	mu struct {
		sync.Mutex
		fleet  crowd // as last counted
		purses [kinds]purse
		queues [classes][]*waiter
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
func (g *gate) pass(ctx context.Context, c Class, d demand) error {
	if ctx.Err() != nil {
		return g.refused(c, 0, context.Cause(ctx))
	}
	start := g.clock.Now()
	g.mu.Lock()
	g.refillLocked(start)
	queue := &g.mu.queues[c-1]
	if !g.blockedLocked(c) && g.affordsLocked(d, c) {
		g.spendLocked(d)
		g.mu.counts[c-1].Passed++
		g.mu.Unlock()
		return nil
	}
	if len(*queue) >= g.limits.Queue {
		g.mu.Unlock()
		return g.refused(c, 0, fmt.Errorf("%d calls wait already", g.limits.Queue))
	}
	w := &waiter{demand: d, class: c, granted: make(chan struct{})}
	*queue = append(*queue, w)
	g.armLocked()
	g.mu.Unlock()

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
			g.mu.queues[w.class-1] = append(queue[:i], queue[i+1:]...)
			g.serveLocked(g.clock.Now()) // those behind it may be served now
			return true
		}
	}
	return false
}

// blockedLocked tells that a call of the class has to queue behind others.
func (g *gate) blockedLocked(c Class) bool {
	for i := range int(c) {
		if len(g.mu.queues[i]) > 0 {
			return true
		}
	}
	return c == ClassBackground && len(g.mu.queues[c-1]) > 0
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

// serveLocked lets through whoever may go, class by class, and arms the timer for the next.
func (g *gate) serveLocked(now time.Time) {
	g.refillLocked(now)
	for c := range g.mu.queues {
		for len(g.mu.queues[c]) > 0 {
			w := g.mu.queues[c][0]
			if !g.affordsLocked(w.demand, w.class) {
				g.armLocked()
				return
			}
			g.spendLocked(w.demand)
			g.mu.queues[c] = g.mu.queues[c][1:]
			close(w.granted)
		}
	}
}

// armLocked sets the timer to when the first in line may go.
func (g *gate) armLocked() {
	w := g.firstLocked()
	if w == nil {
		return
	}
	var wait time.Duration
	for k, n := range w.demand {
		wait = max(wait, g.mu.purses[k].wait(n, w.class, g.limits.Reserve))
	}
	if w.class == ClassBackground {
		wait = max(wait, g.limits.BackgroundLook)
	}
	if g.mu.timer != nil {
		g.mu.timer.Stop()
	}
	g.mu.timer = g.clock.AfterFunc(wait, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.serveLocked(g.clock.Now())
	})
}

func (g *gate) firstLocked() *waiter {
	for _, queue := range g.mu.queues {
		if len(queue) > 0 {
			return queue[0]
		}
	}
	return nil
}

// spare tells whether a call could be made now without waiting, so that a loop that looks
// again and again can leave a spent budget alone.
func (g *gate) spare(c Class, d demand) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refillLocked(g.clock.Now())
	return !g.blockedLocked(c) && g.affordsLocked(d, c)
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
