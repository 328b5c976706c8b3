//go:build !chaos

package main

import "github.com/shoalworks/shoal/clock"

// wrongClock is nothing: only a daemon that is built to be broken has a clock that can be set.
type wrongClock struct{}

// clock is the daemon's; nil is the system's.
func (wrongClock) clock() clock.Clock { return nil }
