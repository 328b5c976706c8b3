package profile

import (
	"time"

	"github.com/shoalworks/shoal/node"
)

// How tells how a load came by its session.
type How uint8

// The ways to a session.
const (
	Created   How = iota + 1 // there was no profile: a new player
	Free                     // nobody held it
	Granted                  // the holder handed it over
	TakenOver                // it was taken from its holder: see the evidence
	Recovered                // taken over, and newer commits were replayed from the journal
)

// String is "created", "free", "granted", "takeover" or "recovered".
func (h How) String() string {
	switch h {
	case Created:
		return "created"
	case Free:
		return "free"
	case Granted:
		return "granted"
	case TakenOver:
		return "takeover"
	case Recovered:
		return "recovered"
	}
	return "not loaded"
}

// Loaded tells how a session was opened.
type Loaded struct {
	How      How
	Evidence node.Evidence // of a takeover; else empty
	From     string        // the node that held it last, if this load met one
	Waited   time.Duration // from the call to the session
}
