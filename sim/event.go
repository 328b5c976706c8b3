package sim

import (
	"container/heap"
	"time"
)

// event is a step that waits for its release.
type event struct {
	due  time.Duration
	tie  uint64   // among those of one moment the seed decides
	seq  uint64   // and then who was admitted first, which is by name
	proc *Process // held back while it is paused, dropped when it has crashed; nil: nobody's
	// run does the step, on the world's own goroutine, and tells whether it woke anybody.
	run func() bool
}

// events is a heap, the next step first.
type events []*event

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (e *events) Len() int      { return len(*e) }
func (e *events) Swap(i, j int) { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }

func (e *events) Less(i, j int) bool {
	a, b := (*e)[i], (*e)[j]
	switch {
	case a.due != b.due:
		return a.due < b.due
	case a.tie != b.tie:
		return a.tie < b.tie
	}
	return a.seq < b.seq
}

func (e *events) Push(x any) {
	ev, ok := x.(*event)
	if !ok {
		panic("sim: no event")
	}
	*e = append(*e, ev)
}

func (e *events) Pop() any {
	old := *e
	last := len(old) - 1
	ev := old[last]
	old[last] = nil
	*e = old[:last]
	return ev
}

// schedule adds a step. name is stable: it decides, with the seed, among steps of one moment.
func (w *World) schedule(due time.Duration, p *Process, name uint64, run func() bool) {
	w.admitted++
	heap.Push(&w.queue, &event{due: max(due, w.now()), tie: fold(w.seed, name), seq: w.admitted, proc: p, run: run})
}
