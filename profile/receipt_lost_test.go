package profile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// The answer of a grant's write is lost, and another node takes the session before it can be
// read back: whether it was granted is unknown here, and is not denied. The next delivery, to
// the new holder, finds out, and grants if it was not.
func TestAGrantWhoseSessionIsTakenIsUnknown(t *testing.T) {
	for kind, applied := range map[faultstore.Kind]bool{faultstore.HangApplied: true, faultstore.Hang: false} {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.start("a", nil), f.start("b", nil)
			s := a.load("u", nil)
			time.Sleep(5 * time.Second)
			a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
				switch {
				case on("commit", "profile/")(c):
					return faultstore.Fault{Kind: kind}
				case on("get", "profile/")(c), on("get", "receipt/")(c) && s.Revision() > 0:
					return faultstore.Fault{Kind: faultstore.Hang}
				}
				return faultstore.Fault{}
			})
			answer := make(chan error, 1)
			go func() {
				_, err := deliver(context.Background(), s, "r1")
				answer <- err
			}()
			time.Sleep(time.Millisecond)
			a.faults.Outage(faultstore.Fast|faultstore.Bus, true)
			next := b.load("u", nil)
			a.faults.SetRule(nil)
			a.faults.Outage(faultstore.Fast|faultstore.Bus, false)
			if err := <-answer; !errors.Is(err, store.ErrUnknown) || s.Reason() != profile.Lost {
				t.Errorf("applied %v: %v; the session is %v", applied, err, s.Reason())
			}
			g, err := deliver(t.Context(), next, "r1")
			if err != nil || g.Repeated != applied || coins(next.Data()) != 10 {
				t.Errorf("applied %v: %+v, %v, %v", applied, g, err, next.Data())
			}
		})
	}
}
