package profile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Mail goes whatever its sender has called it: only the row about the erasure itself stays.
func TestEraseRemovesMailWhateverItsID(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		release(t, s)
		a.send("u", coinMail("about-erased", 5))
		out, err := a.Erase(t.Context(), "u", ann, nil)
		if err != nil || out.Mail != 1 || len(f.box("u")) != 0 {
			t.Errorf("%+v, %v, box %v", out, err, f.box("u"))
		}
	})
}

// Mail that comes while the game's own functions erase does not wait for the next player.
func TestEraseRemovesMailThatCameMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		release(t, a.load("u", nil))
		a.OnErase(func(context.Context, string) error {
			b.send("u", coinMail("m", 5))
			return nil
		})
		if out, err := a.Erase(t.Context(), "u", ann, nil); err != nil || !out.Done || len(f.box("u")) != 0 {
			t.Errorf("%+v, %v, box %v", out, err, f.box("u"))
		}
	})
}

// An erasure is asked for again, to be sure, while the player begins anew elsewhere: the new
// profile stays whole, or goes as a whole.
func TestASecondEraseDoesNotRobANewPlayer(t *testing.T) {
	for _, first := range []string{"erased", "never there"} {
		t.Run(first, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b := f.start("a", nil), f.start("b", nil)
				if first == "erased" {
					release(t, a.load("u", nil))
					if _, err := a.Erase(t.Context(), "u", ann, nil); err != nil {
						t.Fatal(err)
					}
				}
				var s *profile.Session
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					if s == nil && c.Op == "scan" && strings.HasPrefix(c.Keys[0], "audit/") {
						s = b.load("u", nil)
						award(t, s, ann, 7)
						save(t, s)
					}
					return faultstore.Fault{}
				})
				if _, err := a.Erase(t.Context(), "u", ann, nil); err != nil {
					t.Fatal(err)
				}
				a.faults.SetRule(nil)
				time.Sleep(5 * time.Second)
				log, err := b.Audit(t.Context(), "u", nil)
				if err != nil {
					t.Fatal(err)
				}
				if s.Reason() == 0 && !slices.ContainsFunc(log, func(e profile.AuditEntry) bool { return e.Revision == 1 }) {
					t.Errorf("the session lives on with %v, without its audit log: %v", s.Data(), log)
				}
				if s.Reason() != 0 && !strings.Contains(string(f.durable(profileKey("u")).Value), `"erased":"`) {
					t.Errorf("half erased: %+v", f.stored("u"))
				}
			})
		})
	}
}
