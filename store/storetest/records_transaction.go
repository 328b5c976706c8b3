package storetest

import (
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func transactionCases() []recordsCase {
	return []recordsCase{
		{name: "applies wholly", run: appliesWholly, needs: multiKey},
		{name: "applies not at all", run: appliesNotAtAll, needs: multiKey},
		{name: "of the largest size", run: largestTransaction, needs: multiKey},
		{name: "the others of a call apply when one fails", run: independentTransactions},
		{name: "a full call", run: fullCommit},
		{name: "conserves what it moves", run: conservation, needs: multiKey},
		{name: "of several keys is refused without the ability", run: severalKeysRefused, needs: singleKey},
	}
}

func appliesWholly(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	seen, gone, kept := m.put("seen", "1", store.Absent()), m.put("gone", "1", store.Absent()), m.put("kept", "1", store.Absent())
	mustCommit(t, r, seen, gone, kept)
	changed, created := m.put("kept", "2", store.Is(kept.Version)), m.put("new", "2", store.Absent())
	mustCommit(t, r, checkOf("seen", seen.Version), changed, deleteOf("gone", store.Is(gone.Version)), created, deleteOf("never", store.Any()))
	wantRecord(t, r, seen)
	wantRecord(t, r, changed)
	wantMissing(t, r, "gone")
	wantRecord(t, r, created)
	wantMissing(t, r, "never")
}

// appliesNotAtAll puts the write that fails at each place of the transaction.
func appliesNotAtAll(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	old := []store.Write{m.put("a", "old", store.Absent()), m.put("b", "old", store.Absent()), m.put("c", "old", store.Absent())}
	mustCommit(t, r, old...)
	for at := range 5 {
		for _, bad := range []store.Write{
			m.put("bad", "x", store.Is(4242)), deleteOf("bad", store.Is(4242)), checkOf("bad", 4242),
			m.put("b", "x", store.Absent()), m.put("b", "x", store.Is(4242)), deleteOf("b", store.Absent()), checkOf("b", 4242),
		} {
			tx := store.Tx{m.put("a", "new", store.Is(old[0].Version)), m.put("d", "new", store.Absent()), deleteOf("c", store.Any()), m.put("e", "new", store.Any())}
			tx = append(tx[:at:at], append(store.Tx{bad}, tx[at:]...)...)
			wantConflict(t, show(tx), commit(t.Context(), r, tx...), bad.Key)
			for _, w := range old {
				wantRecord(t, r, w)
			}
			for _, key := range []string{"bad", "d", "e"} {
				wantMissing(t, r, key)
			}
		}
	}
	twice := store.Tx{m.put("a", "x", store.Absent()), m.put("b", "x", store.Absent())}
	wantConflict(t, "two conflicts", commit(t.Context(), r, twice...), "a", "b")
}

func largestTransaction(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	var tx store.Tx
	for i := range store.MaxTxWrites {
		tx = append(tx, m.put(fmt.Sprintf("key/%02d", i), fmt.Sprint(i), store.Absent()))
	}
	mustCommit(t, r, tx...)
	for _, w := range tx {
		wantRecord(t, r, w)
	}
	heavy := store.Tx{}
	for i := range store.MaxTxBytes / store.MaxValue {
		w := m.put(fmt.Sprintf("heavy/%d", i), "", store.Absent())
		w.Value = pattern(store.MaxValue, byte(i))
		heavy = append(heavy, w)
	}
	mustCommit(t, r, heavy...)
	for _, w := range heavy {
		if got := get(t, r, w.Key); got.Version != w.Version || string(got.Value) != string(w.Value) {
			t.Fatalf("%s came back at version %v with %d bytes, want %v with %d, the same", w.Key, got.Version, len(got.Value), w.Version, len(w.Value))
		}
	}
}

// pattern is size bytes in which every byte value occurs, different for each seed.
func pattern(size int, seed byte) []byte {
	p := make([]byte, size)
	x := uint32(seed) + 1
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

// independentTransactions lets transactions of one call fail at every place.
func independentTransactions(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	present := m.put("present", "1", store.Absent())
	mustCommit(t, r, present)
	var txs []store.Tx
	for i := range 30 {
		key := fmt.Sprintf("key/%02d", i)
		if i%3 == 0 {
			txs = append(txs, store.Tx{m.put(key, "no", store.Is(4242))})
			continue
		}
		txs = append(txs, store.Tx{m.put(key, "yes", store.Absent())})
	}
	txs = append(txs, store.Tx{m.put("present", "no", store.Absent())})
	errs := r.Commit(t.Context(), txs...)
	if len(errs) != len(txs) {
		t.Fatalf("Commit of %d transactions answered %d errors", len(txs), len(errs))
	}
	for i, tx := range txs {
		if i%3 == 0 {
			wantConflict(t, show(tx), errs[i], tx[0].Key)
			continue
		}
		ok(t, show(tx), errs[i])
		wantRecord(t, r, tx[0])
	}
	wantMissing(t, r, "key/00")
	wantRecord(t, r, present)
}

func fullCommit(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	var (
		txs  []store.Tx
		keys []string
		all  []store.Record
	)
	for i := range store.MaxCommit {
		w := m.put(fmt.Sprintf("key/%04d", i), fmt.Sprint("value ", i), store.Absent())
		txs, keys, all = append(txs, store.Tx{w}), append(keys, w.Key), append(all, recordOf(w))
	}
	for i, err := range r.Commit(t.Context(), txs...) {
		ok(t, keys[i], err)
	}
	found, err := r.Get(t.Context(), keys...)
	ok(t, "Get", err)
	wantRecords(t, "records", found, all)
	for i, err := range r.Commit(t.Context(), txs...) {
		wantConflict(t, "again", err, keys[i])
	}
}

// conservation moves units between accounts, two in each transaction, from many callers at
// once: no unit is lost, none appears, nobody waits for ever.
func conservation(t *testing.T, h Harness[store.Records]) {
	const accounts, callers, moves, each = 6, 6, 15, 100
	handles, m := openSome(t, h, 2), &mint{}
	key := func(i int) string { return fmt.Sprintf("account/%d", i) }
	for i := range accounts {
		mustCommit(t, handles[0], m.put(key(i), number(each), store.Absent()))
	}
	ctx := t.Context()
	together(t, callers, func(c int) error {
		r := handles[c%len(handles)]
		for n := 0; n < moves; {
			from, to := (c+n)%accounts, (c+n+1+(c+n)%(accounts-1))%accounts
			found, err := r.Get(ctx, key(from), key(to))
			if err != nil {
				return err
			}
			err = commit(ctx, r,
				m.put(key(from), number(numberOf(found[0])-1), store.Is(found[0].Version)),
				m.put(key(to), number(numberOf(found[1])+1), store.Is(found[1].Version)))
			switch store.OutcomeOf(err) {
			case store.Done, store.Unknown:
				n++
			case store.NotDone:
			}
		}
		return nil
	})
	total := uint64(0)
	for i := range accounts {
		total += numberOf(get(t, handles[0], key(i)))
	}
	if total != accounts*each {
		t.Fatalf("%d units in the end, want %d", total, accounts*each)
	}
}

// severalKeysRefused asks through store.New, which is where callers are told.
func severalKeysRefused(t *testing.T, h Harness[store.Records]) {
	m := &mint{}
	r := checked(t, open(t, h))
	single := m.put("single", "1", store.Absent())
	errs := r.Commit(t.Context(),
		store.Tx{m.put("a", "1", store.Absent()), m.put("b", "1", store.Absent())},
		store.Tx{single},
		store.Tx{checkOf("single", 4242), m.put("c", "1", store.Absent())})
	want(t, "two keys", errs[0], store.ErrUnsupported)
	ok(t, "one key", errs[1])
	want(t, "a check beside a key", errs[2], store.ErrUnsupported)
	wantRecord(t, r, single)
	for _, key := range []string{"a", "b", "c"} {
		wantMissing(t, r, key)
	}
}

// checked puts r behind the contract's checks.
func checked(t *testing.T, r store.Records) store.Records {
	t.Helper()
	s, err := store.New(store.Parts{Durable: r, Boards: struct{ store.Boards }{}, Bus: struct{ store.Bus }{}})
	ok(t, "store.New", err)
	return s.Durable()
}
