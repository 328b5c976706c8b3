package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shoalworks/shoal/season"
)

// seasonCloseCommand closes seasons.
type seasonCloseCommand struct {
	ID      string   `arg:"" optional:"" help:"With --without: the season that waits for those boards, such as C1S2."`
	Without []string `placeholder:"BOARD" help:"Close the season without this board, for good, because it cannot be read any more. Several are parted by commas."`
	actorFlags
	confirmFlag
	seasonFlags
}

// actorFlags say who changes something, and why.
type actorFlags struct {
	Note   string `short:"m" aliases:"reason" placeholder:"TEXT" help:"Why, for the record (--reason). Needed for what is kept beside a result."`
	Actor  string `aliases:"by" placeholder:"NAME" help:"Who, for the record (--by). Default: the name of this user."`
	DryRun bool   `help:"Show what would change; change nothing."`
}

// needNote refuses a decision without a reason.
func (f *actorFlags) needNote() error {
	if f.Note == "" {
		return usage(`say why, for the record: -m "..."`)
	}
	return nil
}

// Help is shown by --help.
func (*seasonCloseCommand) Help() string {
	return `Daemons close seasons by themselves, some minutes after the end. This closes now what is due, beside them: the boards are
sealed and read, and the result is stored once, whoever comes first. What cannot be closed yet is told with the reason.

A board that cannot be read any more, and cannot be rebuilt from the profiles either, keeps its season open for ever. Then,
and only then, close the season without it: it stays empty in the result, nobody gets its titles, and nothing brings it back.

  shoal season close --dry-run
  shoal season close
  shoal season close C1S2 --without Fish --confirm C1S2 -m "lost with the old cluster"

` + exitCodes + `
A season that still waits is 1.`
}

// closedForm is what --json prints of close: one line a season.
type closedForm struct {
	Season string `json:"season"`
	Closed bool   `json:"closed"`
	Here   bool   `json:"here"`
	Why    string `json:"why,omitempty"` // it waits
}

// Run closes.
func (c *seasonCloseCommand) Run(ctx context.Context, o *output) error {
	if (c.ID != "") != (len(c.Without) > 0) {
		return usage("an id and --without go together: shoal season close C1S2 --without BOARD; alone, shoal season close closes all that are due")
	}
	return c.onSeason(ctx, o, func(ctx context.Context, t *seasonTool) error {
		switch {
		case c.DryRun:
			return t.printWaiting(ctx, "Nothing was changed.")
		case c.ID != "":
			return c.without(ctx, o, t)
		}
		closed, err := t.series.CloseDue(ctx)
		for _, one := range closed {
			if err := t.printClosed(one); err != nil {
				return err
			}
		}
		if err != nil && !errors.As(err, new(*season.WaitingError)) {
			return err
		}
		if err != nil {
			return t.stillWaiting(err)
		}
		if len(closed) == 0 && !t.json {
			return t.printWaiting(ctx, "Nothing is due.")
		}
		return nil
	})
}

func (t *seasonTool) printClosed(c season.Closed) error {
	return t.print(closedForm{Season: c.ID, Closed: true, Here: c.Here}, func() {
		if c.Here {
			fmt.Fprintf(t.out, "%s: closed\n", c.ID)
		} else {
			fmt.Fprintf(t.out, "%s: was closed by another node\n", c.ID)
		}
	})
}

// stillWaiting prints what could not be closed, as this command has just found out.
func (t *seasonTool) stillWaiting(err error) error {
	list := t.series.Status().Waiting
	for _, w := range list {
		if err := t.print(closedForm{Season: w.Season, Why: w.Why}, func() { fmt.Fprintf(t.out, "%s: waits: %s\n", w.Season, plain(w.Why)) }); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return err
	}
	return &exitError{exitFailed, fmt.Errorf("%s could not be closed; daemons try again every few minutes", countOf(len(list), "season", "seasons"))}
}

// printWaiting prints what has no result yet, without trying.
func (t *seasonTool) printWaiting(ctx context.Context, footer string) error {
	list, err := t.series.Unclosed(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if err := t.print(closedForm{Season: w.Season, Why: w.Why}, func() { fmt.Fprintf(t.out, "%s: %s\n", w.Season, plain(w.Why)) }); err != nil {
			return err
		}
	}
	if !t.json {
		if len(list) == 0 {
			fmt.Fprint(t.out, "No season waits for its result. ")
		}
		fmt.Fprintln(t.out, footer)
	}
	return nil
}

// without closes a season without boards.
func (c *seasonCloseCommand) without(ctx context.Context, o *output, t *seasonTool) error {
	if err := c.needNote(); err != nil {
		return err
	}
	what := fmt.Sprintf("close %s without %s, for good", c.ID, strings.Join(c.Without, ", "))
	if err := c.confirmNamed(ctx, o, what, "the season", c.ID); err != nil {
		return err
	}
	one, err := t.series.CloseWithout(ctx, c.ID, season.Waiver{Boards: c.Without, By: actorName(c.Actor), Note: c.Note})
	if err != nil {
		return err
	}
	if !one.Here {
		return t.print(closedForm{Season: one.ID, Closed: true}, func() {
			fmt.Fprintf(t.out, "%s: has its result already; nothing was changed. shoal season results %s shows it\n", one.ID, one.ID)
		})
	}
	return t.printClosed(one)
}
