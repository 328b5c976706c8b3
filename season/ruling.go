package season

import (
	"context"
	"errors"
	"time"
)

// Ruling is what an operator decides about a player of a closed season.
type Ruling struct {
	// Key is the player's.
	Key string
	// Boards are the boards that it is about, by name. Default: all of the season.
	Boards []string
	// By is who decides, at most 128 bytes. Needed.
	By string
	// Reason is why, at most 1024 bytes. Needed.
	Reason string
}

// Correction is a ruling as it is stored: beside the result, which never changes.
type Correction struct {
	// Time is when it was made, in fleet time.
	Time time.Time
	// Reinstates tells that it takes an earlier disqualification back.
	Reinstates bool
	Ruling
}

// Waiver is an operator's word that a season is closed although boards of it cannot be read.
type Waiver struct {
	// Boards are the boards that the result goes without, by name. At least one.
	Boards []string
	// By is who decides, at most 128 bytes. Needed.
	By string
	// Note is why, at most 1024 bytes. Needed.
	Note string
}

// CloseRecord is who closed a season, when, and what the boards came to.
type CloseRecord struct {
	Season string
	Node   string
	Time   time.Time // fleet time
	// Boards are the results' digests (see [BoardResult].Digest), by board.
	Boards map[string]string
	// Waiver is what the season was closed without; its Boards are empty in the usual case.
	Waiver Waiver
}

var errUnbuilt = errors.New("season: not built")

// Disqualify takes a player out of the standings of a closed season.
func (s *Service) Disqualify(_ context.Context, _ string, _ Ruling) (*Standings, error) {
	return nil, errUnbuilt
}

// Reinstate takes a disqualification back.
func (s *Service) Reinstate(_ context.Context, _ string, _ Ruling) (*Standings, error) {
	return nil, errUnbuilt
}

// Corrections lists the corrections of a closed season, the oldest first.
func (s *Service) Corrections(_ context.Context, _ string) ([]Correction, error) {
	return nil, errUnbuilt
}

// Standings are the result of a closed season with its corrections taken into account.
func (s *Service) Standings(_ context.Context, _ string) (*Standings, error) {
	return nil, errUnbuilt
}

// CloseWithout closes a season that is due and waits for boards that cannot be read, without them.
func (s *Service) CloseWithout(_ context.Context, _ string, _ Waiver) (Closed, error) {
	return Closed{}, errUnbuilt
}

// ClosedBy tells who closed a season.
func (s *Service) ClosedBy(_ context.Context, _ string) (CloseRecord, error) {
	return CloseRecord{}, errUnbuilt
}

// Results lists the results of closed seasons, the newest first: those before the season with
// the id before ("": from the newest on), at most limit (1 to 50).
func (s *Service) Results(_ context.Context, _ string, _ int) ([]*Result, error) {
	return nil, errUnbuilt
}
