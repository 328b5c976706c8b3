package board

import (
	"math"

	"github.com/shoalworks/shoal/store"
)

// This file decides what waits for a key, without I/O, clock or lock.

// value is what waits to be written for a key.
type value struct {
	score int64
	stamp store.Stamp // store.Last only
	meta  string      // bytes; empty is none
}

// coalesce is what waits after next has come to what waits already. It is false when a sum
// leaves the range of int64; then nothing changes. It does not depend on which came first,
// but for equal scores or stamps, where the one that waits stays. The metadata is that of the
// value that wins, of a sum that of the last that adds something, as the store would have it.
func coalesce(rule store.Rule, order store.Order, waits, next value) (value, bool) {
	switch rule {
	case store.Best:
		if order.Better(next.score, waits.score) {
			return next, true
		}
		return waits, true
	case store.Last:
		if next.stamp.After(waits.stamp) {
			return next, true
		}
		return waits, true
	case store.Sum:
		sum, fits := add(waits.score, next.score)
		if !fits {
			return waits, false
		}
		if next.score == 0 {
			next.meta = waits.meta
		}
		return value{score: sum, meta: next.meta}, true
	}
	return waits, false
}

// add is a + b, and whether it fits.
func add(a, b int64) (sum int64, fits bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}
