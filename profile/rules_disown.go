package profile

import (
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds the rule by which a node gets rid of sessions that name one of its tokens
// without there being a session (PROTOCOL.md H7): pure, without I/O, clock or chance.

// disowned is a token of this node that has no session and must not get one.
type disowned struct {
	token string
	// claims are the versions on which claims with an unknown outcome were conditional
	// (0: absent). Each may land for as long as the record stands at that version.
	claims []store.Version
	// asked are the sessions that were asked for the token. Their holders may still grant.
	asked []string
	// until is when asks are void and claims are forgotten; what lands later is freed when
	// somebody asks for it.
	until time.Time
}

// disownStep is what becomes of a disowned token.
type disownStep uint8

const (
	disownFree   disownStep = iota + 1 // the record names it: free the record, by the takeover steps
	disownKeep                         // it may still come to be named: look again
	disownForget                       // the record is without it, and it cannot come any more
)

// disownStepOf decides from a successful read.
func disownStepOf(d disowned, r reading, now time.Time) disownStep {
	switch {
	case r.holds(d.token):
		return disownFree
	case !now.Before(d.until):
		return disownForget
	case slices.ContainsFunc(d.claims, func(cond store.Version) bool { return mayLand(cond, r) }):
		return disownKeep
	case r.holder() != "" && slices.Contains(d.asked, r.holder()):
		return disownKeep
	}
	return disownForget
}
