package demo

import (
	"maps"
	"slices"
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
	crashes, closes, titles, late        atomic.Int64

	mu struct {
		sync.Mutex
		handover, takeover worst
		failures           map[string]int64
		lastTitles         []string // the newest first
		lastClosed         string   // the season closed last
		closedBy           string   // and the node that did
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

// titlesShown is how many titles the display shows.
const titlesShown = 2

// titled counts a title and keeps its text for the display.
func (t *tally) titled(text string) {
	t.titles.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.lastTitles = append([]string{text}, t.mu.lastTitles[:min(len(t.mu.lastTitles), titlesShown-1)]...)
}

// closed counts a season that a node has closed.
func (t *tally) closed(season, node string) {
	t.closes.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.lastClosed, t.mu.closedBy = season, node
}

func (t *tally) waits() (handover, takeover worst) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.handover, t.mu.takeover
}

// news is what the seasons did last.
func (t *tally) news() (titles []string, closed, by string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.mu.lastTitles), t.mu.lastClosed, t.mu.closedBy
}

// causes are the failures by what they said.
func (t *tally) causes() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.mu.failures)
}
