package profile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// Whoever sends much that is refused with many words does not make the profile heavier with
// each: the newest words stay, up to a bound, and the ids of all.
func TestReasonsOfRefusalsDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.HandleMail("spam", func(context.Context, *profile.Session, profile.Mail) ([]doc.Op, error) {
			return nil, fmt.Errorf("%w: %s", profile.ErrMailRefused, strings.Repeat("\x01", 2000))
		})
		release(t, a.load("u", nil))
		const n = 300
		for i := range n {
			a.send("u", profile.Mail{ID: fmt.Sprintf("m%03d", i), Kind: "spam"})
		}
		s := a.load("u", nil)
		release(t, waitForBox(t, f, s))
		list := f.handled("u")
		if len(list) != n || len(list[n-1].Refused) < 1000 || list[0].Refused != "refused" {
			t.Fatalf("%d remembered: %.20q … %.20q", len(list), list[0].Refused, list[n-1].Refused)
		}
		if size := len(f.durable(profileKey("u")).Value); size > 40<<10+n*200 {
			t.Errorf("a record of %d bytes", size)
		}
	})
}

// waitForBox waits until all mail was dealt with.
func waitForBox(t *testing.T, f *fleet, s *profile.Session) *profile.Session {
	t.Helper()
	for range 100 {
		if len(f.box(s.Key())) == 0 {
			return s
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("left: %v", f.box(s.Key()))
	return s
}
