package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// beatsSent counts the beats of a node for a while; each does what fate says of the n-th.
func beatsSent(t *testing.T, d time.Duration, fate func(n int) (bool, error)) (sent int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		_, tamper := f.start(&node.Options{Name: "a"})
		begun := time.Now()
		tamper.set(func(store.Tx) (bool, error) {
			if time.Since(begun) > d {
				return true, nil
			}
			sent++
			return fate(sent)
		})
		time.Sleep(d)
		synctest.Wait()
	})
	return sent
}

// Beats that fail are no storm: none is sent more often than once a period, and twice again.
func TestBeatsThatFailAreNoStorm(t *testing.T) {
	slow := func(d time.Duration) func(int) (bool, error) {
		return func(int) (bool, error) {
			time.Sleep(d)
			return false, store.ErrUnknown
		}
	}
	const periods = 100
	for name, c := range map[string]struct {
		fate func(n int) (bool, error)
		most int
	}{
		"at once":            {slow(0), 3 * periods},
		"refused":            {func(int) (bool, error) { return false, store.ErrUnavailable }, 3 * periods},
		"landed, and lost":   {func(int) (bool, error) { return true, store.ErrUnknown }, 6 * periods},
		"just within time":   {slow(990 * time.Millisecond), periods},
		"use up all of it":   {slow(1010 * time.Millisecond), periods},
		"and more than that": {slow(2500 * time.Millisecond), periods},
	} {
		t.Run(name, func(t *testing.T) {
			if n := beatsSent(t, periods*time.Second, c.fate); n > c.most || n < periods/3 {
				t.Errorf("%d beats in %d periods, want at most %d", n, periods, c.most)
			}
		})
	}
}

// A process that slept for an hour sends one beat at once, and not those that it has missed.
func TestBeatsThatWereSleptThroughAreNotMadeUpFor(t *testing.T) {
	const after = 20
	n := beatsSent(t, time.Hour+after*time.Second, func(n int) (bool, error) {
		if n == 1 {
			time.Sleep(time.Hour)
		}
		return true, nil
	})
	if n < after || n > after+3 {
		t.Errorf("%d beats, want %d", n, after+2)
	}
}
