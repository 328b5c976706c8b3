package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// process is one store of a fleet, closed with the test.
func process(t *testing.T, e *memstore.Engine) *store.Store {
	t.Helper()
	s, err := e.Store()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// put stores value under key.
func put(t *testing.T, r store.Records, key, value string, c store.Condition, v store.Version) { //nolint:revive // what a write is made of
	t.Helper()
	if err := r.Commit(t.Context(), store.Tx{{Key: key, Op: store.Put, Value: []byte(value), If: c, Version: v}})[0]; err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// get reads one record.
func get(t *testing.T, r store.Records, key string) store.Record {
	t.Helper()
	found, err := r.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// keys is what a scan of everything yields.
func keys(t *testing.T, r store.Records) string {
	t.Helper()
	text := ""
	for rec, err := range r.Scan(t.Context(), store.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		text += rec.Key + "=" + string(rec.Value) + " "
	}
	return text
}

func score(t *testing.T, b store.Boards, key string, n int64) {
	t.Helper()
	if _, err := b.Merge(t.Context(), "board", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: key, Score: n}}}); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, b store.Boards, board, generation string) store.BoardInfo {
	t.Helper()
	info, err := b.Create(t.Context(), board, store.BoardSpec{Order: store.Descending, Generation: generation})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func standings(t *testing.T, b store.Boards, board string) string {
	t.Helper()
	page, err := b.Page(t.Context(), board, 0, store.MaxPage, store.Ordinal)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprint(page.Info.Generation, ":")
	for _, s := range page.Entries {
		text += fmt.Sprintf(" %d.%s=%d", s.Rank, s.Key, s.Score)
	}
	return text
}

func TestDurableAndFastApart(t *testing.T) {
	for _, apart := range []bool{false, true} {
		s := process(t, memstore.New(&memstore.Options{Apart: apart}))
		if s.OneRecords() == apart {
			t.Errorf("apart %v: OneRecords = %v", apart, s.OneRecords())
		}
		put(t, s.Durable(), "key", "durable", store.Absent(), 1)
		if missing := get(t, s.Fast(), "key").Missing(); missing != apart {
			t.Errorf("apart %v: missing in the fast records: %v", apart, missing)
		}
	}
}

func TestProcessesShareTheMemory(t *testing.T) {
	e := memstore.New(nil)
	a, b := process(t, e), process(t, e)
	put(t, a.Durable(), "key", "value", store.Absent(), 1)
	if got := string(get(t, b.Durable(), "key").Value); got != "value" {
		t.Errorf("the other process reads %q", got)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Durable().Get(t.Context(), "key"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the closed one answers %v", err)
	}
	put(t, b.Durable(), "key", "more", store.Is(1), 2)
}

func TestAbilities(t *testing.T) {
	for single, want := range map[bool]store.Abilities{false: {MultiKey: true, Scan: true}, true: {Scan: true}} {
		s := process(t, memstore.New(&memstore.Options{SingleKey: single}))
		if got := s.Durable().Abilities(); got != want {
			t.Errorf("SingleKey %v: %+v, want %+v", single, got, want)
		}
	}
}

func TestForgetTheNamedParts(t *testing.T) {
	for parts, want := range map[memstore.Part]string{
		0:                                "durable fast boards",
		memstore.Durable:                 "fast boards",
		memstore.Fast:                    "durable boards",
		memstore.Boards:                  "durable fast",
		memstore.Fast | memstore.Boards:  "durable",
		memstore.All:                     "",
		memstore.Durable | memstore.Fast: "boards",
	} {
		e := memstore.New(&memstore.Options{Apart: true})
		s := process(t, e)
		put(t, s.Durable(), "key", "value", store.Absent(), 1)
		put(t, s.Fast(), "key", "value", store.Absent(), 2)
		create(t, s.Boards(), "board", "first")
		e.Forget(parts)
		var left []string
		for part, r := range map[string]store.Records{"durable": s.Durable(), "fast": s.Fast()} {
			if here := !get(t, r, "key").Missing(); here != (keys(t, r) != "") {
				t.Errorf("forget %d: Get and Scan of %s disagree", parts, part)
			} else if here {
				left = append(left, part)
			}
		}
		if len(left) == 2 {
			left = []string{"durable", "fast"}
		}
		if _, err := s.Boards().Info(t.Context(), "board"); err == nil {
			left = append(left, "boards")
		} else if !errors.Is(err, store.ErrNoBoard) {
			t.Error(err)
		}
		if got := fmt.Sprint(left); got != "["+want+"]" {
			t.Errorf("forget %d: left are %s, want [%s]", parts, got, want)
		}
		put(t, s.Fast(), "other", "value", store.Absent(), 3) // the handles go on
	}
}

// A board that lost its memory and was made anew has another generation, and the old
// versions of records open no door.
func TestLifeAfterForgetting(t *testing.T) {
	e := memstore.New(nil)
	s := process(t, e)
	put(t, s.Durable(), "key", "value", store.Absent(), 1)
	create(t, s.Boards(), "board", "first")
	score(t, s.Boards(), "a", 5)
	e.Forget(memstore.All)
	tx := store.Tx{{Key: "key", Op: store.Put, Value: []byte("x"), If: store.Is(1), Version: 2}}
	if err := s.Durable().Commit(t.Context(), tx)[0]; !errors.Is(err, store.ErrConflict) {
		t.Errorf("Commit = %v, want conflict", err)
	}
	if info := create(t, s.Boards(), "board", "second"); info.Generation != "second" || info.Count != 0 {
		t.Errorf("the board made anew is %+v", info)
	}
}

func TestRestoreGoesBack(t *testing.T) {
	e := memstore.New(&memstore.Options{Apart: true})
	s := process(t, e)
	put(t, s.Durable(), "b", "1", store.Absent(), 1)
	put(t, s.Durable(), "c", "1", store.Absent(), 2)
	put(t, s.Fast(), "b", "fast", store.Absent(), 3)
	create(t, s.Boards(), "board", "first")
	score(t, s.Boards(), "x", 5)
	score(t, s.Boards(), "y", 5)
	before := e.Snapshot(memstore.Durable | memstore.Boards)

	change := func() {
		put(t, s.Durable(), "a", "2", store.Any(), 4)
		put(t, s.Durable(), "b", "2", store.Any(), 5)
		if err := s.Durable().Commit(t.Context(), store.Tx{{Key: "c", Op: store.Delete}})[0]; err != nil {
			t.Fatal(err)
		}
		put(t, s.Fast(), "b", "later", store.Any(), 6)
		score(t, s.Boards(), "x", 9)
		score(t, s.Boards(), "z", 7)
		create(t, s.Boards(), "new", "first")
		if _, err := s.Boards().Seal(t.Context(), "board"); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a snapshot can be restored many times
		change()
		if got := keys(t, s.Durable()); got != "a=2 b=2 " {
			t.Fatalf("records %q", got)
		}
		e.Restore(before)
		if got := keys(t, s.Durable()); got != "b=1 c=1 " || get(t, s.Durable(), "b").Version != 1 {
			t.Errorf("restored records %q", got)
		}
		if got := string(get(t, s.Fast(), "b").Value); got != "later" {
			t.Errorf("the fast records, which are not in it, have %q", got)
		}
		if got := standings(t, s.Boards(), "board"); got != "first: 1.x=5 2.y=5" {
			t.Errorf("restored board %q", got)
		}
		if _, err := s.Boards().Info(t.Context(), "new"); !errors.Is(err, store.ErrNoBoard) {
			t.Errorf("a board of later: %v", err)
		}
	}
	put(t, s.Durable(), "b", "3", store.Is(1), 7)
	score(t, s.Boards(), "y", 6) // neither sealed nor shared with the snapshot
	e.Restore(before)
	if got := standings(t, s.Boards(), "board"); got != "first: 1.x=5 2.y=5" {
		t.Errorf("restored board %q", got)
	}
}

// Stamps, numbers of sums and sequences are in a snapshot, and the next life of the board
// does not reach into it.
func TestSnapshotHoldsAllOfABoard(t *testing.T) {
	e := memstore.New(nil)
	b := process(t, e).Boards()
	create(t, b, "board", "first")
	merge := func(batch store.Batch) store.Effect {
		t.Helper()
		changes, err := b.Merge(t.Context(), "board", batch)
		if err != nil {
			t.Fatal(err)
		}
		return changes[0].Effect
	}
	lastAt := func(revision uint64, n int64) store.Effect {
		return merge(store.Batch{Rule: store.Last, Entries: []store.Submission{{Key: "k", Score: n, Stamp: store.Stamp{Revision: revision}, Meta: []byte("meta")}}})
	}
	sumAt := func(n uint64) store.Effect {
		return merge(store.Batch{Rule: store.Sum, Source: "s", N: n, Entries: []store.Submission{{Key: "sum", Score: 1}}})
	}
	lastAt(5, 50)
	sumAt(3)
	snapshot := e.Snapshot(memstore.Boards)
	want, err := b.Page(t.Context(), "board", 0, 10, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	lastAt(6, 50) // the score stays, the stamp does not
	lastAt(9, 90)
	sumAt(7)
	e.Restore(snapshot)
	got, err := b.Page(t.Context(), "board", 0, 10, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if e := lastAt(5, 1); e != store.Kept {
		t.Errorf("the stamp that it has: %v", e)
	}
	if e := sumAt(3); e != store.Kept {
		t.Errorf("the number that it has: %v", e)
	}
	if last, sum := lastAt(6, 60), sumAt(4); last != store.Changed || sum != store.Changed {
		t.Errorf("later ones: %v and %v", last, sum)
	}
}

func TestAgesAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(nil)
		s := process(t, e)
		begun := time.Now()
		put(t, s.Durable(), "a", "1", store.Absent(), 1)
		time.Sleep(time.Minute)
		put(t, s.Durable(), "b", "1", store.Absent(), 2)
		time.Sleep(time.Second)
		for key, want := range map[string]time.Duration{"a": 61 * time.Second, "b": time.Second, "c": 0} {
			if age := get(t, s.Durable(), key).Age; age != want {
				t.Errorf("Age of %s is %v, want %v", key, age, want)
			}
		}
		now, err := s.Durable().Now(t.Context())
		if want := begun.Add(61 * time.Second); err != nil || !now.Equal(want) || now.Location() != time.UTC {
			t.Errorf("Now = %v, %v, want %v", now, err, want)
		}
	})
}

// StepClock moves one map's clock: everything in it ages at once, or nothing does.
func TestStepClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(&memstore.Options{Apart: true})
		s := process(t, e)
		ages := func() (durable, fast time.Duration) {
			return get(t, s.Durable(), "key").Age, get(t, s.Fast(), "key").Age
		}
		want := func(what string, wantDurable, wantFast time.Duration) {
			t.Helper()
			if durable, fast := ages(); durable != wantDurable || fast != wantFast {
				t.Errorf("%s: Ages %v and %v, want %v and %v", what, durable, fast, wantDurable, wantFast)
			}
		}
		put(t, s.Durable(), "key", "1", store.Absent(), 1)
		put(t, s.Fast(), "key", "1", store.Absent(), 2)
		time.Sleep(time.Second)
		e.StepClock(memstore.Fast, 10*time.Second)
		want("forward", time.Second, 11*time.Second)
		put(t, s.Fast(), "key", "2", store.Any(), 3)
		want("written after", time.Second, 0)
		e.StepClock(memstore.Fast, -10*time.Second)
		want("back", time.Second, 0) // never below 0
		time.Sleep(4 * time.Second)
		want("still behind", 5*time.Second, 0)
		time.Sleep(7 * time.Second)
		want("ahead again", 12*time.Second, time.Second)
		e.StepClock(memstore.All, time.Hour)
		want("both", time.Hour+12*time.Second, time.Hour+time.Second)
		durable, err := s.Durable().Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fast, err := s.Fast().Now(t.Context())
		if err != nil || durable.Sub(fast) != 0 {
			t.Errorf("Now is %v and %v, %v", durable, fast, err)
		}
	})
}

