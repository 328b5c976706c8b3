package sim

import (
	"runtime"
	"time"
)

// Actor is a goroutine of the scenario: the script, or a player on a server. It moves only
// when the world releases it, and ends with its process.
type Actor struct {
	w    *World
	p    *Process // nil: the script, which nothing stops
	name string
	move uint64
	rng  *stream
}

// Go starts an actor. Its name must be its own.
func (w *World) Go(p *Process, name string, run func(a *Actor)) {
	a := &Actor{w: w, p: p, name: name, rng: newStream(foldText(w.seed, "actor "+name))}
	go func() {
		if a.Sleep(0) {
			run(a)
		}
	}()
}

// Process is where the actor lives; nil for the script.
func (a *Actor) Process() *Process { return a.p }

// Now is the time since the beginning.
func (a *Actor) Now() time.Duration { return a.w.now() }

// Alive is false when the actor has to end: its process has crashed, or the run is over.
func (a *Actor) Alive() bool {
	return !a.w.ended.Load() && (a.p == nil || !a.p.Gone())
}

func (a *Actor) dead() <-chan struct{} {
	if a.p == nil {
		return nil
	}
	return a.p.dead
}

// park makes the actor's next move a step of its own, d from now.
func (a *Actor) park(d time.Duration, run func()) chan struct{} {
	a.move++
	released := make(chan struct{})
	proc := -1
	if a.p != nil {
		proc = a.p.index
	}
	move := a.move
	a.w.arrive(arrival{class: actorMove, proc: proc, name: a.name, rank: move, due: a.w.now() + d, run: func() bool {
		a.w.trace.mark(a.w.now(), a.p, foldText(0, a.name), move)
		a.w.say(a.p, "%s moves", a.name)
		if run != nil {
			run()
		}
		close(released)
		return true
	}})
	return released
}

// Sleep waits for d, and tells whether the actor is still alive.
func (a *Actor) Sleep(d time.Duration) bool {
	return a.wait(d, nil)
}

// wait parks, and ends the script's goroutine when the run is over: there is nothing left
// that it could do.
func (a *Actor) wait(d time.Duration, command func()) bool {
	if a.Alive() {
		select {
		case <-a.park(d, command):
		case <-a.dead():
		case <-a.w.over:
		}
	}
	if a.p == nil && a.w.ended.Load() {
		runtime.Goexit()
	}
	return a.Alive()
}

// Yield makes what follows a step of its own.
func (a *Actor) Yield() bool { return a.Sleep(0) }

// Await waits until c is closed.
func (a *Actor) Await(c <-chan struct{}) bool {
	select {
	case <-c:
	case <-a.dead():
	case <-a.w.over:
	}
	return a.Yield()
}

// AwaitFor waits until c is closed, at most for d, and tells whether it was. It parks also when
// c is closed already: whether it is yet may be the scheduler's choice.
func (a *Actor) AwaitFor(d time.Duration, c <-chan struct{}) (closed, alive bool) {
	if !a.Alive() {
		return false, false
	}
	select {
	case <-a.park(d, nil):
		return false, a.Alive()
	case <-c:
		return true, a.Yield()
	case <-a.dead():
	case <-a.w.over:
	}
	return false, false
}

// Do has the world do something between two steps: change the weather, crash a process.
func (a *Actor) Do(command func()) bool {
	return a.wait(0, command)
}
