package season

import (
	"context"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Card is what a player sees of the season: the live counters, and beside them the standing on
// each board. All of it is of one season, also at a boundary: the block's.
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
	// Standing is what the board shows, up to FlushEvery and CacheFor behind the counter: see
	// [Service.Standing]. OK is false when the player is not on the board (yet).
	Standing store.Standing
	OK       bool
	Total    int64 // entries of the board; never less than the rank
	// Err tells why the board is not known now: ErrMemory, or what the store answered. The
	// counters, and the other boards, are right all the same.
	Err error
}

// Card reads the card of an open session's player. A block of an earlier season is reset by the
// read, as by View. The boards cost no read of the store for players who are on the page that
// is shown, and one per board and CacheFor for anybody else.
//
// A board that cannot be read has its Err set; the card fails when there is no block to show
// (ErrBlock, ErrClosed, ErrCalendar) and when ctx has ended.
func (s *Service) Card(ctx context.Context, session Session) (Card, error) {
	p, err := s.playerOf(session)
	if err != nil {
		return Card{}, err
	}
	current := s.season()
	if err := s.advance(p, current); err != nil { //nolint:contextcheck // a transaction waits for nothing
		return Card{}, err
	}
	return s.card(ctx, session.Key(), session.Data(), current, session.Created())
}

// CardOf reads the card of a player whose profile is not open here, from its data. Nothing is
// written. created is when the profile was made.
func (s *Service) CardOf(ctx context.Context, key string, data doc.Value, created time.Time) (Card, error) {
	if err := s.ofThisCalendar(); err != nil {
		return Card{}, err
	}
	return s.card(ctx, key, data, s.season(), created)
}

func (s *Service) card(ctx context.Context, key string, data doc.Value, current int64, created time.Time) (Card, error) {
	block, err := s.rules.view(data, current, s.cfg.Season(created))
	if err != nil {
		return Card{}, err
	}
	c := Card{Block: block, Info: s.cfg.Describe(block.K, s.n.Now()), Boards: make([]CardBoard, len(s.cfg.Boards))}
	for i, b := range s.cfg.Boards {
		on := CardBoard{Board: b.Name, Title: b.Title, Stat: b.Stat}
		on.Live, on.Counted = block.Stats[b.Stat]
		if block.K > current+1 { // a season that has long to begin, see Joined
			c.Boards[i] = on
			continue
		}
		on.Standing, on.OK, on.Total, on.Err = s.standingOn(ctx, boardAt{block.K, i}, key)
		if ctx.Err() != nil {
			return Card{}, fmt.Errorf("season: card of %s: %w", shown(key), context.Cause(ctx))
		}
		c.Boards[i] = on
	}
	return c, nil
}
