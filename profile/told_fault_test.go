package profile_test

import (
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
