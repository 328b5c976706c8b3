package main

import (
	"time"

	"github.com/shoalworks/shoal/clock"
)

// wrongClock has a daemon run with a local clock that is wrong, which must not matter: times
// come from the store.
type wrongClock struct {
	ClockOffset time.Duration `hidden:"" placeholder:"DURATION" help:"How wrong the daemon's local clock is, for tests of a fleet. Default 0."`
}

// clock is the daemon's; nil is the system's.
func (w wrongClock) clock() clock.Clock {
	if w.ClockOffset == 0 {
		return nil
	}
	return offset{clock.System(), w.ClockOffset}
}

// offset is a clock that is wrong by as much all the time.
type offset struct {
	clock.Clock

	by time.Duration
}

// Now is wrong. The difference of two results is monotonic all the same.
func (o offset) Now() time.Time { return o.Clock.Now().Add(o.by) }
