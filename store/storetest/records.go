package storetest

import (
	"testing"

	"github.com/shoalworks/shoal/store"
)

// Records is the specification of a driver of store.Records. fresh makes a new, empty store
// for one case.
func Records(t *testing.T, fresh func(t *testing.T) Harness[store.Records]) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, h Harness[store.Records])
	}{} {
		t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
	}
}
