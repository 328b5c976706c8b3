package profile

import (
	"sync"
	"time"
)

// reportEvery is how often a reporting guard is logged at most.
const reportEvery = time.Minute

// reporting is what a set remembers of the complaints of reporting guards, so as not to log
// each of them. There is an entry for each guard, so the options bound it.
type reporting struct {
	mu struct {
		sync.Mutex
		guards map[string]*reported
	}
}

// reported is one guard's.
type reported struct {
	logged   time.Time // when it was last
	unlogged int       // complaints since
}

// due takes in n complaints of a guard, and tells whether to log now, and how many were not
// logged since the last time.
func (r *reporting) due(guard string, now time.Time, n int) (unlogged int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.mu.guards[guard]
	switch {
	case g == nil:
		if r.mu.guards == nil {
			r.mu.guards = make(map[string]*reported)
		}
		g = &reported{}
		r.mu.guards[guard] = g
	case now.Sub(g.logged) < reportEvery:
		g.unlogged += n
		return 0, false
	}
	unlogged = g.unlogged
	g.logged, g.unlogged = now, 0
	return unlogged, true
}

// report counts the complaints that a commit was accepted with, and logs the first of each
// guard, at most once a minute for each.
func (s *Session) report(c Commit) {
	if len(c.Reports) == 0 {
		return
	}
	s.set.stats.reports.Add(uint64(len(c.Reports)))
	now := s.set.clk.Now()
	for i := 0; i < len(c.Reports); {
		first, n := c.Reports[i], 0
		for ; i < len(c.Reports) && c.Reports[i].Guard == first.Guard; i++ {
			n++
		}
		if unlogged, ok := s.set.reporting.due(first.Guard, now, n); ok {
			s.set.log.WarnContext(s.set.life(), "guard reports", "guard", first.Guard, "key", s.key, "revision", c.Revision, "source", string(c.Source.Kind),
				"path", first.Path.String(), "problem", first.Problem, "more", n-1, "unlogged", unlogged)
		}
	}
}
