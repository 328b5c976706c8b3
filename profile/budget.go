package profile

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

// This file holds the rules of the size budget: pure.

// overHard refuses a change that leaves the data over the budget. One that makes data
// smaller is let through, so that a profile that is too large can be mended.
func overHard(before, after doc.Value, limit int) error {
	size := after.Size()
	if size <= limit || size < before.Size() {
		return nil
	}
	path, _ := doc.Growth(before, after)
	return &SizeError{Path: path, Size: size, Limit: limit}
}

// overSoft complains about a change that makes data larger and leaves it over the soft budget.
func overSoft(c Change, limit int) []Violation {
	size := c.After.Size()
	if size <= limit || size <= c.Before.Size() {
		return nil
	}
	path, _ := doc.Growth(c.Before, c.After)
	return []Violation{{
		Path:    path,
		Problem: fmt.Sprintf("data of %d bytes is over the soft budget of %d", size, limit),
		Err:     ErrTooLarge,
	}}
}

// keepStored tells that a save must keep what is stored and only renew: the data is over
// the budget without a transaction having made it so, and larger than what is stored.
func keepStored(stored, now, limit int) bool {
	return now > limit && now > stored
}
