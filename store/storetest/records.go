package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

// recordsCase is one promise of store.Records.
type recordsCase struct {
	name string
	run  func(t *testing.T, h Harness[store.Records])
	// needs tells whether a driver of these abilities makes the promise. Default: each does.
	needs func(store.Abilities) bool
}

// recordsTopics are the cases by topic.
func recordsTopics() []topic[recordsCase] {
	return []topic[recordsCase]{
		{"condition", conditionCases()},
		{"transaction", transactionCases()},
		{"check", checkCases()},
		{"read", readCases()},
		{"scan", scanCases()},
		{"age", ageCases()},
		{"context", contextCases()},
		{"close", recordsCloseCases()},
		{"race", raceCases()},
		{"history", historyCases()},
	}
}

// Records is the specification of a driver of store.Records. fresh makes a new, empty store
// for one case.
func Records(t *testing.T, fresh func(t *testing.T) Harness[store.Records]) {
	abilities := abilitiesOf(t, fresh)
	for _, topic := range recordsTopics() {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.cases {
				if c.needs == nil || c.needs(abilities) {
					t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
				}
			}
		})
	}
}

func abilitiesOf(t *testing.T, fresh func(t *testing.T) Harness[store.Records]) store.Abilities {
	t.Helper()
	h := fresh(t)
	r := h.Open(t)
	defer shut(t, r)
	a := r.Abilities()
	if a.Durable && !h.Reopens {
		t.Error("Abilities say Durable, the harness does not say Reopens")
	}
	if a.Shared && !h.Shared {
		t.Error("Abilities say Shared, the harness does not")
	}
	return a
}

// multiKey, singleKey and scans are values of recordsCase.needs.
func multiKey(a store.Abilities) bool  { return a.MultiKey }
func singleKey(a store.Abilities) bool { return !a.MultiKey }
func scans(a store.Abilities) bool     { return a.Scan }
func noScans(a store.Abilities) bool   { return !a.Scan }

// mint makes versions that are all different. Its zero value is ready.
type mint struct{ n atomic.Uint64 }

func (m *mint) version() store.Version {
	z := m.n.Add(0x9e3779b97f4a7c15) // splitmix64, so that all 63 bits are in use
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return store.VersionFrom(z ^ z>>31)
}

// put is a Put of a new version.
func (m *mint) put(key, value string, c store.Condition) store.Write {
	return store.Write{Key: key, Op: store.Put, Value: []byte(value), If: c, Version: m.version()}
}

func deleteOf(key string, c store.Condition) store.Write {
	return store.Write{Key: key, Op: store.Delete, If: c}
}

func checkOf(key string, v store.Version) store.Write {
	return store.Write{Key: key, Op: store.Check, If: store.Is(v)}
}

// commit runs one transaction.
func commit(ctx context.Context, r store.Records, writes ...store.Write) error {
	errs := r.Commit(ctx, store.Tx(writes))
	if len(errs) != 1 {
		return fmt.Errorf("commit of one transaction answered %d errors", len(errs))
	}
	return errs[0]
}

// mustCommit runs one transaction that has to succeed.
func mustCommit(t *testing.T, r store.Records, writes ...store.Write) {
	t.Helper()
	if err := commit(t.Context(), r, writes...); err != nil {
		t.Fatalf("Commit(%s) = %v, want nil", show(writes), err)
	}
}

// show is a transaction in short.
func show(tx store.Tx) string {
	text := ""
	for _, w := range tx {
		op := map[store.Op]string{store.Put: "put", store.Delete: "delete", store.Check: "check"}[w.Op]
		text += fmt.Sprintf("%s %s if %s; ", op, w.Key, w.If)
	}
	return text
}

// get reads one record.
func get(t *testing.T, r store.Records, key string) store.Record {
	t.Helper()
	found, err := r.Get(t.Context(), key)
	ok(t, "Get "+key, err)
	if len(found) != 1 {
		t.Fatalf("Get of one key answered %d records", len(found))
	}
	return found[0]
}

// wantRecord fails unless the record under w.Key is the one that w put.
func wantRecord(t *testing.T, r store.Records, w store.Write) {
	t.Helper()
	wantSame(t, "record "+w.Key, get(t, r, w.Key), recordOf(w))
}

// wantMissing fails unless there is no record.
func wantMissing(t *testing.T, r store.Records, key string) {
	t.Helper()
	wantSame(t, "record "+key, get(t, r, key), store.Record{Key: key})
}

// recordOf is the record that a Put leaves behind, but for its Age.
func recordOf(w store.Write) store.Record {
	return store.Record{Key: w.Key, Value: w.Value, Version: w.Version}
}

// wantSame compares two records as wantRecords does.
func wantSame(t *testing.T, what string, got, want store.Record) {
	t.Helper()
	wantRecords(t, what, []store.Record{got}, []store.Record{want})
}

// wantRecords compares records but for their Ages. An empty value is not nil.
func wantRecords(t *testing.T, what string, got, want []store.Record) {
	t.Helper()
	same := func(a, b store.Record) bool {
		return a.Key == b.Key && a.Version == b.Version && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got, cmpopts.IgnoreFields(store.Record{}, "Age")))
	}
}

// wantConflict fails unless err names key as the conflict and is nothing else.
func wantConflict(t *testing.T, what string, err error, keys ...string) {
	t.Helper()
	want(t, what, err, store.ErrConflict)
	conflict, isConflict := errors.AsType[*store.ConflictError](err)
	if !isConflict {
		t.Fatalf("%s = %v, want a *store.ConflictError", what, err)
	}
	for _, key := range keys {
		if conflict.Key == key {
			return
		}
	}
	t.Fatalf("%s names %q, want one of %q", what, conflict.Key, keys)
}

// number and numberOf keep a counter in a value.
func number(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

func numberOf(r store.Record) uint64 {
	if r.Missing() {
		return 0
	}
	return binary.BigEndian.Uint64(r.Value)
}

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }
