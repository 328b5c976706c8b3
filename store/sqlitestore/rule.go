package sqlitestore

import (
	"math"

	"github.com/shoalworks/shoal/store"
)

// This file decides what a submission does to an entry, without I/O.

// standing is a stored entry as far as rules look at it.
type standing struct {
	exists bool
	score  int64
	stamp  store.Stamp
}

// decision is what happens to an entry.
type decision struct {
	change store.Change
	stamp  store.Stamp // the entry's from now on
	stamps bool        // the stamp changes, whatever the score does
}

// moves tells that the entry gets a new score, and with it a new sequence.
func (d decision) moves() bool {
	return d.change.Effect == store.Created || d.change.Effect == store.Changed
}

// decide applies a rule. Only Last reads and writes stamps.
func decide(rule store.Rule, order store.Order, old standing, s store.Submission) decision {
	d := decision{stamp: old.stamp}
	if rule == store.Last {
		d.stamps = !old.exists || s.Stamp.After(old.stamp)
	}
	if d.stamps {
		d.stamp = s.Stamp
	}
	if !old.exists {
		d.change = store.Change{Effect: store.Created, New: s.Score}
		return d
	}
	d.change = store.Change{Effect: store.Kept, Old: old.score, New: old.score}
	switch rule {
	case store.Best:
		if order.Better(s.Score, old.score) {
			d.change.New = s.Score
		}
	case store.Last:
		if d.stamps {
			d.change.New = s.Score
		}
	case store.Sum:
		sum, fits := add(old.score, s.Score)
		if !fits {
			d.change.Effect = store.Overflow
			return d
		}
		d.change.New = sum
	}
	if d.change.New != d.change.Old {
		d.change.Effect = store.Changed
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
