package sqlitestore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// stepped is the system's clock, some steps away.
type stepped struct {
	clock.Clock
	host *host
}

func (s stepped) Now() time.Time {
	return s.Clock.Now().Add(s.host.step + time.Duration(s.host.turned.Load()+s.host.passed.Load()))
}

// host is a machine with clocks that a test sets.
type host struct {
	boot   string
	up     time.Duration // since the boot
	step   time.Duration // of the wall clock, away from the system's
	passed atomic.Int64  // what has passed on both, while others look
	turned atomic.Int64  // by how much the wall clock was turned, while others look
}

// pass lets time go by.
func (h *host) pass(d time.Duration) { h.passed.Add(int64(d)) }

// turn sets how far the wall clock is off.
func (h *host) turn(off time.Duration) { h.turned.Store(int64(off)) }

func (h *host) open(t *testing.T, folder string) *sqlitestore.Engine {
	t.Helper()
	e, err := sqlitestore.OpenBooted(t.Context(), folder, &sqlitestore.Options{
		Clock: stepped{Clock: clock.System(), host: h},
	}, h.boot, func() time.Duration { return h.up + time.Duration(h.passed.Load()) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return e
}

// ageOf is the age that Get and Scan agree on.
func ageOf(t *testing.T, e *sqlitestore.Engine, key string) time.Duration {
	t.Helper()
	got, err := e.Durable().Get(t.Context(), key)
	if err != nil || got[0].Missing() {
		t.Fatalf("Get = %v, %v", got, err)
	}
	for record, err := range e.Durable().Scan(t.Context(), storeRange(key)) {
		if err != nil || (record.Age-got[0].Age).Abs() > time.Second {
			t.Fatalf("Scan says %v (%v), Get %v", record.Age, err, got[0].Age)
		}
	}
	return got[0].Age
}

// A wall clock that steps does not change an age, in either direction.
func TestAgeIgnoresTheWallClock(t *testing.T) {
	h := &host{boot: "first", up: time.Hour}
	e := h.open(t, t.TempDir())
	put(t, e.Durable(), "a", "1", 1)
	h.pass(3 * time.Second)
	for _, step := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
		h.turn(step)
		if age := ageOf(t, e, "a"); age != 3*time.Second {
			t.Errorf("with the wall clock stepped by %v the age is %v, want 3s", step, age)
		}
	}
	h.pass(-time.Minute) // no such clock, but an age is never negative
	if age := ageOf(t, e, "a"); age != 0 {
		t.Errorf("age %v, want 0", age)
	}
}

// After a boot only the wall clock knows how old a record is.
func TestAgeAcrossBoots(t *testing.T) {
	folder := t.TempDir()
	h := &host{boot: "first", up: time.Hour}
	e := h.open(t, folder)
	put(t, e.Durable(), "a", "1", 1)
	next := &host{boot: "second", up: time.Minute, step: 10 * time.Minute}
	if age := ageOf(t, next.open(t, folder), "a"); age < 10*time.Minute || age > 11*time.Minute {
		t.Errorf("age %v, want the wall clock's 10m", age)
	}
	next.turn(-70 * time.Minute) // an hour before
	if age := ageOf(t, next.open(t, folder), "a"); age != 0 {
		t.Errorf("age %v with a wall clock before the write, want 0", age)
	}
}

// A host without a boot clock judges by the wall clock.
func TestAgeWithoutABootClock(t *testing.T) {
	h := &host{}
	e := h.open(t, t.TempDir())
	put(t, e.Durable(), "a", "1", 1)
	h.turn(time.Hour)
	if age := ageOf(t, e, "a"); age < time.Hour || age > time.Hour+time.Minute {
		t.Errorf("age %v, want 1h", age)
	}
}

// The host's own clock: the age grows, by no more than what passes here.
func TestAgeOfTheHost(t *testing.T) {
	start := time.Now()
	e := open(t, t.TempDir(), nil)
	put(t, e.Durable(), "a", "1", 1)
	first := ageOf(t, e, "a")
	second := ageOf(t, e, "a")
	if first < 0 || second < first || second > time.Since(start) {
		t.Errorf("ages %v and %v within %v", first, second, time.Since(start))
	}
}

func TestNowIsTheWallClock(t *testing.T) {
	h := &host{boot: "b", step: -48 * time.Hour}
	e := h.open(t, t.TempDir())
	now, err := e.Durable().Now(t.Context())
	if off := time.Since(now) - 48*time.Hour; err != nil || now.Location() != time.UTC || off.Abs() > time.Minute {
		t.Fatalf("Now = %v, %v", now, err)
	}
}
