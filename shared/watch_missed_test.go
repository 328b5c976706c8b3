package shared_test

import (
	"context"
	"testing"
	"time"

	"github.com/shoalworks/shoal/shared"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A watch that relies on messages alone hears of a change although the read that the message
// asked for failed.
func TestAWatchWithoutPollingReadsAgainWhatItMissed(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", &shared.Options{PollEvery: -1})
		w := watch(t, b, "g")
		next(t, w)
		time.Sleep(10 * time.Second) // subscribed
		b.faults.SetRule(faultstore.Nth(1, about("g"), faultstore.Fault{Kind: faultstore.FailBefore}))
		a.add("g", "")
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if got, err := w.Next(ctx); err != nil || count(got.Data) != 1 {
			t.Errorf("%+v, %v after %v", got, err, time.Since(begun))
		}
	})
}
