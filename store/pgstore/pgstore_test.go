package pgstore_test

import (
	"context"
	"errors"
	"testing"

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

// harness opens a part of engines on one schema.
func harness[T any](address func(*testing.T) string, part func(*pgstore.Engine) T) func(*testing.T) storetest.Harness[T] {
	return func(t *testing.T) storetest.Harness[T] {
		url := address(t)
		return storetest.Harness[T]{
			Open:    func(t *testing.T) T { return part(open(t, url, nil)) },
			Shared:  true,
			Reopens: true,
		}
	}
}

// wholeRecords closes the engine with the part.
type wholeRecords struct {
	store.Records
	engine *pgstore.Engine
}

func (w wholeRecords) Close(ctx context.Context) error {
	return errors.Join(w.Records.Close(ctx), w.engine.Close(ctx))
}

// pooled addresses a fresh schema through PgBouncer.
func pooled(t *testing.T) func(*testing.T) string {
	t.Helper()
	pooler := enginetest.PgBouncer(t, enginetest.Postgres(t))
	return func(t *testing.T) string { return pooler.URL(enginetest.Schema(t)) }
}

func TestRecords(t *testing.T) {
	storetest.Records(t, harness(direct, func(e *pgstore.Engine) store.Records {
		return wholeRecords{e.Durable(), e}
	}))
}

func TestFastRecords(t *testing.T) {
	storetest.Records(t, harness(direct, func(e *pgstore.Engine) store.Records {
		return wholeRecords{e.Fast(), e}
	}))
}

func TestRecordsThroughPooler(t *testing.T) {
	storetest.Records(t, harness(pooled(t), func(e *pgstore.Engine) store.Records {
		return wholeRecords{e.Durable(), e}
	}))
}

func TestFastRecordsThroughPooler(t *testing.T) {
	storetest.Records(t, harness(pooled(t), func(e *pgstore.Engine) store.Records {
		return wholeRecords{e.Fast(), e}
	}))
}

// wholeBus closes the engine with the part.
type wholeBus struct {
	store.Bus
	engine *pgstore.Engine
}

func (w wholeBus) Close(ctx context.Context) error {
	return errors.Join(w.Bus.Close(ctx), w.engine.Close(ctx))
}

func TestBus(t *testing.T) {
	storetest.Bus(t, harness(direct, func(e *pgstore.Engine) store.Bus {
		return wholeBus{e.Bus(), e}
	}))
}

func TestBusThroughPooler(t *testing.T) {
	storetest.Bus(t, harness(pooled(t), func(e *pgstore.Engine) store.Bus {
		return wholeBus{e.Bus(), e}
	}))
}
