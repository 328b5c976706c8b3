package sqlitestore

import (
	"cmp"
	"math"

	"github.com/shoalworks/shoal/store"
)

// position is where an entry stands in its board's total order: smaller is better. Every
// sequence is given once, so it is unique in its board, and the key never has to decide.
type position struct {
	place    int64 // the score, turned so that smaller is better
	sequence int64
}

// lastPosition is after every entry.
func lastPosition() position { return position{place: math.MaxInt64, sequence: math.MaxInt64} }

// firstPosition is before every entry: sequences start at 1.
func firstPosition() position { return position{place: math.MinInt64} }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.place, q.place), cmp.Compare(p.sequence, q.sequence))
}

// placeOf turns a score into a place. The complement reverses the order of all int64, the
// smallest included, which has no negative.
func placeOf(o store.Order, score int64) int64 {
	if o == store.Ascending {
		return score
	}
	return ^score
}

// scoreAt is the score of a place.
func scoreAt(o store.Order, place int64) int64 { return placeOf(o, place) }
