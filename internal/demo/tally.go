package demo

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/profile"
)

// tally counts what happened, for the display and the summary.
type tally struct {
	loads, created, handovers, takeovers atomic.Int64
	outbid, failedLoads                  atomic.Int64
	casts, syncs, saves, refusals        atomic.Int64
	crashes, closes, titles              atomic.Int64

	mu struct {
		sync.Mutex
		handover, takeover worst
		failures           map[string]int64
		lastTitle          string
	}
}

// worst keeps the longest wait and the sum, for a mean.
type worst struct {
	longest, sum time.Duration
	n            int64
}

func (w *worst) add(d time.Duration) {
	w.longest = max(w.longest, d)
	w.sum += d
	w.n++
}

func (w *worst) mean() time.Duration {
	if w.n == 0 {
		return 0
	}
	return w.sum / time.Duration(w.n)
}

func newTally() *tally {
	t := new(tally)
	t.mu.failures = make(map[string]int64)
	return t
}

// loaded counts a load by how it came by its session.
func (t *tally) loaded(l profile.Loaded) {
	t.loads.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch l.How {
	case profile.Created:
		t.created.Add(1)
	case profile.Granted:
		t.handovers.Add(1)
		t.mu.handover.add(l.Waited)
	case profile.TakenOver, profile.Recovered:
		t.takeovers.Add(1)
		t.mu.takeover.add(l.Waited)
	case profile.Free:
	}
}

// failed counts a load that failed, by what it said.
func (t *tally) failed(kind string) {
	t.failedLoads.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.failures[kind]++
}

// titled counts a title and keeps its text for the display.
func (t *tally) titled(text string) {
	t.titles.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.lastTitle = text
}

func (t *tally) waits() (handover, takeover worst, lastTitle string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.handover, t.mu.takeover, t.mu.lastTitle
}

// causes are the failures by what they said.
func (t *tally) causes() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.mu.failures)
}
