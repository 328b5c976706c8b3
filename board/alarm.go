package board

import (
	"time"

	"github.com/shoalworks/shoal/clock"
)

// alarm is a timer for one time, which may change.
type alarm struct {
	clock clock.Clock
	timer clock.Timer
	due   time.Time
}

// at is a channel that fires at due, or never when it is zero.
func (a *alarm) at(due time.Time) <-chan time.Time {
	if a.timer == nil || !due.Equal(a.due) {
		a.stop()
		if due.IsZero() {
			return nil
		}
		a.due, a.timer = due, a.clock.NewTimer(due.Sub(a.clock.Now()))
	}
	return a.timer.C()
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
