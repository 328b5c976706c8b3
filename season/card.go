package season

import (
	"context"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
	"time"
)

// Card is what a player sees of the season: the live counters, and beside them the standing on
// each board.
type Card struct {
	Block  Block
	Info   Info
	Boards []CardBoard // in the order of the configuration
}

// CardBoard is a player's standing on one board of the season.
type CardBoard struct {
	Board, Title string
	Stat         string
	// Live is the counter now; Counted tells that there is one.
	Live    int64
	Counted bool
	// Standing is what the board shows, up to FlushEvery and CacheFor behind the counter. OK is
	// false when the player is not on the board (yet).
	Standing store.Standing
	OK       bool
	Total    int64 // entries of the board
}

// Card reads the card of an open session's player.
func (s *Service) Card(_ context.Context, _ Session) (Card, error) { return Card{}, errUnbuilt }

// CardOf reads the card of a player whose profile is not open here.
func (s *Service) CardOf(_ context.Context, _ string, _ doc.Value, _ time.Time) (Card, error) {
	return Card{}, errUnbuilt
}
