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
}

// coalesce is what waits after next has come to what waits already. It is false when a sum
// leaves the range of int64; then nothing changes. It does not depend on which came first,
// but for equal stamps, where the one that waits stays.
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
		return value{score: sum}, true
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
