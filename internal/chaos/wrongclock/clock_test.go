package wrongclock_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/chaos/wrongclock"
)

// right is the right time, which the test moves. Its times have a monotonic part, as those of
// the system outside of a bubble.
type right struct {
	clock.Clock

	now time.Time
}

func newRight() *right { return &right{clock.System(), clock.System().Now()} }

func (r *right) Now() time.Time { return r.now }

func (r *right) pass(d time.Duration) { r.now = r.now.Add(d) }

// wall is a time without its monotonic part.
func wall(t time.Time) time.Time { return t.Round(0) }

func TestAStepMovesTheWallAlone(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{
		time.Hour, -time.Hour, 7*time.Minute + 123456789*time.Nanosecond, -time.Nanosecond, 999999999 * time.Nanosecond, 0,
	} {
		r, dial := newRight(), wrongclock.Dial(filepath.Join(t.TempDir(), "dial"))
		c := wrongclock.New(r, dial)
		before := c.Now()
		if err := dial.Turn(by); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		after := c.Now()
		if got := after.Sub(before); got != time.Second {
			t.Errorf("step by %v: %v passed, want a second", by, got)
		}
		if got := wall(after).Sub(wall(before)); got != time.Second+by {
			t.Errorf("step by %v: the wall moved by %v, want %v", by, got, time.Second+by)
		}
		if !after.After(before) || after.Equal(before) {
			t.Errorf("step by %v: the later time is not after the earlier one", by)
		}
		if got := after.Add(time.Minute).Sub(r.Now()); got != time.Minute {
			t.Errorf("step by %v: a deadline in a minute is %v away", by, got)
		}
	}
}

func TestTheClockFollowsItsDial(t *testing.T) {
	t.Parallel()
	r, path := newRight(), filepath.Join(t.TempDir(), "dial")
	dial := wrongclock.Dial(path)
	if err := dial.Turn(-2 * time.Hour); err != nil {
		t.Fatal(err)
	}
	c := wrongclock.New(r, dial)
	off := func(want time.Duration) {
		t.Helper()
		if got := wall(c.Now()).Sub(wall(r.Now())); got != want {
			t.Errorf("off by %v, want %v", got, want)
		}
	}
	off(-2 * time.Hour) // from its first answer on
	if err := dial.Turn(3 * time.Minute); err != nil {
		t.Fatal(err)
	}
	off(-2 * time.Hour) // it does not look all the time
	r.pass(20 * time.Millisecond)
	off(3 * time.Minute)
	if err := os.WriteFile(path, []byte("soon"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Second)
	off(3 * time.Minute) // what cannot be read changes nothing
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Second)
	off(3 * time.Minute)
}

func TestWithoutADialTheClockIsRight(t *testing.T) {
	t.Parallel()
	r := newRight()
	c := wrongclock.New(r, wrongclock.Dial(filepath.Join(t.TempDir(), "dial")))
	if got := c.Now(); !got.Equal(r.now) || got.String() != r.now.String() {
		t.Errorf("%v, want %v", got, r.now)
	}
	r.now = wall(r.now)
	if got := c.Now(); got != r.now {
		t.Errorf("%v, want %v", got, r.now)
	}
}
