package standings

import (
	"cmp"
	"fmt"
	"math"

	"github.com/shoalworks/shoal/store"
)

// Position is where an entry stands in its board's total order: smaller is better. Every
// sequence is given once, so it is unique in its board, and the key never has to decide.
type Position struct {
	Place    int64 // the score, turned so that smaller is better: see [PlaceOf]
	Sequence int64 // the board's, from 1 on
}

// LastPosition is after every entry.
func LastPosition() Position { return Position{Place: math.MaxInt64, Sequence: math.MaxInt64} }

// FirstPosition is before every entry: sequences start at 1.
func FirstPosition() Position { return Position{Place: math.MinInt64} }

// Compare is negative when p is better than q, 0 when they are one, else positive.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Place, q.Place), cmp.Compare(p.Sequence, q.Sequence))
}

// String is the position as it is stored.
func (p Position) String() string { return fmt.Sprintf("(%d, %d)", p.Place, p.Sequence) }

// PlaceOf turns a score into a place. The complement reverses the order of all int64, the
// smallest included, which has no negative.
func PlaceOf(o store.Order, score int64) int64 {
	if o == store.Ascending {
		return score
	}
	return ^score
}

// ScoreAt is the score of a place, the inverse of [PlaceOf].
func ScoreAt(o store.Order, place int64) int64 { return PlaceOf(o, place) }
