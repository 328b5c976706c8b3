package sim

import (
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// inOrder are transactions by their first keys, and of each which one it was. Those of one
// Commit are independent, and which of them comes first in it may be up to the scheduler.
func inOrder(txs []store.Tx) (sorted []store.Tx, was []int) {
	was = make([]int, len(txs))
	for i := range was {
		was[i] = i
	}
	slices.SortStableFunc(was, func(i, j int) int { return strings.Compare(txs[i][0].Key, txs[j][0].Key) })
	for _, i := range was {
		sorted = append(sorted, txs[i])
	}
	return sorted, was
}

// backInOrder are the answers to transactions in the order that they had.
func backInOrder(errs []error, was []int) []error {
	out := make([]error, len(errs))
	for i, at := range was {
		out[at] = errs[i]
	}
	return out
}
