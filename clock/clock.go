package clock

import (
	"context"
	"time"
)

// Clock tells local time and arms timers.
type Clock interface {
	// Now is the local time; the difference of two results is monotonic.
	Now() time.Time
	// NewTimer fires once on its channel after d.
	NewTimer(d time.Duration) Timer
	// AfterFunc calls f on its own goroutine after d; the timer's channel is nil.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is an armed timer of a [Clock].
type Timer interface {
	// C is the channel on which the time is sent; nil for AfterFunc.
	C() <-chan time.Time
	// Stop disarms the timer and tells whether it was armed.
	Stop() bool
	// Reset arms the timer anew and tells whether it was armed.
	Reset(d time.Duration) bool
}

// System is the operating system's clock.
func System() Clock { return system{} }

// Or answers c, or the system's clock when c is nil.
func Or(c Clock) Clock {
	if c == nil {
		return System()
	}
	return c
}

// Sleep waits for d, or for the end of ctx, whose cause it then returns.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := context.Cause(ctx); err != nil || d <= 0 {
		return err
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithTimeout is context.WithTimeout measured on c: the derived context ends with
// context.DeadlineExceeded after d. It carries no deadline value, because a deadline is a
// time of the system's clock.
func WithTimeout(ctx context.Context, c Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := c.(system); ok {
		return context.WithTimeout(ctx, d)
	}
	derived, cancel := context.WithCancelCause(ctx)
	t := c.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return derived, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

func (system) AfterFunc(d time.Duration, f func()) Timer { return systemTimer{time.AfterFunc(d, f)} }

type systemTimer struct{ t *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.t.C }

func (t systemTimer) Stop() bool { return t.t.Stop() }

func (t systemTimer) Reset(d time.Duration) bool { return t.t.Reset(d) }
