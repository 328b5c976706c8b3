package faultstore_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness opens handles on a fresh engine, each behind faults of its own.
func harness[T any](rule faultstore.Rule, open func(*memstore.Engine, *faultstore.Faults) T) func(*testing.T) storetest.Harness[T] {
	return func(*testing.T) storetest.Harness[T] {
		e := memstore.New(nil)
		return storetest.Harness[T]{
			Open:    func(*testing.T) T { return open(e, faultstore.New(&faultstore.Options{Rule: rule})) },
			Shared:  true,
			Reopens: true,
		}
	}
}

func records(e *memstore.Engine, f *faultstore.Faults) store.Records {
	return f.Records(e.Records(), faultstore.Durable)
}

func boards(e *memstore.Engine, f *faultstore.Faults) store.Boards { return f.Boards(e.Boards()) }

func bus(e *memstore.Engine, f *faultstore.Faults) store.Bus { return f.Bus(e.Bus()) }

func TestWithoutRuleIsTheDriver(t *testing.T) {
	t.Run("records", func(t *testing.T) { storetest.Records(t, harness(nil, records)) })
	t.Run("boards", func(t *testing.T) { storetest.Boards(t, harness(nil, boards)) })
	t.Run("bus", func(t *testing.T) { storetest.Bus(t, harness(nil, bus)) })
}

// A bus may lose and double, and the suite of buses says that this is conforming.
func TestLossyBusIsABus(t *testing.T) {
	lossy := faultstore.Chance(1, faultstore.Odds{Lose: 0.05, Twice: 0.1, Late: 0.05, After: time.Millisecond})
	messages := func(c faultstore.Call) faultstore.Fault {
		if c.Op == "publish" || c.Op == "deliver" {
			return lossy(c)
		}
		return faultstore.Fault{}
	}
	storetest.Bus(t, harness(messages, bus))
}
