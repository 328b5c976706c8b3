package profile

import (
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

// SourceKind says who is behind a change.
type SourceKind = pipeline.SourceKind

// The kinds of sources the library knows; a game may have its own.
const (
	SourceGame     SourceKind = "game"
	SourceOperator SourceKind = "operator"
	SourceSeason   SourceKind = "season"
	SourceSystem   SourceKind = "system" // the library itself: reconcile, migration
)

// Source says where a change comes from: its Kind, by default SourceGame, Actor and Note are
// for the record, and for policies. With an ID the transaction is safe to repeat: the profile
// remembers the last 64 ids, and a known one answers what it answered first.
type Source = pipeline.Source

// Commit is one accepted change of a profile.
type Commit struct {
	Revision uint64 // of the profile, counted from its first session
	ID       string // Source.ID, or "<epoch>-<revision>"
	Time     time.Time
	Source   Source
	Edits    []doc.Edit // from the data before to the data after; none for a repeated one
	Data     doc.Value  // after the change; null for a repeated one
	// Claim names what happens outside the profile exactly once with the commit:
	// "receipt/<set>/<id>", "mail/<id>", "trade/<id>". Empty: nothing.
	Claim string
	// Repeated tells that the id was known, so nothing was applied now.
	Repeated bool
	// Reports are the complaints of reporting guards, at most [MaxViolations].
	Reports []Violation
}

// Reason is why a session has ended.
type Reason uint8

// The reasons. The zero Reason is that of a session that lives.
const (
	Released   Reason = iota + 1 // the game released it; everything is stored
	HandedOver                   // another node asked for it; everything is stored
	Lost                         // another node took it; what was not acknowledged is lost
	Closed                       // the node closed; Report.Left names what could not be stored
)

// String is "released", "handed over", "lost", "closed" or "live".
func (r Reason) String() string {
	switch r {
	case Released:
		return "released"
	case HandedOver:
		return "handed over"
	case Lost:
		return "lost"
	case Closed:
		return "closed"
	}
	return "live"
}
