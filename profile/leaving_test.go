package profile_test

import (
	"context"
	"testing"

	"github.com/shoalworks/shoal/profile"
)

func TestLeaveHooksKnowWhy(t *testing.T) {
	for want, leave := range map[profile.Reason]func(t *testing.T, a, b *server, s *profile.Session){
		profile.Released: func(t *testing.T, _, _ *server, s *profile.Session) {
			if err := s.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		profile.HandedOver: func(t *testing.T, _, b *server, _ *profile.Session) {
			if _, err := b.Load(t.Context(), "u", nil); err != nil {
				t.Fatal(err)
			}
		},
		profile.Closed: func(t *testing.T, a, _ *server, _ *profile.Session) {
			if _, err := a.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(want.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b := f.start("a", nil), f.start("b", nil)
				got := make(chan profile.Reason, 1)
				a.OnLeave(func(_ context.Context, s *profile.Session) { got <- s.Leaving() })
				s, err := a.Load(t.Context(), "u", nil)
				if err != nil {
					t.Fatal(err)
				}
				if s.Leaving() != 0 {
					t.Errorf("a live session is leaving: %v", s.Leaving())
				}
				leave(t, a, b, s)
				if why := <-got; why != want {
					t.Errorf("the hook was told %v, want %v", why, want)
				}
				<-s.Done()
				if s.Leaving() != 0 {
					t.Errorf("an ended session is leaving: %v", s.Leaving())
				}
			})
		})
	}
}
