package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/store"
)

func recordsCloseCases() []recordsCase {
	return []recordsCase{
		{name: "later calls answer closed", run: recordsClosed},
		{name: "waits for the calls in flight", run: recordsCloseWaits},
		{name: "leaves other handles alone", run: recordsCloseAlone},
		{name: "keeps what was acknowledged", run: recordsReopen},
		{name: "ends its goroutines", run: recordsGoroutines},
	}
}

func recordsClosed(t *testing.T, h Harness[store.Records]) {
	r, m := h.Open(t), &mint{}
	mustCommit(t, r, m.put("key", "value", store.Absent()))
	seq := r.Scan(t.Context(), store.Range{})
	shut(t, r)
	shut(t, r) // again does nothing
	_, err := r.Get(t.Context(), "key")
	want(t, "Get", err, store.ErrClosed)
	errs := r.Commit(t.Context(), store.Tx{m.put("key", "x", store.Any())}, store.Tx{m.put("other", "x", store.Any())})
	if len(errs) != 2 {
		t.Fatalf("Commit of 2 transactions answered %d errors", len(errs))
	}
	for _, err := range errs {
		want(t, "Commit", err, store.ErrClosed)
	}
	_, err = r.Now(t.Context())
	want(t, "Now", err, store.ErrClosed)
	if !r.Abilities().Scan {
		return
	}
	for _, s := range []func(func(store.Record, error) bool){seq, r.Scan(t.Context(), store.Range{})} {
		n := 0
		for _, err := range s {
			n++
			want(t, "Scan", err, store.ErrClosed)
		}
		if n != 1 {
			t.Fatalf("Scan of a closed store yields %d times, want once", n)
		}
	}
}

// recordsCloseWaits closes a handle in the middle of many commits: each is done, or was
// refused, and nothing comes after Close has answered.
func recordsCloseWaits(t *testing.T, h Harness[store.Records]) {
	if !h.Shared && !h.Reopens {
		return // nobody could look
	}
	m := &mint{}
	r := h.Open(t)
	const callers, each = 6, 200
	answers := make([][]error, callers)
	writes := make([][]store.Write, callers)
	for c := range callers {
		for i := range each {
			writes[c] = append(writes[c], m.put(fmt.Sprintf("key/%d/%d", c, i), "value", store.Absent()))
		}
	}
	ctx := t.Context()
	begun := make(chan struct{}, callers*each)
	together(t, callers+1, func(c int) error {
		if c == callers {
			for range callers * 3 {
				<-begun
			}
			return r.Close(ctx)
		}
		for _, w := range writes[c] {
			begun <- struct{}{}
			err := commit(ctx, r, w)
			answers[c] = append(answers[c], err)
			if errors.Is(err, store.ErrClosed) {
				return nil
			}
		}
		return nil
	})
	after := open(t, h)
	for c := range callers {
		for i, err := range answers[c] {
			checkVocabulary(t, "Commit", err)
			settle(t, after, m, writes[c][i], err)
		}
	}
}

func recordsCloseAlone(t *testing.T, h Harness[store.Records]) {
	handles, m := openSome(t, h, 3), &mint{}
	last := handles[len(handles)-1]
	for i, r := range handles[:len(handles)-1] {
		mustCommit(t, r, m.put(fmt.Sprintf("key/%d", i), "value", store.Absent()))
		shut(t, r)
		mustCommit(t, last, m.put(fmt.Sprintf("key/%d", i), "more", store.Any()))
	}
	mustCommit(t, last, m.put("last", "value", store.Absent()))
}

// recordsReopen writes, deletes and replaces, closes everything, and finds it as it was.
func recordsReopen(t *testing.T, h Harness[store.Records]) {
	if !h.Reopens {
		return // the memory ends with the last handle
	}
	m := &mint{}
	alive := make(map[string]store.Write)
	for life := range 3 {
		r := h.Open(t)
		for key, w := range alive {
			wantRecord(t, r, w)
			if life == 2 {
				mustCommit(t, r, deleteOf(key, store.Is(w.Version)))
				delete(alive, key)
			}
		}
		wantMissing(t, r, "deleted")
		for i := range 40 {
			w := m.put(fmt.Sprintf("key/%d/%d", life, i), fmt.Sprint("value ", i), store.Absent())
			mustCommit(t, r, w)
			alive[w.Key] = w
		}
		mustCommit(t, r, m.put("deleted", "x", store.Any()))
		mustCommit(t, r, deleteOf("deleted", store.Any()))
		w := m.put("replaced", fmt.Sprint(life), store.Is(alive["replaced"].Version))
		mustCommit(t, r, w)
		alive["replaced"] = w
		shut(t, r)
	}
	r := open(t, h)
	for _, w := range alive {
		wantRecord(t, r, w)
	}
	if r.Abilities().Scan {
		if n := len(collect(t, r.Scan(t.Context(), store.Range{}))); n != len(alive) {
			t.Fatalf("Scan yields %d records, want %d", n, len(alive))
		}
	}
}

func recordsGoroutines(t *testing.T, h Harness[store.Records]) {
	before := goleak.IgnoreCurrent()
	m := &mint{}
	r := h.Open(t)
	ctx := t.Context()
	together(t, 4, func(c int) error {
		return commit(ctx, r, m.put(fmt.Sprintf("key/%d", c), "value", store.Absent()))
	})
	inner, cancel := context.WithCancel(ctx)
	cancel()
	_ = commit(inner, r, m.put("never", "value", store.Absent()))
	shut(t, r)
	if err := goleak.Find(before); err != nil {
		t.Fatal(err)
	}
}
