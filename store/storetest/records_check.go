package storetest

import (
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func checkCases() []recordsCase {
	return []recordsCase{
		{name: "writes nothing", run: checkWritesNothing},
		{name: "guards the other writes", run: checkGuards, needs: multiKey},
		{name: "is held until the transaction is decided", run: checksEachOther, needs: multiKey},
		{name: "in a ring", run: checksInRing, needs: multiKey},
		{name: "against a delete of the same key", run: checkAgainstDelete, needs: multiKey},
	}
}

func checkWritesNothing(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	w := m.put("key", "value", store.Absent())
	mustCommit(t, r, w)
	mustCommit(t, r, checkOf("key", w.Version))
	mustCommit(t, r, checkOf("key", w.Version))
	wantRecord(t, r, w)
	wantConflict(t, "another version", commit(t.Context(), r, checkOf("key", w.Version+1)), "key")
	wantConflict(t, "a missing key", commit(t.Context(), r, checkOf("missing", w.Version)), "missing")
	wantMissing(t, r, "missing")
}

func checkGuards(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	guard := m.put("guard", "1", store.Absent())
	mustCommit(t, r, guard)
	a := m.put("a", "1", store.Absent())
	mustCommit(t, r, checkOf("guard", guard.Version), a)
	mustCommit(t, r, m.put("guard", "2", store.Is(guard.Version)))
	wantConflict(t, "after the guard moved", commit(t.Context(), r, m.put("a", "2", store.Is(a.Version)), checkOf("guard", guard.Version)), "guard")
	wantRecord(t, r, a)
	mustCommit(t, r, deleteOf("guard", store.Any()))
	wantConflict(t, "after the guard went", commit(t.Context(), r, checkOf("guard", guard.Version), deleteOf("a", store.Any())), "guard")
	wantRecord(t, r, a)
}

// checksEachOther lets two transactions check each other's key while they write their own:
// whatever the order, the second one's check does not hold any more.
func checksEachOther(t *testing.T, h Harness[store.Records]) {
	ring(t, h, 2, 150)
}

// checksInRing is the same with three in a ring, where a driver that locks key by key may
// meet itself.
func checksInRing(t *testing.T, h Harness[store.Records]) {
	ring(t, h, 3, 100)
}

// ring runs rounds of n transactions at once; the i-th puts key i and checks key i+1. Not
// all can be done, and not all can be in conflict.
func ring(t *testing.T, h Harness[store.Records], n, rounds int) {
	handles, m := openSome(t, h, n), &mint{}
	ctx := t.Context()
	versions := make([]store.Version, n)
	key := func(i int) string { return fmt.Sprintf("key/%d", i%n) }
	for i := range n {
		w := m.put(key(i), "0", store.Absent())
		mustCommit(t, handles[0], w)
		versions[i] = w.Version
	}
	for round := range rounds {
		writes := make([]store.Write, n)
		outcomes := make([]store.Outcome, n)
		for i := range n {
			writes[i] = m.put(key(i), fmt.Sprint(round), store.Is(versions[i]))
		}
		conflicts := 0
		errs := make([]error, n)
		together(t, n, func(i int) error {
			tx := store.Tx{writes[i], checkOf(key(i+1), versions[(i+1)%n])}
			if (round+i)%2 == 1 {
				tx[0], tx[1] = tx[1], tx[0]
			}
			errs[i] = commit(ctx, handles[i%len(handles)], tx...)
			outcomes[i] = store.OutcomeOf(errs[i])
			return nil
		})
		done := 0
		for i, outcome := range outcomes {
			checkVocabulary(t, "Commit", errs[i])
			now := get(t, handles[0], key(i))
			switch {
			case now.Version == writes[i].Version && outcome != store.NotDone:
				done++
			case now.Version == versions[i] && outcome != store.Done:
				if outcome == store.NotDone && isConflict(errs[i]) {
					conflicts++
				}
			default:
				t.Fatalf("round %d: transaction %d ended %v, its key is at %v (was %v, wrote %v)", round, i, outcome, now.Version, versions[i], writes[i].Version)
			}
			versions[i] = now.Version
		}
		if done == n || conflicts == n {
			t.Fatalf("round %d: of %d transactions that check each other %d were done and %d in conflict: %v", round, n, done, conflicts, errs)
		}
	}
}

// checkAgainstDelete lets one transaction change the data while the flag is up, and another
// take the flag down while the data is unchanged. Whoever is second is in conflict.
func checkAgainstDelete(t *testing.T, h Harness[store.Records]) {
	handles, m := openSome(t, h, 2), &mint{}
	ctx := t.Context()
	for round := range 100 {
		up := m.put(fmt.Sprintf("flag/%d", round), "up", store.Absent())
		data := m.put(fmt.Sprintf("data/%d", round), "old", store.Absent())
		mustCommit(t, handles[0], up, data)
		errs := make([]error, 2)
		together(t, 2, func(i int) error {
			tx := store.Tx{checkOf(up.Key, up.Version), m.put(data.Key, "new", store.Is(data.Version))}
			if i == 1 {
				tx = store.Tx{deleteOf(up.Key, store.Is(up.Version)), checkOf(data.Key, data.Version)}
			}
			errs[i] = commit(ctx, handles[i%len(handles)], tx...)
			return nil
		})
		changed := get(t, handles[0], data.Key).Version != data.Version
		gone := get(t, handles[0], up.Key).Missing()
		for i, applied := range []bool{changed, gone} {
			checkVocabulary(t, "Commit", errs[i])
			if outcome := store.OutcomeOf(errs[i]); outcome == store.Done && !applied || outcome == store.NotDone && applied {
				t.Fatalf("round %d: transaction %d answered %v, applied = %v", round, i, errs[i], applied)
			}
		}
		if changed && gone || isConflict(errs[0]) && isConflict(errs[1]) {
			t.Fatalf("round %d: Commits = %v and %v, want one done and one in conflict", round, errs[0], errs[1])
		}
	}
}
