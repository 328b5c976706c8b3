package pairing

import "time"

// patience is how much of [Patience] is over. The zero value has not begun.
type patience struct {
	last   time.Time
	waited time.Duration
}

// begun tells that ended was called.
func (p *patience) begun() bool { return !p.last.IsZero() }

// ended tells whether it is over after a look that was done now; the first one begins it. A
// look that took long counts for two glances only, since an answer would have taken as long.
func (p *patience) ended(now time.Time) bool {
	if p.begun() {
		p.waited += min(now.Sub(p.last), 2*glance)
	}
	p.last = now
	return p.waited >= Patience
}
