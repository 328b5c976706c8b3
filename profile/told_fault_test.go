package profile_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// What was recovered is told also when the answer to the write was lost.
func TestRecoveredStatesAreToldAfterALostAnswer(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 1)
		b := f.start("b", journaling())
		l := listen(b)
		time.Sleep(5 * time.Second)
		a.kill()
		b.faults.SetRule(nth(1, on("commit", profileKey("u0")), faultstore.FailAfter))
		time.Sleep(90 * time.Second)
		reapedAll(t, f, 1)
		l.want(t, "reaped", "u0 5 1.2")
	})
}

func TestWhatAnOperatorFreesIsToldAfterALostAnswer(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 1)
		b := f.start("b", journaling())
		l := listen(b)
		time.Sleep(5 * time.Second)
		a.kill()
		b.faults.SetRule(nth(1, on("commit", profileKey("u0")), faultstore.FailAfter))
		if _, err := b.ReleaseHeld(t.Context(), "u0", profile.Source{}); err != nil {
			t.Fatal(err)
		}
		l.want(t, "released", "u0 5 1.2")
	})
}

// A load that has recovered a journal tells what it found, even if its caller has gone.
func TestAGivenUpLoadTellsWhatItRecovered(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a := crowd(t, f, 1)
		b := f.start("b", journaling())
		l := listen(b)
		time.Sleep(5 * time.Second)
		a.kill()
		ctx, cancel := context.WithCancel(t.Context())
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Op == "commit" && slices.Contains(c.Keys, profileKey("u0")) {
				cancel()
			}
			return faultstore.Fault{}
		})
		if s, err := b.Load(ctx, "u0", nil); err == nil {
			t.Fatalf("loaded %v", s.Key())
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		reapedAll(t, f, 1)
		got := l.take()
		if len(got) == 0 || got[0][:4] != "u0 5" {
			t.Errorf("told %q", got)
		}
	})
}
