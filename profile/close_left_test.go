package profile_test

import (
	"context"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store/faultstore"
)

// A session that Close had to leave is not released: whoever waits for the release, or asks
// for it afterwards, is not told that everything is stored.
func TestAReleaseOfWhatCloseLeftIsNoRelease(t *testing.T) {
	for name, late := range map[string]bool{"that waits": false, "afterwards": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				s := a.load("u", nil)
				add(t, s, 5)
				a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
				released := make(chan error, 1)
				if !late {
					go func() { released <- s.Release(context.Background()) }()
					time.Sleep(time.Millisecond)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				report, _ := a.Close(ctx)
				if len(report.Left) != 1 || report.Left[0].Stored {
					t.Fatalf("%+v", report)
				}
				if late {
					released <- s.Release(context.Background())
				}
				if err := <-released; err == nil {
					t.Errorf("released, and stored is %s", f.stored("u").Data)
				}
			})
		})
	}
}
