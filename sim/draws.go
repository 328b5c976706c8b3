package sim

import (
	"sync"
	"time"
)

// draws counts what a process draws at one moment, by what it is for.
type draws struct {
	mu struct {
		sync.Mutex
		at     time.Duration
		counts map[uint64]uint64
	}
}

// Random is the process's source of random bits. What it yields depends on the time, on what
// it is for, and on how many were drawn for that at that time. So a draw more or less shifts
// nothing else, and it does not matter which of two goroutines draws first.
func (p *Process) Random(purpose, key string) uint64 {
	name, now := foldText(foldText(p.hash, purpose), key), p.w.now()
	d := &p.draws.mu
	d.Lock()
	defer d.Unlock()
	if d.counts == nil {
		d.counts = make(map[uint64]uint64)
	}
	if d.at != now {
		d.at = now
		clear(d.counts)
	}
	d.counts[name]++
	return fold(fold(fold(p.w.seed, name), uint64(now)), d.counts[name])
}
