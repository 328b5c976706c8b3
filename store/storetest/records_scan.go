package storetest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func scanCases() []recordsCase {
	return []recordsCase{
		{name: "is refused without the ability", run: scanRefused, needs: noScans},
		{name: "of an empty store", run: scanEmpty, needs: scans},
		{name: "in byte order, in pages", run: scanOrder, needs: scans},
		{name: "within its bounds", run: scanBounds, needs: scans},
		{name: "up to its limit", run: scanLimit, needs: scans},
		{name: "of values of every size", run: scanLarge, needs: scans},
		{name: "that is left early", run: scanLeft, needs: scans},
		{name: "whose caller writes", run: scanAndWrite, needs: scans},
		{name: "shows what stays exactly once while others come and go", run: scanUnderChange, needs: scans},
		{name: "twice from one sequence", run: scanAgain, needs: scans},
		{name: "ends with its context", run: scanContext, needs: scans},
	}
}

// collect reads a whole scan.
func collect(t *testing.T, seq iter.Seq2[store.Record, error]) []store.Record {
	t.Helper()
	var all []store.Record
	for rec, err := range seq {
		ok(t, "Scan", err)
		if rec.Age < 0 {
			t.Fatalf("%s has Age %v, want 0 or more", rec.Key, rec.Age)
		}
		all = append(all, rec)
	}
	return all
}

func scanRefused(t *testing.T, h Harness[store.Records]) {
	r := open(t, h)
	n := 0
	for rec, err := range r.Scan(t.Context(), store.Range{}) {
		n++
		want(t, "Scan of everything", err, store.ErrUnsupported)
		wantSame(t, "record", rec, store.Record{})
	}
	if n != 1 {
		t.Fatalf("a refused Scan yields %d times, want once", n)
	}
}

func scanEmpty(t *testing.T, h Harness[store.Records]) {
	r := open(t, h)
	for _, rng := range []store.Range{{}, {From: "a"}, {To: "z"}, {From: "a", To: "z", Limit: 3}, store.Prefix("a")} {
		if all := collect(t, r.Scan(t.Context(), rng)); len(all) != 0 {
			t.Fatalf("Scan %+v of an empty store yields %v", rng, all)
		}
	}
}

// seedRecords stores n records under random keys of all lengths, some of them prefixes of
// others, and returns them in byte order.
func seedRecords(t *testing.T, r store.Records, n int) []store.Record {
	t.Helper()
	rng, m := rand.New(rand.NewPCG(1, 2)), &mint{}
	seen := make(map[string]bool)
	var (
		all []store.Record
		txs []store.Tx
	)
	for len(all) < n {
		key := randomKey(rng)
		if len(all) > 0 && rng.IntN(4) == 0 {
			key = all[rng.IntN(len(all))].Key + string(rune('!'+rng.IntN('~'-'!'+1)))
		}
		if seen[key] || len(key) > store.MaxKey {
			continue
		}
		seen[key] = true
		w := m.put(key, "value of "+key, store.Absent())
		all, txs = append(all, recordOf(w)), append(txs, store.Tx{w})
	}
	for chunk := range slices.Chunk(txs, store.MaxCommit) {
		for _, err := range r.Commit(t.Context(), chunk...) {
			ok(t, "Commit", err)
		}
	}
	slices.SortFunc(all, func(a, b store.Record) int { return strings.Compare(a.Key, b.Key) })
	return all
}

func randomKey(rng *rand.Rand) string {
	key := make([]byte, 1+rng.IntN(12))
	for i := range key {
		key[i] = byte('!' + rng.IntN('~'-'!'+1))
	}
	return string(key)
}

// within is what a scan of rng yields of all, which is sorted.
func within(all []store.Record, rng store.Range) []store.Record {
	var some []store.Record
	for _, rec := range all {
		if rec.Key >= rng.From && (rng.To == "" || rec.Key < rng.To) && (rng.Limit == 0 || len(some) < rng.Limit) {
			some = append(some, rec)
		}
	}
	return some
}

func scanOrder(t *testing.T, h Harness[store.Records]) {
	handles := openSome(t, h, 2)
	all := seedRecords(t, handles[0], 3000)
	for _, r := range handles {
		wantRecords(t, "Scan of everything", collect(t, r.Scan(t.Context(), store.Range{})), all)
	}
}

