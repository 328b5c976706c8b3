package storetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// unreliable loses answers and applies late, and says truly that it does not know. It spares
// the commits by which a history measures its pace.
func unreliable() func(store.Records) store.Records {
	chance := faultstore.Chance(3, faultstore.Odds{FailBefore: 0.1, FailAfter: 0.1, Late: 0.1, After: 200 * time.Microsecond})
	faults := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
		if len(c.Keys) > 0 && strings.HasPrefix(c.Keys[0], "key/") {
			return chance(c)
		}
		return faultstore.Fault{}
	}})
	return func(next store.Records) store.Records { return faults.Records(next, faultstore.Durable) }
}

// An honest driver may lose answers: there is an order that explains them. (That the same
// driver is found out when it says not done is a broken driver's case.)
func TestHistoriesAllowUnknownOutcomes(t *testing.T) {
	e, decorate := memstore.New(nil), unreliable()
	storetest.Histories(t, storetest.Harness[store.Records]{
		Open:   func(*testing.T) store.Records { return decorate(e.Records()) },
		Shared: true,
	})
}

// troubles has the handles of a store work while nothing happens but what they do by themselves.
func troubles(t *testing.T, h storetest.Harness[store.Records]) {
	t.Helper()
	nothing := func() error { return nil }
	storetest.Troubles(t, storetest.Troubled{
		Handles: []store.Records{h.Open(t), h.Open(t), h.Open(t)}, Troubles: []func() error{nothing, nothing}, Rounds: 2,
	})
}

// An honest driver in trouble has an order, too.
func TestTroublesAllowUnknownOutcomes(t *testing.T) {
	e, decorate := memstore.New(nil), unreliable()
	troubles(t, storetest.Harness[store.Records]{Open: func(*testing.T) store.Records { return decorate(e.Records()) }})
}
