package faultstore

import (
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// lateCall is a call that has been answered and not yet applied.
type lateCall struct {
	port  port
	apply func()
	timer clock.Timer // nil when it is held until Land
}

// lateCalls are the late calls of a process, oldest first.
type lateCalls struct {
	clock clock.Clock
	mu    struct {
		sync.Mutex
		waiting []*lateCall
		running int
		idle    *sync.Cond // running is 0
	}
}

func newLateCalls(c clock.Clock) *lateCalls {
	l := &lateCalls{clock: c}
	l.mu.idle = sync.NewCond(&l.mu.Mutex)
	return l
}

// add lets apply run after d, or holds it until land when d is 0. A port that is already
// cut adds nothing.
func (l *lateCalls) add(p port, d time.Duration, apply func()) {
	call := &lateCall{port: p, apply: apply}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.isClosed() || p.faults.isCrashed() && !p.faults.keepLate {
		return
	}
	l.mu.waiting = append(l.mu.waiting, call)
	if d > 0 {
		call.timer = l.clock.AfterFunc(d, func() { l.run(call) })
	}
}

// run applies the call, or tells that it has been applied or cut.
func (l *lateCalls) run(call *lateCall) bool {
	if !l.begin(call) {
		return false
	}
	defer l.end()
	call.apply()
	return true
}

func (l *lateCalls) begin(call *lateCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.mu.waiting, call)
	if i < 0 {
		return false
	}
	l.mu.waiting = slices.Delete(l.mu.waiting, i, i+1)
	l.mu.running++
	return true
}

func (l *lateCalls) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.running--; l.mu.running == 0 {
		l.mu.idle.Broadcast()
	}
}

// land runs the calls that are held.
func (l *lateCalls) land() int {
	n := 0
	for _, call := range l.held() {
		if l.run(call) {
			n++
		}
	}
	return n
}

func (l *lateCalls) held() []*lateCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.mu.waiting), func(c *lateCall) bool { return c.timer != nil })
}

// cut forgets the late calls that match.
func (l *lateCalls) cut(match func(*lateCall) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.waiting = slices.DeleteFunc(l.mu.waiting, func(c *lateCall) bool {
		if !match(c) {
			return false
		}
		if c.timer != nil {
			c.timer.Stop()
		}
		return true
	})
}

// wait waits for those that run.
func (l *lateCalls) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mu.running > 0 {
		l.mu.idle.Wait()
	}
}
