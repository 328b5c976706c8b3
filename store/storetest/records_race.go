package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func raceCases() []recordsCase {
	return []recordsCase{
		{name: "no update is lost", run: noLostUpdate},
		{name: "one creator wins", run: oneCreator},
		{name: "one of many in a call wins", run: oneOfManyWins},
		{name: "reads never go back", run: readsNeverGoBack},
	}
}

// noLostUpdate counts up a few keys by compare-and-set from many callers through several
// handles: in the end each counter is what was acknowledged.
func noLostUpdate(t *testing.T, h Harness[store.Records]) {
	const callers, increments, keys = 8, 40, 3
	handles, m := openSome(t, h, 3), &mint{}
	var done, unknown [keys]atomic.Uint64
	ctx := t.Context()
	key := func(i int) string { return fmt.Sprintf("counter/%d", i) }
	together(t, callers, func(c int) error {
		r := handles[c%len(handles)]
		for n := 0; n < increments; {
			k := (c + n) % keys
			found, err := r.Get(ctx, key(k))
			if err != nil {
				return err
			}
			err = commit(ctx, r, m.put(key(k), number(numberOf(found[0])+1), store.Is(found[0].Version)))
			switch store.OutcomeOf(err) {
			case store.Done:
				done[k].Add(1)
				n++
			case store.Unknown:
				unknown[k].Add(1)
				n++
			case store.NotDone:
			}
		}
		return nil
	})
	for k := range keys {
		got, least := numberOf(get(t, handles[0], key(k))), done[k].Load()
		if most := least + unknown[k].Load(); got < least || got > most {
			t.Errorf("%s counts %d, want %d to %d", key(k), got, least, most)
		}
	}
}

// oneCreator lets many create one key at once.
func oneCreator(t *testing.T, h Harness[store.Records]) {
	const callers, rounds = 6, 40
	handles, m := openSome(t, h, 3), &mint{}
	ctx := t.Context()
	for round := range rounds {
		key := fmt.Sprintf("key/%d", round)
		writes, errs := make([]store.Write, callers), make([]error, callers)
		together(t, callers, func(c int) error {
			writes[c] = m.put(key, fmt.Sprint(c), store.Absent())
			errs[c] = commit(ctx, handles[c%len(handles)], writes[c])
			return nil
		})
		wantOneWinner(t, handles[0], writes, errs)
	}
}

// wantOneWinner fails unless what is stored is the one write that may have been applied, and
// all that were surely not applied met it.
func wantOneWinner(t *testing.T, r store.Records, writes []store.Write, errs []error) {
	t.Helper()
	stored := get(t, r, writes[0].Key)
	winner := -1
	for i, w := range writes {
		checkVocabulary(t, "Commit", errs[i])
		outcome := store.OutcomeOf(errs[i])
		switch {
		case w.Version == stored.Version:
			winner = i
			if outcome == store.NotDone {
				t.Fatalf("the write that is stored was answered %v", errs[i])
			}
			wantSame(t, "record", stored, recordOf(w))
		case outcome == store.Done:
			t.Fatalf("a write was answered done, and another is stored")
		}
	}
	if winner < 0 {
		t.Fatalf("no write is stored: %v", errs)
	}
}

// oneOfManyWins is the same with each caller sending its try among others in one call.
func oneOfManyWins(t *testing.T, h Harness[store.Records]) {
	const callers, rounds, beside = 4, 20, 20
	handles, m := openSome(t, h, 2), &mint{}
	ctx := t.Context()
	for round := range rounds {
		tries, errs := make([]store.Write, callers), make([]error, callers)
		key := fmt.Sprintf("key/%d", round)
		together(t, callers, func(c int) error {
			tries[c] = m.put(key, fmt.Sprint(c), store.Absent())
			txs := make([]store.Tx, beside)
			for i := range txs {
				txs[i] = store.Tx{m.put(fmt.Sprintf("beside/%d/%d/%d", round, c, i), "x", store.Absent())}
			}
			at := (round + c) % beside
			txs[at] = store.Tx{tries[c]}
			all := handles[c%len(handles)].Commit(ctx, txs...)
			errs[c] = all[at]
			for i, err := range all {
				if i != at && err != nil {
					return fmt.Errorf("transaction %d: %w", i, err)
				}
			}
			return nil
		})
		wantOneWinner(t, handles[0], tries, errs)
	}
}

// readsNeverGoBack lets readers watch a counter through all handles while it goes up.
func readsNeverGoBack(t *testing.T, h Harness[store.Records]) {
	const readers, last = 3, 150
	handles, m := openSome(t, h, 3), &mint{}
	ctx := t.Context()
	var over atomic.Bool
	together(t, readers+1, func(c int) error {
		if c == readers {
			defer over.Store(true)
			return countUp(ctx, handles[0], m, last)
		}
		seen := uint64(0)
		for i := 0; !over.Load(); i++ {
			found, err := handles[(c+i)%len(handles)].Get(ctx, "counter")
			if err != nil {
				return err
			}
			n := numberOf(found[0])
			if n < seen {
				return fmt.Errorf("read %d after %d", n, seen)
			}
			seen = n
		}
		return nil
	})
}

func countUp(ctx context.Context, r store.Records, m *mint, last uint64) error {
	version := store.Version(0)
	for n := uint64(1); n <= last; n++ {
		w := m.put("counter", number(n), store.Is(version))
		if err := commit(ctx, r, w); err != nil {
			return err
		}
		version = w.Version
	}
	return nil
}