// With one map for both parts the clock steps once.
func TestStepClockOfOneMap(t *testing.T) {
	for _, parts := range []memstore.Part{memstore.All, memstore.Durable, memstore.Fast} {
		synctest.Test(t, func(t *testing.T) {
			e := memstore.New(nil)
			s := process(t, e)
			put(t, s.Durable(), "key", "1", store.Absent(), 1)
			e.StepClock(parts, time.Minute)
			if age := get(t, s.Fast(), "key").Age; age != time.Minute {
				t.Errorf("parts %d: Age %v, want 1m", parts, age)
			}
		})
	}
}

// fixed is a clock that tells one time.
type fixed struct {
	clock.Clock
	now time.Time
}

func (f *fixed) Now() time.Time { return f.now }

func TestClockIsTheMachines(t *testing.T) {
	c := &fixed{clock.System(), time.Date(2026, 8, 11, 0, 0, 0, 0, time.FixedZone("elsewhere", 3600))}
	s := process(t, memstore.New(&memstore.Options{Clock: c}))
	put(t, s.Durable(), "key", "1", store.Absent(), 1)
	c.now = c.now.Add(time.Minute)
	if age := get(t, s.Durable(), "key").Age; age != time.Minute {
		t.Errorf("Age %v, want 1m", age)
	}
	if now, err := s.Durable().Now(t.Context()); err != nil || now != time.Date(2026, 8, 10, 23, 1, 0, 0, time.UTC) {
		t.Errorf("Now = %v, %v", now, err)
	}
}
