package pgstore_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/storetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// open opens the schema and closes it when the test ends.
func open(t testing.TB, url string, o *pgstore.Options) *pgstore.Engine {
	t.Helper()
	e, err := pgstore.Open(t.Context(), url, o)
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

// direct addresses a fresh schema of the shared server.
func direct(t *testing.T) string {
	t.Helper()
	return enginetest.Postgres(t).URL(enginetest.Schema(t))
}

// harness opens a part of engines on one schema, which is emptied for each case.
func harness[T any](t *testing.T, address func(*testing.T) string, part func(*pgstore.Engine) T) func(*testing.T) storetest.Harness[T] {
	t.Helper()
	url, o := address(t), &pgstore.Options{PollEvery: 20 * time.Millisecond}
	open(t, url, nil)
	schema := regexp.MustCompile(`schema=(\w+)`).FindStringSubmatch(url)[1]
	return func(t *testing.T) storetest.Harness[T] {
		empty := fmt.Sprintf("TRUNCATE %[1]s.records, %[1]s.live, %[1]s.messages", schema)
		if err := enginetest.Postgres(t).Exec(t.Context(), empty); err != nil {
			t.Fatal(err)
		}
		return storetest.Harness[T]{
			Open:    func(t *testing.T) T { return part(open(t, url, o)) },
			Shared:  true,
			Reopens: true,
		}
	}
}

// pooled addresses a fresh schema through PgBouncer.
func pooled(t *testing.T) func(*testing.T) string {
	t.Helper()
	pooler := enginetest.PgBouncer(t, enginetest.Postgres(t))
	return func(t *testing.T) string { return pooler.URL(enginetest.Schema(t)) }
}

func TestRecords(t *testing.T) {
	storetest.Records(t, harness(t, direct, func(e *pgstore.Engine) store.Records {
		return storetest.WholeRecords(e.Durable(), e)
	}))
}

func TestFastRecords(t *testing.T) {
	storetest.Records(t, harness(t, direct, func(e *pgstore.Engine) store.Records {
		return storetest.WholeRecords(e.Fast(), e)
	}))
}

func TestRecordsThroughPooler(t *testing.T) {
	storetest.Records(t, harness(t, pooled(t), func(e *pgstore.Engine) store.Records {
		return storetest.WholeRecords(e.Durable(), e)
	}))
}

func TestBus(t *testing.T) {
	storetest.Bus(t, harness(t, direct, func(e *pgstore.Engine) store.Bus {
		return storetest.WholeBus(e.Bus(), e)
	}))
}

func TestBusThroughPooler(t *testing.T) {
	storetest.Bus(t, harness(t, pooled(t), func(e *pgstore.Engine) store.Bus {
		return storetest.WholeBus(e.Bus(), e)
	}))
}
