package storetest

import (
	"testing"

	"github.com/shoalworks/shoal/store"
)

// Boards is the specification of a driver of store.Boards. fresh makes a new, empty store
// for one case.
func Boards(t *testing.T, fresh func(t *testing.T) Harness[store.Boards]) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, h Harness[store.Boards])
	}{} {
		t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
	}
}
