package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// game is what the servers of this process have in common.
type game struct {
	store *store.Store // every server of the game shares it
	rules season.Config
	out   io.Writer

	printing sync.Mutex
	closed   chan closing // as the servers hear of it
}

// closing is a season that is closed, as one of the servers hears of it.
type closing struct {
	server string
	result *season.Result
}

// serve makes this process one more game server. Nobody leads: each server counts, each looks
// for seasons to close, and all agree because the store does.
func (g *game) serve(ctx context.Context, name string) (*shoal.Node, error) {
	return shoal.Start(ctx, g.store, &shoal.Options{
		Node: node.Options{Name: name, Logger: slog.New(slog.DiscardHandler)},
		Sets: map[string]*profile.Options{"players": {Template: fishing.NewPlayer()}},
		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: g.rules, Deps: season.Deps{
			// These are part of the transactions that store and correct a title: exactly once.
			Reward: fishing.Reward,
			Revoke: fishing.Revoke,
			// These are for showing. They hear of what is stored already.
			OnTitle:     g.onTitle,
			OnCorrected: g.onCorrected,
			OnClosed:    func(_ season.Closed, r *season.Result) { g.onClosed(name, r) },
			OnRefused:   g.onRefused,
		}}},
	})
}

func (g *game) say(format string, args ...any) {
	g.printing.Lock()
	defer g.printing.Unlock()
	fmt.Fprintf(g.out, format+"\n", args...)
}

func (g *game) onTitle(_ context.Context, s season.Session, titles []season.Title) {
	for _, t := range titles {
		g.say("  %-5s %s, and %d coins", nameIn(s.Data()), t.Text, fishing.Prize(t.Rank))
	}
}

func (g *game) onCorrected(_ context.Context, s season.Session, changes []season.TitleChange) {
	for _, c := range changes {
		if c.After.Key == "" {
			g.say("  %-5s loses %s, and %d coins", nameIn(s.Data()), c.Before.Text, fishing.Prize(c.Before.Rank))
		} else if c.Before.Key != "" {
			g.say("  %-5s was %s, and is %s: %+d coins", nameIn(s.Data()), c.Before.Text, c.After.Text,
				fishing.Prize(c.After.Rank)-fishing.Prize(c.Before.Rank))
		}
	}
}

// onClosed hands the result to whoever waits. A callback must not block: when nobody takes the
// results they are dropped.
func (g *game) onClosed(server string, r *season.Result) {
	select {
	case g.closed <- closing{server, r}:
	default:
	}
}

func (g *game) onRefused(r season.Refused) {
	g.say("  too late for %s: %s of %s, %d", r.Season, r.Board, r.Key, r.Score)
}
