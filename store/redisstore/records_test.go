package redisstore_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// open opens an engine, which is closed when the test ends.
func open(t testing.TB, url string, o *redisstore.Options) *redisstore.Engine {
	t.Helper()
	e, err := redisstore.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), storetest.Patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return e
}

// suite runs the conformance suite of one part on servers at url(prefix).
func suite[T any](t *testing.T, name string, url func(prefix string) string, part func(*redisstore.Engine) T, run func(*testing.T, func(*testing.T) storetest.Harness[T])) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		run(t, func(t *testing.T) storetest.Harness[T] {
			t.Helper()
			at := url(enginetest.Prefix(t))
			return storetest.Harness[T]{
				Open:    func(t *testing.T) T { t.Helper(); return part(open(t, at, nil)) },
				Shared:  true,
				Reopens: true,
			}
		})
	})
}

// suites are the conformance suites of the fast records and of the bus.
func suites(t *testing.T, url func(prefix string) string) {
	t.Helper()
	// What is in no family cannot be scanned.
	suite(t, "records", url, (*redisstore.Engine).Fast, storetest.Records)
	// A family is as good as a driver that can scan everything. So are the beats, which go by
	// a lane of their own.
	suite(t, "family", url, func(e *redisstore.Engine) store.Records { return inFamily{e.Fast(), "note/"} }, storetest.Records)
	suite(t, "beats", url, func(e *redisstore.Engine) store.Records { return inFamily{e.Fast(), "node/"} }, storetest.Records)
	suite(t, "bus", url, (*redisstore.Engine).Bus, storetest.Bus)
}

func TestSingle(t *testing.T) { suites(t, enginetest.Redis(t).URL) }

func TestSentinel(t *testing.T) { suites(t, enginetest.Sentinel(t, nil).URL) }

// The suite looks for goroutines that are left: see TestMain.
func TestCluster(t *testing.T) {
	first := enginetest.Cluster(t).Nodes()[0]
	suites(t, func(prefix string) string { return "redis+cluster" + strings.TrimPrefix(first.URL(prefix), "redis") })
}

// inFamily keeps all records in one family, which can be scanned.
type inFamily struct {
	store.Records
	folder string
}

func (f inFamily) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	inner := make([]string, len(keys))
	for i, key := range keys {
		inner[i] = f.folder + key
	}
	found, err := f.Records.Get(ctx, inner...)
	for i := range found {
		found[i].Key = strings.TrimPrefix(found[i].Key, f.folder)
	}
	return found, err
}

func (f inFamily) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Record, error] {
	if r.From = f.folder + r.From; r.To == "" {
		r.To = store.Prefix(f.folder).To
	} else {
		r.To = f.folder + r.To
	}
	return func(yield func(store.Record, error) bool) {
		for rec, err := range f.Records.Scan(ctx, r) {
			rec.Key = strings.TrimPrefix(rec.Key, f.folder)
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (f inFamily) Commit(ctx context.Context, txs ...store.Tx) []error {
	inner := make([]store.Tx, len(txs))
	for i, tx := range txs {
		for _, w := range tx {
			w.Key = f.folder + w.Key
			inner[i] = append(inner[i], w)
		}
	}
	errs := f.Records.Commit(ctx, inner...)
	for _, err := range errs {
		if c, ok := errors.AsType[*store.ConflictError](err); ok {
			c.Key = strings.TrimPrefix(c.Key, f.folder)
		}
	}
	return errs
}

func (f inFamily) Abilities() store.Abilities {
	a := f.Records.Abilities()
	a.Scan = true
	return a
}
