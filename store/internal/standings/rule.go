package standings

import (
	"math"

	"github.com/shoalworks/shoal/store"
)

// This file decides what a submission does to an entry.

// Stored is an entry as far as rules look at it. The zero value is a key without one.
type Stored struct {
	Exists bool
	Score  int64
	Stamp  store.Stamp
}

// Decision is what happens to an entry.
type Decision struct {
	Change store.Change
	Stamp  store.Stamp // the entry's from now on
	Stamps bool        // the stamp changes, whatever the score does
}

// Moves tells that the entry gets a new score, and with it a new sequence.
func (d Decision) Moves() bool {
	return d.Change.Effect == store.Created || d.Change.Effect == store.Changed
}

// Decide applies a rule to a stored entry. Only Last reads and writes stamps.
func Decide(rule store.Rule, order store.Order, old Stored, s store.Submission) Decision {
	d := Decision{Stamp: old.Stamp}
	if rule == store.Last {
		d.Stamps = !old.Exists || s.Stamp.After(old.Stamp)
	}
	if d.Stamps {
		d.Stamp = s.Stamp
	}
	if !old.Exists {
		d.Change = store.Change{Effect: store.Created, New: s.Score}
		return d
	}
	d.Change = store.Change{Effect: store.Kept, Old: old.Score, New: old.Score}
	switch rule {
	case store.Best:
		if order.Better(s.Score, old.Score) {
			d.Change.New = s.Score
		}
	case store.Last:
		if d.Stamps {
			d.Change.New = s.Score
		}
	case store.Sum:
		sum, fits := add(old.Score, s.Score)
		if !fits {
			d.Change.Effect = store.Overflow
			return d
		}
		d.Change.New = sum
	}
	if d.Change.New != d.Change.Old {
		d.Change.Effect = store.Changed
	}
	return d
}

// add is a + b, and whether that is an int64.
func add(a, b int64) (sum int64, fits bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}
