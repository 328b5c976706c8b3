package season

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// What a caller can act on.
var (
	// ErrClosed: the service is closed, or closing; nothing was changed.
	ErrClosed = errors.New("season: closed")
	// ErrUnknownEvent: no stat listens to an event of this name; nothing was changed.
	ErrUnknownEvent = errors.New("season: no stat listens to this event")
	// ErrOverflow: a counter would leave the range of int64; nothing was changed.
	ErrOverflow = errors.New("season: counter out of range")
	// ErrBlock: what the profile has at the season's path is no season block and is left alone.
	ErrBlock = errors.New("season: not a season block")
	// ErrNoSeason: the text is not the id of a season of this calendar.
	ErrNoSeason = errors.New("season: no such season")
	// ErrNoBoard: the season has no board of this name.
	ErrNoBoard = errors.New("season: no such board")
	// ErrNoResult: the season is not closed yet.
	ErrNoResult = errors.New("season: no result yet")
	// ErrConfig: the configuration is not usable; the error lists everything that is wrong.
	ErrConfig = errors.New("season: config")
	// ErrNewerFormat: a record was written by a newer release; it is left alone.
	ErrNewerFormat = errors.New("season: record of a newer format")
	// ErrMemory: a board of the season lost its memory and is not rebuilt yet.
	ErrMemory = errors.New("season: a board lost its memory")
	// ErrClock: fleet time is not fresh, so no season is closed.
	ErrClock = errors.New("season: fleet time is not fresh")
	// ErrCalendar: the set was begun with another calendar; nothing is counted. Give the seasons
	// another name, or go back to the stored calendar.
	ErrCalendar = errors.New("season: the set has another calendar")
	// ErrRuling: a field of a ruling or a waiver is not usable; the error says which.
	ErrRuling = errors.New("season: not a usable ruling")
	// ErrNoPlace: the player has no place in the result, on the boards of the ruling.
	ErrNoPlace = errors.New("season: no place in the result")
	// ErrCorrections: the season has as many corrections as it takes, MaxCorrections.
	ErrCorrections = errors.New("season: too many corrections")
	// ErrNotDue: the season has not ended Grace ago by the store's clock, so it is not closed.
	ErrNotDue = errors.New("season: not due")
	// ErrBoardFine: a season is not closed without a board that can be read and vouched for.
	ErrBoardFine = errors.New("season: the board is fine")
	// ErrErasing: too many erased players wait for seasons that are over and not closed yet.
	ErrErasing = errors.New("season: too many erasures wait for seasons to be closed")
	// ErrFull: the outbox is full; the value stays with the session and is sent later.
	ErrFull = errors.New("season: outbox full")
)

// errUndecided is why values are still there that no board takes any more: what they come to is
// known when their season has its result, and until then it would be rebuilt with them.
var errUndecided = fmt.Errorf("season: no result yet: the boards are sealed: %w", store.ErrSealed)

// errNothing ends a transaction that turned out to have nothing to change.
var errNothing = errors.New("season: nothing to change")

// errEvicted is why a season's values left a block without having been counted.
var errEvicted = errors.New("season: too many seasons wait for their results")
