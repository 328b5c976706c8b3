//go:build chaos

package main

import (
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/chaos/wrongclock"
)

// wrongClock has a daemon run with a local clock that is set while it runs, which must not
// matter: times come from the store.
type wrongClock struct {
	ClockDial string `hidden:"" placeholder:"FILE" help:"Says how wrong the daemon's local clock is."`
}

// clock is the daemon's; nil is the system's.
func (w wrongClock) clock() clock.Clock {
	if w.ClockDial == "" {
		return nil
	}
	return wrongclock.New(clock.System(), wrongclock.Dial(w.ClockDial))
}
