package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/shoalworks/shoal/internal/demo"
)

// demoCommand plays a fleet in this terminal.
type demoCommand struct {
	For     time.Duration `placeholder:"SPAN" help:"How long to play, such as 90s. Default: until Ctrl-C."`
	Nodes   int           `default:"3" help:"How many nodes."`
	Players int           `default:"300" help:"How many players."`
	Season  time.Duration `default:"60s" help:"How long a season lasts."`
	Crash   time.Duration `default:"20s" help:"How often a node crashes; 0s for never."`
	Seed    uint64        `default:"1" help:"Seed of the players' choices."`
	Store   string        `type:"path" placeholder:"FOLDER" help:"Where to put the store, a missing or empty folder that is kept. Default: a temporary one."`
	Plain   bool          `help:"Print a line now and then instead of redrawing the screen."`
}

// Help is shown by --help.
func (*demoCommand) Help() string {
	return `Several nodes in one process, each with its own way to one SQLite store, as processes of one machine would have.
Players fish, save, leave, and move from node to node while the old one still holds their profile; a node crashes now
and then and another takes its place. A ledger checks from the outside that no acknowledged save is missing, that one
node at a time writes a profile, that a title is granted once and that a season's result never changes.

Exit codes: 0 every promise kept; 3 a promise was broken, or a run of more than a season has not seen a hand-over, a
takeover, a closed season and a title.`
}

// Run plays until the time is up or ctx ends.
func (c *demoCommand) Run(ctx context.Context, o *output) error {
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.For)
		defer cancel()
	}
	folder := c.Store
	if folder == "" {
		temporary, err := os.MkdirTemp("", "shoal-demo-")
		if err != nil {
			return &exitError{exitUnserved, err}
		}
		defer func() { _ = os.RemoveAll(temporary) }()
		folder = temporary
	} else if err := checkEmpty(folder); err != nil {
		return &exitError{exitUsage, err}
	}
	crash := c.Crash
	if crash == 0 {
		crash = -1
	}
	_, err := demo.Run(ctx, demo.Options{
		Nodes: c.Nodes, Players: c.Players, SeasonLength: c.Season, CrashEvery: crash, Folder: folder,
		Seed: c.Seed, Plain: c.Plain || !isTerminal(o.out), Out: o.out,
	})
	if errors.Is(err, demo.ErrBroken) || errors.Is(err, demo.ErrUnseen) {
		return &exitError{exitBroken, err}
	}
	return err
}

// checkEmpty refuses a folder that has something in it: the demo is not for real games.
func checkEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("--store: %s is not empty; the demo wants a folder of its own", folder)
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
