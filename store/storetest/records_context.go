package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

func contextCases() []recordsCase {
	return []recordsCase{
		{name: "that has ended: nothing is done", run: endedContext},
		{name: "that ends during a commit", run: contextEndsDuring},
		{name: "that ends after the answer changes nothing", run: contextEndsAfter},
	}
}

func endedContext(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	before := m.put("present", "before", store.Absent())
	mustCommit(t, r, before)
	ctx := cancelled(t)
	errs := r.Commit(ctx, store.Tx{m.put("a", "x", store.Any())}, store.Tx{deleteOf("present", store.Any())}, store.Tx{m.put("b", "x", store.Absent())})
	if len(errs) != 3 {
		t.Fatalf("Commit of 3 transactions answered %d errors", len(errs))
	}
	for _, err := range errs {
		want(t, "Commit", err, store.ErrUnavailable)
	}
	_, err := r.Get(ctx, "present")
	want(t, "Get", err, store.ErrUnavailable)
	_, err = r.Now(ctx)
	want(t, "Now", err, store.ErrUnavailable)
	wantMissing(t, r, "a")
	wantMissing(t, r, "b")
	wantRecord(t, r, before)
	mustCommit(t, r, m.put("a", "y", store.Absent())) // a late one would be in the way
	mustCommit(t, r, m.put("b", "y", store.Absent()))
	mustCommit(t, r, deleteOf("present", store.Is(before.Version)))
}

// contextEndsDuring lets the context end at random moments of about twice a commit. What is said to be done is there;
// what is said to be not done is not, and does not come later: a conditional write that
// lands behind it is in its way.
func contextEndsDuring(t *testing.T, h Harness[store.Records]) {
	handles, m := openSome(t, h, 2), &mint{}
	rng := rand.New(rand.NewPCG(6, 7))
	pace := paceOf(t, handles[0], m)
	for round := range 200 {
		r := handles[round%len(handles)]
		var txs []store.Tx
		for i := range 1 + rng.IntN(3) {
			txs = append(txs, store.Tx{m.put(fmt.Sprintf("key/%d/%d", round, i), "value", store.Absent())})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(2*pace)+1)))
		errs := r.Commit(ctx, txs...)
		cancel()
		if len(errs) != len(txs) {
			t.Fatalf("Commit of %d transactions answered %d errors", len(txs), len(errs))
		}
		for i, err := range errs {
			checkVocabulary(t, "Commit", err)
			settle(t, handles[len(handles)-1], m, txs[i][0], err)
		}
	}
}

// settle writes over w, which was sent under Absent and answered err, and fails when what it
// meets is not what was said.
func settle(t *testing.T, r store.Records, m *mint, w store.Write, err error) {
	t.Helper()
	outcome := store.OutcomeOf(err)
	fence := commit(t.Context(), r, m.put(w.Key, "fence", store.Absent()))
	applied := isConflict(fence)
	if !applied {
		ok(t, "fence", fence)
	}
	if applied {
		wantRecord(t, r, w)
	}
	if outcome == store.Done && !applied || outcome == store.NotDone && applied {
		t.Fatalf("%s was answered %v (%v), applied = %v", w.Key, err, outcome, applied)
	}
}

func contextEndsAfter(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	for i := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		w := m.put(fmt.Sprintf("key/%d", i), "value", store.Absent())
		err := commit(ctx, r, w)
		cancel()
		ok(t, "Commit", err)
		wantRecord(t, r, w)
	}
}
