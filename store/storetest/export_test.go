package storetest

import (
	"testing"

	"github.com/shoalworks/shoal/store"
)

// Histories is the suite's topic history for callers who do not give up.
func Histories(t *testing.T, h Harness[store.Records]) {
	t.Helper()
	histories(t, h, 0)
}
