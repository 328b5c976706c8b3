package profile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// What was committed after a claim goes with it when it is refused: nobody is told that it is
// stored, however late they ask.
func TestNothingAfterARefusedClaimIsAcknowledged(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *profile.Session) error{
		"sync":                 func(ctx context.Context, s *profile.Session) error { return s.Sync(ctx) },
		"save":                 func(ctx context.Context, s *profile.Session) error { return s.Save(ctx) },
		"release":              func(ctx context.Context, s *profile.Session) error { return s.Release(ctx) },
		"release, handed over": func(ctx context.Context, s *profile.Session) error { return s.Release(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				a.OnLeave(func(context.Context, *profile.Session) { time.Sleep(2 * time.Second) })
				f.plant(f.raw.Durable(), rowKey, `{"by":"another"}`)
				a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
				claimed := make(chan error, 1)
				go func() { claimed <- grant(context.Background(), s) }()
				time.Sleep(time.Millisecond)
				add(t, s, 1)
				if err := <-claimed; !errors.Is(err, profile.ErrVoid) {
					t.Fatalf("%v", err)
				}
				if strings.Contains(name, "handed") {
					go func() { _, _ = b.Load(context.Background(), "u", nil) }()
					time.Sleep(time.Second)
				}
				if err := ask(t.Context(), s); err == nil {
					t.Errorf("acknowledged, and the profile has %v", s.Data())
				}
				<-s.Done()
			})
		})
	}
}
