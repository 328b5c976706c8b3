package board

import (
	"math"
	"slices"
	"time"
)

// This file plans windows, without I/O, clock or lock.

// deal shares a window's budget between boards that take turns, one entry a turn, in order:
// each gets the same number of entries while it has some, and what is left over goes to the
// first. last is the index of the board that took the last turn, or -1.
func deal(waiting []int, budget int) (quotas []int, last int) {
	level, left := waterLevel(waiting, budget)
	quotas, last = make([]int, len(waiting)), -1
	for i, w := range waiting {
		quotas[i] = min(w, level)
		if w >= level && level > 0 {
			last = i
		}
	}
	for i, w := range waiting {
		if left > 0 && w > level {
			quotas[i]++
			left--
			last = i
		}
	}
	return quotas, last
}

// waterLevel is the largest number of full turns that the budget pays for (no more than
// anybody can use), and what is left over for the next.
func waterLevel(waiting []int, budget int) (level, left int) {
	turns := func(n int) (sum int) {
		for _, w := range waiting {
			sum += min(w, n)
		}
		return sum
	}
	low, high := 0, 0 // turns(low) fits, always
	for _, w := range waiting {
		high = max(high, w)
	}
	for low < high {
		middle := low + (high-low+1)/2
		if turns(middle) <= budget {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, budget - turns(low)
}

// total is how many entries wait on all boards.
func total(waiting []int) (sum int) {
	for _, n := range waiting {
		sum += n
	}
	return sum
}

// rotation is where the next window begins: after the board that was written last, in the
// order of names.
func rotation(names []string, last string) int {
	i, found := slices.BinarySearch(names, last)
	if found {
		i++
	}
	if i == len(names) {
		return 0
	}
	return i
}

// budgetOf is how many entries a window may write.
func budgetOf(writesPerFlush int, budget func() int) int {
	n := writesPerFlush
	if n < 0 {
		n = math.MaxInt
	}
	if budget != nil {
		n = max(0, min(n, budget()))
	}
	return n
}

// longestRetry is how far apart the windows of a failing board get: the window of the seed,
// so that ten attempts outlive a failover of the store.
const longestRetry = 15 * time.Second

// retryDelay is the time from a board's failed window to its next one: the usual one after
// the first failure, then doubling up to longestRetry. A board that fails does not hold up
// the others.
func retryDelay(every time.Duration, failures int) time.Duration {
	if every >= longestRetry {
		return every
	}
	d := every
	for range failures - 1 {
		if d *= 2; d >= longestRetry {
			return longestRetry
		}
	}
	return d
}

// mostSplits is how many Merge calls one board may cost in one window beyond the first,
// while the value that the store will not take is searched for: enough for two among
// store.MaxMerge.
const mostSplits = 56