func scanBounds(t *testing.T, h Harness[store.Records]) {
	r := open(t, h)
	all := seedRecords(t, r, 400)
	rng := rand.New(rand.NewPCG(3, 4))
	bound := func() string {
		if rng.IntN(2) == 0 {
			return all[rng.IntN(len(all))].Key
		}
		return randomKey(rng)
	}
	ranges := []store.Range{
		{From: "!"},
		{To: "!"},
		{From: "~~~~~~~~~~~~~~~~"},
		{From: "b", To: "a"},
		{From: "a", To: "a"},
		{From: all[7].Key, To: all[7].Key + "!"},
		{From: all[7].Key, To: all[8].Key},
		{To: all[0].Key},
		{From: all[399].Key},
		store.Prefix(""), store.Prefix("~"), store.Prefix(strings.Repeat("~", store.MaxKey)),
	}
	for range 120 {
		ranges = append(ranges, store.Range{From: bound(), To: bound()}, store.Range{From: bound()}, store.Prefix(bound()))
	}
	for _, rng := range ranges {
		wantRecords(t, fmt.Sprintf("Scan %+v", rng), collect(t, r.Scan(t.Context(), rng)), within(all, rng))
	}
}

func scanLimit(t *testing.T, h Harness[store.Records]) {
	r := open(t, h)
	all := seedRecords(t, r, 1100)
	for _, limit := range []int{1, 2, 99, 100, 101, 127, 128, 129, 255, 256, 257, 500, 511, 512, 513, 1000, 1024, 1099, 1100, 1101, 1 << 20} {
		for _, from := range []string{"", all[17].Key, all[1099].Key} {
			rng := store.Range{From: from, Limit: limit}
			wantRecords(t, fmt.Sprintf("Scan %+v", rng), collect(t, r.Scan(t.Context(), rng)), within(all, rng))
		}
	}
}

// scanLarge reads values that do not fit into memory page by page if a page has a fixed
// number of them.
func scanLarge(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	sizes := []int{0, 1, store.MaxValue, 1 << 20, 0, 1 << 20, 1 << 16, store.MaxValue}
	for i, size := range sizes {
		w := m.put(fmt.Sprintf("key/%d", i), "", store.Absent())
		w.Value = pattern(size, byte(i))
		mustCommit(t, r, w)
	}
	n := 0
	for rec, err := range r.Scan(t.Context(), store.Prefix("key/")) {
		ok(t, "Scan", err)
		if rec.Key != fmt.Sprintf("key/%d", n) || rec.Value == nil || !slices.Equal(rec.Value, pattern(sizes[n], byte(n))) {
			t.Fatalf("record %d is %q with %d bytes (nil: %v), want the %d that were put", n, rec.Key, len(rec.Value), rec.Value == nil, sizes[n])
		}
		n++
	}
	if n != len(sizes) {
		t.Fatalf("Scan yields %d records, want %d", n, len(sizes))
	}
}

// scanLeft breaks off scans and then writes what they were reading.
func scanLeft(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	all := seedRecords(t, r, 600)
	for i, stop := range []int{1, 2, 100, 256, 257, 599} {
		n := 0
		for _, err := range r.Scan(t.Context(), store.Range{}) {
			ok(t, "Scan", err)
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Fatalf("Scan yields %d records, want %d and more", n, stop)
		}
		w := m.put(all[i].Key, "changed", store.Any())
		mustCommit(t, r, w)
		wantRecord(t, r, w)
	}
}

// scanAndWrite deletes each record from within the loop that reads it, and adds others
// behind it. A driver that keeps a transaction or a lock open never comes to an end.
func scanAndWrite(t *testing.T, h Harness[store.Records]) {
	handles, m := openSome(t, h, 2), &mint{}
	reader, writer := handles[0], handles[len(handles)-1]
	all := seedRecords(t, reader, 300)
	var seen []store.Record
	for rec, err := range reader.Scan(t.Context(), store.Range{}) {
		ok(t, "Scan", err)
		seen = append(seen, rec)
		mustCommit(t, writer, deleteOf(rec.Key, store.Is(rec.Version)))
		if len(seen)%10 == 0 {
			mustCommit(t, writer, m.put("!"+rec.Key, "behind", store.Any()))
		}
	}
	added := func(rec store.Record) bool { return string(rec.Value) == "behind" }
	wantRecords(t, "records seen", slices.DeleteFunc(seen, added), all)
	for _, rec := range collect(t, reader.Scan(t.Context(), store.Range{})) {
		if !added(rec) {
			t.Fatalf("%s is still there", rec.Key)
		}
	}
}

