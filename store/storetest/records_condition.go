package storetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func conditionCases() []recordsCase {
	return []recordsCase{
		{name: "every operation under every condition", run: everyCondition},
		{name: "versions are the writer's", run: writersVersions},
		{name: "put replaces the value and the version", run: putReplaces},
		{name: "delete and put never resurrect a version", run: neverResurrect},
		{name: "conditions of other keys do not matter", run: keysAreApart},
	}
}

// everyCondition runs each operation under each condition on a key that is missing, and on
// one that is there.
func everyCondition(t *testing.T, h Harness[store.Records]) {
	const stored, other = store.Version(7001), store.Version(7002)
	r := open(t, h)
	n := 0
	for _, present := range []bool{false, true} {
		for _, op := range []store.Op{store.Put, store.Delete, store.Check} {
			for _, c := range []struct {
				condition store.Condition
				holds     bool
			}{
				{store.Any(), true},
				{store.Absent(), !present},
				{store.Is(0), !present},
				{store.Is(stored), present},
				{store.Is(other), false},
			} {
				if v, _ := c.condition.Wants(); op == store.Check && v == 0 {
					continue // a Check takes Is(version) only
				}
				n++
				key := fmt.Sprintf("key/%d", n)
				before := store.Write{Key: key, Op: store.Put, Value: []byte("before"), Version: stored}
				if present {
					mustCommit(t, r, before)
				}
				w := store.Write{Key: key, Op: op, If: c.condition}
				if op == store.Put {
					w.Value, w.Version = []byte("after"), 7003
				}
				err := commit(t.Context(), r, w)
				what := fmt.Sprintf("%s present=%v", show(store.Tx{w}), present)
				if !c.holds {
					wantConflict(t, what, err, key)
				} else {
					want(t, what, err, nil)
				}
				switch {
				case c.holds && op == store.Put:
					wantRecord(t, r, w)
				case present && (!c.holds || op == store.Check):
					wantRecord(t, r, before)
				default:
					wantMissing(t, r, key)
				}
			}
		}
	}
}

func writersVersions(t *testing.T, h Harness[store.Records]) {
	r := open(t, h)
	for i, v := range []store.Version{1, 2, math.MaxInt32, 1 << 32, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		key := fmt.Sprintf("key/%d", i)
		first := store.Write{Key: key, Op: store.Put, Value: []byte("1"), If: store.Absent(), Version: v}
		mustCommit(t, r, first)
		wantRecord(t, r, first)
		near := v - 1
		if near == 0 {
			near = v + 1
		}
		wantConflict(t, "a version beside", commit(t.Context(), r, deleteOf(key, store.Is(near))), key)
		mustCommit(t, r, deleteOf(key, store.Is(v)))
		wantMissing(t, r, key)
	}
}

func putReplaces(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	first := m.put("key", "the same value", store.Absent())
	mustCommit(t, r, first)
	second := m.put("key", "the same value", store.Is(first.Version))
	mustCommit(t, r, second)
	wantRecord(t, r, second)
	third := m.put("key", "short", store.Any())
	mustCommit(t, r, third)
	wantRecord(t, r, third)
	fourth := m.put("key", "", store.Is(third.Version))
	mustCommit(t, r, fourth)
	wantRecord(t, r, fourth)
}

// neverResurrect deletes and puts a key many times: no version of an earlier life opens
// the door, whether the key is there or not.
func neverResurrect(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	var past []store.Version
	for range 12 {
		w := m.put("key", "alive", store.Absent())
		mustCommit(t, r, w)
		for _, v := range past {
			wantConflict(t, "put over a new life", commit(t.Context(), r, m.put("key", "stale", store.Is(v))), "key")
			wantConflict(t, "delete of a new life", commit(t.Context(), r, deleteOf("key", store.Is(v))), "key")
		}
		wantRecord(t, r, w)
		mustCommit(t, r, deleteOf("key", store.Is(w.Version)))
		past = append(past, w.Version)
		for _, v := range past {
			wantConflict(t, "put after death", commit(t.Context(), r, m.put("key", "stale", store.Is(v))), "key")
			wantConflict(t, "delete after death", commit(t.Context(), r, deleteOf("key", store.Is(v))), "key")
			wantConflict(t, "check after death", commit(t.Context(), r, checkOf("key", v)), "key")
		}
		wantMissing(t, r, "key")
	}
}

func keysAreApart(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	a, b := m.put("a", "a", store.Absent()), m.put("b", "b", store.Absent())
	mustCommit(t, r, a)
	mustCommit(t, r, b)
	wantConflict(t, "b under the version of a", commit(t.Context(), r, m.put("b", "x", store.Is(a.Version))), "b")
	mustCommit(t, r, deleteOf("a", store.Is(a.Version)))
	wantMissing(t, r, "a")
	wantRecord(t, r, b)
}
