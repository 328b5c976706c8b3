package pgstore_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// until waits for what comes soon.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begun := time.Now(); !done(); runtime.Gosched() {
		if time.Since(begun) > storetest.Patience {
			t.Fatalf("%s: not within %v", what, storetest.Patience)
		}
	}
}

// one runs a transaction.
func one(t *testing.T, r store.Records, writes ...store.Write) error {
	t.Helper()
	return r.Commit(t.Context(), store.Tx(writes))[0]
}

func putOf(key, value string, v store.Version, c store.Condition) store.Write {
	return store.Write{Key: key, Op: store.Put, Value: []byte(value), Version: v, If: c}
}
