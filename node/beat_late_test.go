package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

func TestDueTick(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for _, c := range []struct{ now, want int }{{0, 1000}, {999, 1000}, {1000, 1000}, {1001, 1000}, {1999, 1000}, {2000, 2000}, {3700, 3000}} {
		if got := node.DueTick(at(0), at(c.now), time.Second); !got.Equal(at(c.want)) {
			t.Errorf("at %d ms: got %v, want %d ms", c.now, got, c.want)
		}
	}
}

// A beat that hangs until its time is over is followed at once by the next one, and those after
// it come as if nothing had happened.
func TestABeatThatHangsIsFollowedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		begun := time.Now()
		_, tamper := f.start(&node.Options{Name: "a"})
		var sent []time.Duration
		tamper.set(func(store.Tx) (bool, error) {
			sent = append(sent, time.Since(begun))
			if len(sent) > 1 {
				return true, nil
			}
			time.Sleep(1010 * time.Millisecond)
			return false, store.ErrUnknown
		})
		time.Sleep(4500 * time.Millisecond)
		synctest.Wait()
		want := []time.Duration{1000 * time.Millisecond, 2010 * time.Millisecond, 3 * time.Second, 4 * time.Second}
		for i, at := range want {
			if i >= len(sent) || sent[i] != at {
				t.Fatalf("beats were sent at %v, want %v", sent, want)
			}
		}
	})
}
