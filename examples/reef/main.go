// Command reef is Rod and Reef, a small fishing game with seasons.
//
//	go run ./examples/reef           the calendar, and a round at the reef: what you catch is kept
//	go run ./examples/reef --fast    two servers and seasons of ten seconds, to the end and beyond
//
// server.go is how a game server starts, angler.go what a player does there; fast.go and
// round.go play. The rules of the game itself are in package fishing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/examples/reef/fishing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	if err != nil && ctx.Err() == nil { // Ctrl-C is a way to end it
		fmt.Fprintln(os.Stderr, "reef:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("reef", flag.ContinueOnError)
	var (
		fast    = flags.Bool("fast", false, "watch short seasons instead of playing one of 45 days")
		length  = flags.Duration("season", 10*time.Second, "how long a season lasts, with --fast")
		seasons = flags.Int("seasons", 2, "how many seasons to watch, with --fast")
		players = flags.Int("players", 12, "how many players fish, with --fast")
		folder  = flags.String("store", "./reef", "the folder in which the game is kept")
		name    = flags.String("name", "you", "who you are")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	g := &game{rules: fishing.Rules(), out: out, closed: make(chan closing, 16)}
	if *fast {
		*folder, g.rules = "memory:", fishing.Fast(time.Now().Truncate(time.Second), *length, titled)
	}
	st, err := shoal.Open(ctx, *folder)
	if err != nil {
		return err
	}
	g.store = st
	if *fast {
		err = (&show{game: g, length: *length, seasons: *seasons, players: *players}).run(ctx)
	} else {
		err = (&round{game: g, folder: *folder, name: *name, in: in}).run(ctx)
	}
	return errors.Join(err, st.Close(context.WithoutCancel(ctx)))
}
