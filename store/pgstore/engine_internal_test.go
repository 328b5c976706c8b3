package pgstore

import (
	"context"
	"testing"
)

// openEngine opens an engine for as long as the test runs.
func openEngine(t *testing.T, url string) *Engine {
	t.Helper()
	e, err := Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return e
}

// databaseAt opens the database of an address without an engine.
func databaseAt(t *testing.T, url string) *database {
	t.Helper()
	a, err := parseAddress(url)
	if err != nil {
		t.Fatal(err)
	}
	o, err := (*Options)(nil).withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.pool.Close)
	return d
}
