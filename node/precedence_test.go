package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Bulk work waits for a beat that takes long, and for no other.
func TestASlowBeatGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		tamper.set(func(store.Tx) (bool, error) {
			time.Sleep(700 * time.Millisecond)
			return true, nil
		})
		begun := time.Now()
		waited := func(at time.Duration, ctx context.Context) time.Duration {
			time.Sleep(at - time.Since(begun))
			from, slow := time.Now(), a.BeatIsSlow()
			a.GiveWay(ctx)
			if took := time.Since(from); slow != (took > 0) {
				t.Errorf("at %v a beat is slow: %v", at, slow)
			}
			return time.Since(from)
		}
		for _, c := range []struct{ at, want time.Duration }{
			{500 * time.Millisecond, 0},                       // no beat
			{1100 * time.Millisecond, 0},                      // a young one
			{1126 * time.Millisecond, 574 * time.Millisecond}, // a slow one
			{1750 * time.Millisecond, 0},                      // answered
			{2400 * time.Millisecond, 300 * time.Millisecond}, // the next
		} {
			if got := waited(c.at, t.Context()); got != c.want {
				t.Errorf("at %v it waited for %v, want %v", c.at, got, c.want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3450*time.Millisecond-time.Since(begun))
		defer cancel()
		if got := waited(3400*time.Millisecond, ctx); got != 50*time.Millisecond {
			t.Errorf("it waited for %v beyond its context", got-50*time.Millisecond)
		}
	})
}
