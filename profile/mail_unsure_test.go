package profile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A send whose first try may have landed does not say that nothing was sent.
func TestASendThatMayHaveLandedSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		release(t, b.load("u", nil))
		done := false
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if !done && c.Op == "commit" && strings.HasPrefix(c.Keys[0], "mail/") {
				done = true
				return faultstore.Fault{Kind: faultstore.Late, After: 20 * time.Second}
			}
			if done && c.Op == "get" {
				if _, err := b.Erase(t.Context(), "u", ann, nil); err != nil {
					t.Error(err)
				}
			}
			return faultstore.Fault{}
		})
		_, err := a.Send(t.Context(), "u", coinMail("m", 5))
		a.faults.SetRule(nil)
		time.Sleep(time.Minute)
		a.faults.Land()
		if len(f.box("u")) != 1 || !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%v, box %v", err, f.box("u"))
		}
	})
}
