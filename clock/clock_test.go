package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// offset is a clock that is not the system's, so that WithTimeout takes its own path.
type offset struct{ clock.Clock }

func TestSleepEndsWithTimeOrContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, start := clock.System(), time.Now()
		if err := clock.Sleep(t.Context(), c, time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Fatalf("Sleep = %v after %v, want nil after 1h", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start = time.Now()
		if err := clock.Sleep(ctx, c, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Fatalf("Sleep = %v after %v, want deadline exceeded after 1m", err, time.Since(start))
		}
	})
}

func TestWithTimeoutFollowsTheClock(t *testing.T) {
	for name, c := range map[string]clock.Clock{"system": clock.System(), "own": offset{clock.System()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := clock.WithTimeout(t.Context(), c, time.Second)
				defer cancel()
				<-ctx.Done()
				if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
					t.Fatalf("ended with %v after %v", err, time.Since(start))
				}
				early, cancelEarly := clock.WithTimeout(t.Context(), c, time.Hour)
				cancelEarly()
				if err := context.Cause(early); !errors.Is(err, context.Canceled) {
					t.Fatalf("cancelled context ended with %v", err)
				}
			})
		})
	}
}

func TestOrDefaultsToSystem(t *testing.T) {
	if clock.Or(nil) != clock.System() {
		t.Fatal("Or(nil) is not the system's clock")
	}
	own := offset{clock.System()}
	if clock.Or(own) != clock.Clock(own) {
		t.Fatal("Or does not keep the clock it is given")
	}
}
