package sqlitestore

import "time"

// complainEvery is how often a writer that fails again and again says so. On a full disk every
// write fails, each may be tried again at once, and the log may need the same disk.
const complainEvery = time.Second

// complaints is what the log was told of failures. The zero value has told nothing.
type complaints struct {
	last   time.Time
	untold int
}

// due tells whether one of now is to be told, and then how many before it were not.
func (c *complaints) due(now time.Time) (untold int, ok bool) {
	since := now.Sub(c.last)
	if !c.last.IsZero() && since >= 0 && since < complainEvery {
		c.untold++
		return 0, false
	}
	untold = c.untold
	c.last, c.untold = now, 0
	return untold, true
}
