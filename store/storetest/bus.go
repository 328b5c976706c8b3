package storetest

import (
	"testing"

	"github.com/shoalworks/shoal/store"
)

// Bus is the specification of a driver of store.Bus. fresh makes a new, empty store
// for one case.
func Bus(t *testing.T, fresh func(t *testing.T) Harness[store.Bus]) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, h Harness[store.Bus])
	}{} {
		t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
	}
}
