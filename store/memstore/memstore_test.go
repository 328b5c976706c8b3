package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness opens handles of the kind that open picks on a fresh engine.
func harness[T any](o *memstore.Options, open func(*memstore.Engine) T) func(*testing.T) storetest.Harness[T] {
	return func(*testing.T) storetest.Harness[T] {
		e := memstore.New(o)
		return storetest.Harness[T]{Open: func(*testing.T) T { return open(e) }, Shared: true, Reopens: true}
	}
}

func TestRecords(t *testing.T) {
	storetest.Records(t, harness(nil, (*memstore.Engine).Records))
}

func TestRecordsOfSingleKeys(t *testing.T) {
	storetest.Records(t, harness(&memstore.Options{SingleKey: true}, (*memstore.Engine).Records))
}

func TestFastRecords(t *testing.T) {
	storetest.Records(t, harness[store.Records](&memstore.Options{Apart: true}, (*memstore.Engine).Fast))
}

// ahead is the system's clock, which can be set forward.
type ahead struct {
	clock.Clock
	by atomic.Int64
}

func (a *ahead) Now() time.Time { return a.Clock.Now().Add(time.Duration(a.by.Load())) }

func TestBoards(t *testing.T) {
	storetest.Boards(t, func(t *testing.T) storetest.Harness[store.Boards] {
		c := &ahead{Clock: clock.System()}
		h := harness(&memstore.Options{Clock: c}, (*memstore.Engine).Boards)(t)
		h.Pass = func(_ *testing.T, d time.Duration) { c.by.Add(int64(d)) }
		return h
	})
}

func TestBus(t *testing.T) { storetest.Bus(t, harness(nil, (*memstore.Engine).Bus)) }
