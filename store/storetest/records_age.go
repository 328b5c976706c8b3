package storetest

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// grain is how much coarser than the caller's clock a store's may be.
const grain = 20 * time.Millisecond

func ageCases() []recordsCase {
	return []recordsCase{
		{name: "is not longer than since the write was sent", run: ageBounded},
		{name: "grows", run: ageGrows},
		{name: "restarts with each write", run: ageRestarts},
		{name: "goes on when nothing is written", run: ageGoesOn},
		{name: "is the same from every handle", run: ageShared},
		{name: "is the same in a scan", run: ageScanned, needs: scans},
		{name: "of records written apart differs by the time between", run: agesApart},
		{name: "now is UTC and goes on", run: nowAdvances},
	}
}

// older reads the key, which nobody writes, until its Age is above d. Whatever it was before,
// it is at least the time since then.
func older(t *testing.T, r store.Records, key string, d time.Duration) time.Duration {
	t.Helper()
	for start := time.Now(); ; {
		least := time.Since(start) - grain
		rec := get(t, r, key)
		if rec.Missing() || rec.Age < 0 || rec.Age < least {
			t.Fatalf("Age of %s is %v at version %v, want %v or more", key, rec.Age, rec.Version, max(0, least))
		}
		if rec.Age > d {
			return rec.Age
		}
	}
}

// ageBounded compares with the caller's own clock, which started before the write and is
// read after the Get.
func ageBounded(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	for range 50 {
		sent := time.Now()
		mustCommit(t, r, m.put("key", "value", store.Any()))
		age := get(t, r, "key").Age
		if since := time.Since(sent); age < 0 || age > since+grain {
			t.Fatalf("Age %v, %v after the write was sent", age, since)
		}
	}
	if rec := get(t, r, "missing"); rec.Age != 0 {
		t.Fatalf("a missing record has Age %v, want 0", rec.Age)
	}
}

func ageGrows(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	mustCommit(t, r, m.put("key", "value", store.Absent()))
	last := time.Duration(0)
	for range 5 {
		last = older(t, r, "key", last)
	}
}

func ageRestarts(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	w := m.put("key", "value", store.Absent())
	mustCommit(t, r, w)
	for _, again := range []func() []store.Write{
		func() []store.Write { return []store.Write{m.put("key", "other", store.Is(w.Version))} },
		func() []store.Write { return []store.Write{m.put("key", "other", store.Any())} }, // the same value
		func() []store.Write {
			mustCommit(t, r, deleteOf("key", store.Any()))
			return []store.Write{m.put("key", "other", store.Absent())}
		},
	} {
		older(t, r, "key", 3*grain)
		sent := time.Now()
		mustCommit(t, r, again()...)
		age := get(t, r, "key").Age
		if since := time.Since(sent); age > since+grain {
			t.Fatalf("Age %v, %v after a write over an older one was sent", age, since)
		}
	}
}

// ageGoesOn reads, checks, fails to write and writes other keys.
func ageGoesOn(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	w := m.put("key", "value", store.Absent())
	mustCommit(t, r, w)
	before := older(t, r, "key", 2*grain)
	mustCommit(t, r, checkOf("key", w.Version))
	wantConflict(t, "put", commit(t.Context(), r, m.put("key", "x", store.Absent())), "key")
	wantConflict(t, "delete", commit(t.Context(), r, deleteOf("key", store.Is(w.Version+1))), "key")
	mustCommit(t, r, m.put("other", "x", store.Absent()))
	if after := get(t, r, "key").Age; after+grain < before {
		t.Fatalf("Age went from %v to %v although nothing was written", before, after)
	}
}

// ageShared reads through one handle after the other: no Age is below an earlier one.
func ageShared(t *testing.T, h Harness[store.Records]) {
	handles, m := openSome(t, h, 3), &mint{}
	mustCommit(t, handles[0], m.put("key", "value", store.Absent()))
	last := time.Duration(0)
	for i := range 200 {
		age := get(t, handles[i%len(handles)], "key").Age
		if age+time.Millisecond < last {
			t.Fatalf("Age %v from handle %d after %v from the one before", age, i%len(handles), last)
		}
		last = max(last, age)
	}
	older(t, handles[0], "key", 3*grain)
	sent := time.Now()
	mustCommit(t, handles[len(handles)-1], m.put("key", "again", store.Any()))
	for i, r := range handles {
		age := get(t, r, "key").Age
		if since := time.Since(sent); age > since+grain {
			t.Fatalf("handle %d: Age %v, %v after another handle's write was sent", i, age, since)
		}
	}
}

func ageScanned(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	mustCommit(t, r, m.put("key", "value", store.Absent()))
	low := older(t, r, "key", 2*grain)
	all := collect(t, r.Scan(t.Context(), store.Range{}))
	high := get(t, r, "key").Age
	if len(all) != 1 || all[0].Age+time.Millisecond < low || all[0].Age > high+time.Millisecond {
		t.Fatalf("Scan between two Gets of Age %v and %v yields %+v", low, high, all)
	}
}

// agesApart reads two records in one Get, as the verdict on a node does with its own beat.
func agesApart(t *testing.T, h Harness[store.Records]) {
	r, m := open(t, h), &mint{}
	firstSent := time.Now()
	mustCommit(t, r, m.put("first", "value", store.Absent()))
	firstDone := time.Now()
	older(t, r, "first", 3*grain)
	secondSent := time.Now()
	mustCommit(t, r, m.put("second", "value", store.Absent()))
	secondDone := time.Now()
	found, err := r.Get(t.Context(), "first", "second")
	ok(t, "Get", err)
	apart := found[0].Age - found[1].Age
	if least, most := secondSent.Sub(firstDone)-grain, secondDone.Sub(firstSent)+grain; apart < least || apart > most {
		t.Fatalf("Ages are %v apart, the writes were between %v and %v apart", apart, least, most)
	}
}

func nowAdvances(t *testing.T, h Harness[store.Records]) {
	r := open(t, h)
	first, err := r.Now(t.Context())
	ok(t, "Now", err)
	if first.Location() != time.UTC || first.Year() < 2000 {
		t.Fatalf("Now = %v, want a time in UTC", first)
	}
	for start := time.Now(); ; {
		since := time.Since(start)
		next, err := r.Now(t.Context())
		ok(t, "Now", err)
		if next.After(first) {
			return
		}
		if since > 50*grain {
			t.Fatalf("Now is %v, and %v later %v", first, since, next)
		}
	}
}
