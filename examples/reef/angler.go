package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
)

// angler is a player who is online at a server.
type angler struct {
	*profile.Session

	reef *shoal.Competition
}

// arrive opens a player's profile at a server, whose alone it then is. Titles of seasons that
// were closed meanwhile are granted on the way.
func arrive(ctx context.Context, at *shoal.Node, key, name string) (angler, error) {
	s, err := at.Set("players").Load(ctx, key, nil)
	if err != nil {
		return angler{}, err
	}
	a := angler{s, at.Season("reef")}
	if nameIn(s.Data()) == name {
		return a, nil
	}
	_, err = s.Transact(profile.Source{}, doc.Set("/name", doc.Must(name)))
	return a, err
}

// cast throws the line once and tells what came of it. What changes in the profile and what
// seasons count is one transaction: in memory at once, in the journal within a second, and
// stored with the next save.
func (a angler) cast(rng *rand.Rand) (string, error) {
	text, ops, events := "It got away. Your streak is over.", fishing.Missed(), []season.Event{fishing.Lost()}
	if fish, ok := fishing.Cast(rng); ok {
		text = fmt.Sprintf("You catch %s: %d coins, %d experience.", fish, fish.Coins(), fish.Experience())
		ops, events = fish.Caught(), fish.Events()
	}
	_, err := a.reef.Play(a.Session, profile.Source{Note: "a cast"}, ops, events...)
	return text, err
}

// leave saves the profile, sends the last values to the boards, and lets another server have
// the player.
func (a angler) leave(ctx context.Context) error { return a.Release(ctx) }

// describe is a player's card: the live counters, and what the boards show.
func describe(c season.Card) string {
	var b strings.Builder
	for _, board := range c.Boards {
		fmt.Fprintf(&b, "  %-11s %6d", board.Board, board.Live)
		if board.OK {
			fmt.Fprintf(&b, "   on the board %6d, rank %d of %d", board.Standing.Score, board.Standing.Rank, board.Total)
		}
		b.WriteByte('\n')
	}
	for _, t := range c.Block.Titles {
		fmt.Fprintf(&b, "  %s\n", t.Text)
	}
	return strings.TrimRight(b.String(), "\n")
}

func nameIn(data doc.Value) string {
	v, _, _ := data.Lookup("/name")
	name, _ := v.AsString()
	return name
}

func coinsIn(data doc.Value) int64 {
	v, _, _ := data.Lookup("/coins")
	n, _ := v.AsInt()
	return n
}
