package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal"
)

// boardSealCommand seals a board.
type boardSealCommand struct {
	Board string `arg:"" help:"The board's name."`
	moderateFlags
	confirmFlag
}

// Help is shown by --help.
func (*boardSealCommand) Help() string {
	return `Ends all writes to the board, for good, whoever sends them: what waits in servers is refused, and so are remove and hide.
Reads go on. Boards of seasons are sealed by their seasons.

  shoal board seal Tournament7 --confirm Tournament7

` + exitCodes
}

// Run seals.
func (c *boardSealCommand) Run(ctx context.Context, o *output) error {
	if strings.HasPrefix(c.Board, seasonBoards) {
		return refused("boards of seasons are sealed by their seasons, when those are closed")
	}
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.stored(ctx, c.Board)
		if err != nil {
			return err
		}
		if c.DryRun || s.info.Sealed {
			return t.print(s.form(), func() { t.printShelf(s); fmt.Fprintln(t.out, "Nothing was changed.") })
		}
		if err := c.confirmNamed(ctx, o, "end all writes to the board, for good", "the board's name", c.Board); err != nil {
			return err
		}
		s.info, err = t.boards.SealBy(ctx, c.moderator(), c.Board)
		if err != nil {
			return again(err)
		}
		return t.print(s.form(), func() { fmt.Fprintf(t.out, "%s: sealed, with %s entries\n", c.Board, humanize.Comma(s.info.Count)) })
	})
}

// stored is a board that the store has.
func (t *boardTool) stored(ctx context.Context, board string) (*shelf, error) {
	s, err := t.find(ctx, board)
	if err == nil && !s.stored {
		return nil, missing("%s: nobody has written to it", board)
	}
	return s, err
}

// boardDropCommand deletes a board.
type boardDropCommand struct {
	Board string `arg:"" help:"The board's name."`
	moderateFlags
	confirmFlag
}

// Help is shown by --help.
func (*boardDropCommand) Help() string {
	return `Deletes the board with all its entries; shoal board export keeps a copy. A later score makes it anew, and a score that
waits in a server at this moment is one. The board of a season that is not closed is filled again from the profiles.

  shoal board export Trial trial.jsonl && shoal board drop Trial --confirm Trial

` + exitCodes
}

// Run drops.
func (c *boardDropCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.stored(ctx, c.Board)
		if err != nil {
			return err
		}
		if c.DryRun {
			return t.print(s.form(), func() { t.printShelf(s); fmt.Fprintln(t.out, "Nothing was changed.") })
		}
		if err := c.confirmNamed(ctx, o, fmt.Sprintf("delete the board with its %s entries", humanize.Comma(s.info.Count)), "the board's name", c.Board); err != nil {
			return err
		}
		if err := t.boards.DropBy(ctx, c.moderator(), c.Board); err != nil {
			return again(err)
		}
		return t.print(dropped{c.Board, s.info.Count}, func() {
			fmt.Fprintf(t.out, "%s: dropped, with %s entries\n", c.Board, humanize.Comma(s.info.Count))
		})
	})
}

// dropped is what --json prints of a drop.
type dropped struct {
	Board   string `json:"board"`
	Entries int64  `json:"entries"`
}

// boardRefillCommand fills a mirrored board.
type boardRefillCommand struct {
	Board string `arg:"" help:"The board's name."`
	boardFlags
}

// Help is shown by --help.
func (*boardRefillCommand) Help() string {
	return `Goes through the stored profiles and puts right what a board that mirrors them has (boards.NAME.from in the
configuration, so --config is needed): after it was declared, dropped or lost. It is safe while the game runs, and may be
repeated.

  shoal board refill Richest --config shoal.yaml

` + exitCodes
}

// Run refills.
func (c *boardRefillCommand) Run(ctx context.Context, o *output) error {
	c.long = true
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		p := newProgress(o, "profiles")
		out, err := t.node.RefillBoard(ctx, c.Board, func(r shoal.Refill) { p.show(int(r.Profiles), 0) })
		p.done()
		if errors.Is(err, shoal.ErrNotMirrored) {
			return usage("%s does not mirror profiles in the configuration: boards.%s.from", c.Board, c.Board)
		}
		if err != nil {
			return again(err)
		}
		if err := t.print(refilled{c.Board, out.Profiles, out.Scores, out.Removed, out.Problems, out.First}, func() {
			fmt.Fprintf(t.out, "%s: %s profiles, %s scores, %s removed\n", c.Board, humanize.Comma(out.Profiles), humanize.Comma(out.Scores), humanize.Comma(out.Removed))
		}); err != nil {
			return err
		}
		if out.Problems > 0 {
			return fmt.Errorf("%s profiles gave no score that fits; the first: %s", humanize.Comma(out.Problems), out.First)
		}
		return nil
	})
}

// refilled is what --json prints of a refill.
type refilled struct {
	Board    string `json:"board"`
	Profiles int64  `json:"profiles"`
	Scores   int64  `json:"scores"`
	Removed  int64  `json:"removed"`
	Problems int64  `json:"problems"`
	First    string `json:"firstProblem,omitempty"`
}
