package sim

import (
	"container/heap"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// localClock is a process's clock: off by Process.Offset, and with timers that wait for
// their release while the process is paused.
type localClock struct{ p *Process }

func (c localClock) Now() time.Time { return beginning().Add(c.p.w.now() + c.p.Offset) }

func (c localClock) NewTimer(d time.Duration) clock.Timer {
	t := &timer{set: &c.p.timers, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

func (c localClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timer{set: &c.p.timers, f: f}
	t.Reset(d)
	return t
}

// timer is an armed timer, or one that was stopped.
type timer struct {
	set   *timers
	c     chan time.Time
	f     func()
	armed uint64 // number of the arming; 0: not armed
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.c }

// Stop implements clock.Timer. As with the runtime's timers nothing stale is received later.
func (t *timer) Stop() bool {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.disarmLocked()
}

func (t *timer) disarmLocked() bool {
	was := t.armed != 0
	t.armed = 0
	if t.c != nil {
		select {
		case <-t.c:
		default:
		}
	}
	return was
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool {
	s := t.set
	s.mu.Lock()
	defer s.mu.Unlock()
	was := t.disarmLocked()
	if s.mu.stopped {
		return was
	}
	s.mu.armings++
	t.armed = s.mu.armings
	heap.Push(&s.mu.heap, arming{due: s.p.w.now() + max(d, 0), number: t.armed, t: t})
	return was
}

// never is the due time of no timer.
const never = time.Duration(1<<62 - 1)

// timers are those of one process. Those that are due at one moment fire in one step: which
// of them was armed first may depend on the scheduler of goroutines.
type timers struct {
	p  *Process
	mu struct {
		sync.Mutex
		heap    armings
		armings uint64
		stopped bool
	}
}

type arming struct {
	due    time.Duration
	number uint64
	t      *timer
}

func (a arming) live() bool { return a.t.armed == a.number }

// armings is a heap by due time.
type armings []arming

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (a *armings) Len() int           { return len(*a) }
func (a *armings) Less(i, j int) bool { return (*a)[i].due < (*a)[j].due }
func (a *armings) Swap(i, j int)      { (*a)[i], (*a)[j] = (*a)[j], (*a)[i] }

func (a *armings) Push(x any) {
	one, ok := x.(arming)
	if !ok {
		panic("sim: no arming")
	}
	*a = append(*a, one)
}

func (a *armings) Pop() any {
	last := len(*a) - 1
	one := (*a)[last]
	(*a)[last] = arming{}
	*a = (*a)[:last]
	return one
}

// due is when the next live timer is due, never when there is none.
func (s *timers) due() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.heap) > 0 {
		if first := s.mu.heap[0]; first.live() {
			return first.due
		}
		heap.Pop(&s.mu.heap)
	}
	return never
}

func (s *timers) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.stopped, s.mu.heap = true, nil
}

// fire fires what is due: one step. It leaves no trace, since what wakes for nothing does not
// matter; what is done about it does.
func (p *Process) fire() bool {
	w, s := p.w, &p.timers
	w.step.Add(1)
	var calls []func()
	s.mu.Lock()
	for len(s.mu.heap) > 0 && s.mu.heap[0].due <= w.now() {
		one, ok := heap.Pop(&s.mu.heap).(arming)
		if !ok || !one.live() {
			continue
		}
		one.t.armed = 0
		if one.t.f != nil {
			calls = append(calls, one.t.f)
			continue
		}
		one.t.c <- localClock{p}.Now()
	}
	s.mu.Unlock()
	for _, f := range calls {
		go f()
	}
	return true
}

// stillClock is the clock of the machine that holds the store: the truth, without timers.
type stillClock struct{ w *World }

func (c stillClock) Now() time.Time { return beginning().Add(c.w.now()) }

func (c stillClock) NewTimer(time.Duration) clock.Timer { panic("sim: the store arms no timers") }

func (c stillClock) AfterFunc(time.Duration, func()) clock.Timer {
	panic("sim: the store arms no timers")
}