// scanUnderChange scans while every second key is rewritten, deleted and put back.
func scanUnderChange(t *testing.T, h Harness[store.Records]) {
	handles, m := openSome(t, h, 3), &mint{}
	const keys, scansWanted, writers = 700, 12, 2
	key := func(i int) string { return fmt.Sprintf("key/%04d", i) }
	var txs []store.Tx
	for i := range keys {
		txs = append(txs, store.Tx{m.put(key(i), key(i), store.Absent())})
	}
	for _, err := range handles[0].Commit(t.Context(), txs...) {
		ok(t, "Commit", err)
	}
	ctx := t.Context()
	var over atomic.Bool
	together(t, writers+1, func(c int) error {
		if c < writers {
			return churn{m, &over, key}.run(ctx, handles[c%len(handles)], c)
		}
		defer over.Store(true)
		for range scansWanted {
			if err := scanSteady(ctx, handles[len(handles)-1], keys, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// churn rewrites, deletes and puts back the odd keys until it is over.
type churn struct {
	m    *mint
	over *atomic.Bool
	key  func(int) string
}

func (c churn) run(ctx context.Context, r store.Records, seed int) error {
	rng := rand.New(rand.NewPCG(uint64(seed), 5))
	for !c.over.Load() {
		var txs []store.Tx
		for _, i := range rng.Perm(350)[:8] {
			k := c.key(2*i + 1)
			if rng.IntN(2) == 0 {
				txs = append(txs, store.Tx{deleteOf(k, store.Any())})
			} else {
				txs = append(txs, store.Tx{c.m.put(k, k, store.Any())})
			}
		}
		for _, err := range r.Commit(ctx, txs...) {
			if store.OutcomeOf(err) == store.NotDone && !isConflict(err) {
				return err
			}
		}
	}
	return nil
}

// scanSteady scans once: in order, nothing twice, and the even keys all there.
func scanSteady(ctx context.Context, r store.Records, keys int, key func(int) string) error {
	last, steady := "", 0
	for rec, err := range r.Scan(ctx, store.Prefix("key/")) {
		switch {
		case err != nil:
			return err
		case rec.Key <= last:
			return fmt.Errorf("%s comes after %s", rec.Key, last)
		case string(rec.Value) != rec.Key || rec.Missing():
			return fmt.Errorf("%s has value %q at version %v", rec.Key, rec.Value, rec.Version)
		}
		last = rec.Key
		if rec.Key == key(2*steady) {
			steady++
		}
	}
	if steady != keys/2 {
		return fmt.Errorf("%d keys of %d that stay were seen in their order", steady, keys/2)
	}
	return nil
}

func scanAgain(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	all := seedRecords(t, r, 10)
	seq := r.Scan(t.Context(), store.Range{Limit: 5})
	wantRecords(t, "first use", collect(t, seq), all[:5])
	mustCommit(t, r, m.put(all[0].Key, "new", store.Any()))
	again := collect(t, seq)
	if len(again) != 5 || string(again[0].Value) != "new" {
		t.Fatalf("the second use of a sequence yields %d records, the first with %q; want 5 and the new value", len(again), again[0].Value)
	}
}

// scanContext ends the context before and in the middle: the sequence yields one error at
// most, last, and what came before it is right.
func scanContext(t *testing.T, h Harness[store.Records]) {
	r := open(t, h)
	all := seedRecords(t, r, 2500)
	n := 0
	for _, err := range r.Scan(cancelled(t), store.Range{}) {
		n++
		want(t, "Scan with a context that has ended", err, store.ErrUnavailable)
	}
	if n != 1 {
		t.Fatalf("Scan with a context that has ended yields %d times, want once", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []store.Record
	failed := false
	for rec, err := range r.Scan(ctx, store.Range{}) {
		if failed {
			t.Fatalf("Scan goes on after its error, with %s", rec.Key)
		}
		if err != nil {
			checkVocabulary(t, "Scan", err)
			failed = true
			continue
		}
		if seen = append(seen, rec); len(seen) == 3 {
			cancel()
		}
	}
	if !failed {
		t.Fatal("a Scan of many pages does not notice that its context ended")
	}
	wantRecords(t, "records before the end", seen, all[:len(seen)])
}
