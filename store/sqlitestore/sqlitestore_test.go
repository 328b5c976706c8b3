package sqlitestore_test

import (
	"context"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// open opens the folder, for tests without waiting for the disk, and closes it when the test
// ends.
func open(t testing.TB, folder string, o *sqlitestore.Options) *sqlitestore.Engine {
	t.Helper()
	opening := sqlitestore.OpenUnsynced
	if _, measured := t.(*testing.B); measured {
		opening = sqlitestore.Open
	}
	e, err := opening(t.Context(), folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return e
}

// harness opens a part of engines on one folder. Closing the part closes its engine.
func harness[T any](part func(*sqlitestore.Engine) T) func(*testing.T) storetest.Harness[T] {
	return func(t *testing.T) storetest.Harness[T] {
		folder := t.TempDir()
		return storetest.Harness[T]{
			Open:    func(t *testing.T) T { return part(open(t, folder, nil)) },
			Shared:  true,
			Reopens: true,
		}
	}
}

func TestBus(t *testing.T) {
	storetest.Bus(t, harness(func(e *sqlitestore.Engine) store.Bus {
		return storetest.WholeBus(e.Bus(), e)
	}))
}

func TestBoards(t *testing.T) {
	storetest.Boards(t, func(t *testing.T) storetest.Harness[store.Boards] {
		folder, h := t.TempDir(), &host{boot: "a", up: time.Hour}
		return storetest.Harness[store.Boards]{
			Open: func(t *testing.T) store.Boards {
				e := h.open(t, folder)
				e.SizeBoards(50, 8) // so that the suite's boards have many shelves
				return storetest.WholeBoards(e.Boards(), e)
			},
			Shared: true, Reopens: true,
			Pass: func(_ *testing.T, d time.Duration) { h.pass(d) },
		}
	})
}

func TestRecords(t *testing.T) {
	storetest.Records(t, harness(func(e *sqlitestore.Engine) store.Records {
		return storetest.WholeRecords(e.Durable(), e)
	}))
}

func TestFastRecords(t *testing.T) {
	storetest.Records(t, harness(func(e *sqlitestore.Engine) store.Records {
		return storetest.WholeRecords(e.Fast(), e)
	}))
}

func TestReadsWhatItWrote(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	r := e.Durable()
	for i, err := range r.Commit(t.Context(),
		store.Tx{{Key: "a", Op: store.Put, Value: []byte("1"), If: store.Absent(), Version: 5}},
		store.Tx{{Key: "b", Op: store.Put, Value: []byte{}, If: store.Is(3), Version: 6}}) {
		if (err != nil) != (i == 1) {
			t.Fatalf("tx %d: %v", i, err)
		}
	}
	got, err := r.Get(t.Context(), "b", "a")
	if err != nil || !got[0].Missing() || string(got[1].Value) != "1" || got[1].Version != 5 {
		t.Fatalf("Get = %v, %v", got, err)
	}
	for record, err := range r.Scan(t.Context(), store.Range{}) {
		if err != nil || record.Key != "a" {
			t.Fatalf("Scan yields %v, %v", record, err)
		}
	}
}
