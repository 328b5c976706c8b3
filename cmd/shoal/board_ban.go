package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// boardBanCommand bans keys.
type boardBanCommand struct {
	Keys []string `arg:"" help:"The keys."`
	moderateFlags
	confirmFlag
}

// Help is shown by --help.
func (*boardBanCommand) Help() string {
	return `Hides the keys on every board of the store, those of seasons and those to come included, and has every node refuse their
scores. Their scores are kept: shoal board unban takes it back. Several keys are confirmed with their number.

  shoal board ban u_42 --confirm u_42 -m "speed hack"

` + exitCodes
}

// Run bans.
func (c *boardBanCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		if c.DryRun {
			return t.entriesEverywhere(ctx, c.Keys, "would be hidden. Nothing was changed.")
		}
		if err := checkKeys(c.Keys); err != nil {
			return err
		}
		if err := c.confirmKeys(ctx, o, fmt.Sprintf("ban %s from all boards", countOf(len(c.Keys), "key", "keys")), c.Keys); err != nil {
			return err
		}
		if err := t.boards.Ban(ctx, c.moderator(), c.Keys...); err != nil {
			return again(err)
		}
		return t.print(banned{c.Keys, true}, func() { fmt.Fprintf(t.out, "%s: banned\n", strings.Join(c.Keys, ", ")) })
	})
}

// banned is what --json prints of ban and unban.
type banned struct {
	Keys   []string `json:"keys"`
	Banned bool     `json:"banned"`
}

// entriesEverywhere shows the entries of keys on all boards.
func (t *boardTool) entriesEverywhere(ctx context.Context, keys []string, footer string) error {
	if err := checkKeys(keys); err != nil {
		return err
	}
	names, err := t.names(ctx, "")
	if err != nil {
		return err
	}
	rows := [][]string{{"BOARD", "KEY", "SCORE"}}
	for _, one := range names {
		s, err := t.find(ctx, one)
		if err != nil {
			return err
		}
		list, err := t.entries(ctx, s, keys)
		if err != nil {
			return err
		}
		for _, e := range list {
			form := struct {
				Board string `json:"board"`
				standingForm
			}{one, t.standingForm(s, board.NamedStanding{Standing: e})}
			if err := t.print(form, func() { rows = append(rows, []string{one, e.Key, t.score(s, e.Score)}) }); err != nil {
				return err
			}
		}
	}
	if !t.json {
		t.table(withoutEmpty(rows))
		fmt.Fprintln(t.out, footer)
	}
	return nil
}

// boardUnbanCommand takes bans back.
type boardUnbanCommand struct {
	Keys []string `arg:"" help:"The keys."`
	moderateFlags
}

// Help is shown by --help.
func (*boardUnbanCommand) Help() string {
	return `Takes shoal board ban back: the entries stand where their scores put them, and new scores are taken. What was hidden by
shoal board hide stays hidden.

  shoal board unban u_42 -m "it was the brother"

` + exitCodes
}

// Run takes bans back.
func (c *boardUnbanCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		if c.DryRun {
			return t.entriesEverywhere(ctx, c.Keys, "could be shown. Nothing was changed.")
		}
		if err := t.boards.Unban(ctx, c.moderator(), c.Keys...); err != nil {
			return again(err)
		}
		return t.print(banned{c.Keys, false}, func() { fmt.Fprintf(t.out, "%s: not banned any more\n", strings.Join(c.Keys, ", ")) })
	})
}

// boardBansCommand lists bans.
type boardBansCommand struct {
	After string `placeholder:"KEY" help:"Only keys behind this one."`
	Limit int    `default:"1000" help:"How many at most; 0 for all."`
	boardFlags
}

// Help is shown by --help.
func (*boardBansCommand) Help() string {
	return `Lists the banned keys, in the order of the keys.

  shoal board bans --json | jq -r .key

` + exitCodes
}

// banForm is a ban as --json prints it.
type banForm struct {
	Key   string    `json:"key"`
	At    time.Time `json:"at"`
	Actor string    `json:"actor,omitempty"`
	Note  string    `json:"note,omitempty"`
}

// Run lists.
func (c *boardBansCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		rows := [][]string{{"KEY", "SINCE", "BY", "WHY"}}
		err := t.list(c.After, c.Limit, func(after string, limit int) (string, int, error) {
			page, err := t.boards.Bans(ctx, after, limit)
			for _, b := range page {
				after = b.Key
				if printErr := t.print(banForm{b.Key, b.At, b.Actor, b.Reason}, func() {
					rows = append(rows, []string{b.Key, when(b.At), b.Actor, clip(b.Reason, 60)})
				}); printErr != nil {
					return after, len(page), printErr
				}
			}
			return after, len(page), err
		})
		if err == nil && !t.json {
			t.table(withoutEmpty(rows))
		}
		return err
	})
}

// boardAuditCommand shows what operators did.
type boardAuditCommand struct {
	Before string `placeholder:"ID" help:"Only what came before this entry."`
	Limit  int    `default:"100" help:"How many at most."`
	boardFlags
}

// Help is shown by --help.
func (*boardAuditCommand) Help() string {
	return `Prints who removed, hid, showed and banned whom, newest first. An entry is written before its action: one that failed on
the way is here, too.

  shoal board audit
  shoal board audit --json | jq 'select(.board == "Kills")'

` + exitCodes
}

// Run reads.
func (c *boardAuditCommand) Run(ctx context.Context, o *output) error {
	if c.Limit < 1 || c.Limit > store.MaxPage {
		return usage("--limit: 1 to %d expected, got %d", store.MaxPage, c.Limit)
	}
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		page, next, err := t.boards.Audit(ctx, c.Before, c.Limit)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "TIME", "WHO", "WHAT", "BOARD", "KEYS", "WHY"}}
		for _, e := range page {
			if err := t.print(e, func() { rows = append(rows, auditRow(e)) }); err != nil {
				return err
			}
		}
		if !t.json {
			t.table(withoutEmpty(rows))
		}
		if next != "" {
			fmt.Fprintf(t.err, "the newest %d are shown; --before %s goes on\n", len(page), next)
		}
		return nil
	})
}

func auditRow(e board.AuditEntry) []string {
	where := e.Board
	if where == "" {
		where = "all"
	}
	keys := strings.Join(e.Keys, " ")
	if e.Erased > 0 {
		keys = strings.TrimSpace(fmt.Sprintf("%s (%d erased)", keys, e.Erased))
	}
	return []string{e.ID, when(e.At), e.Actor, string(e.Action), where, clip(keys, 60), clip(e.Reason, 60)}
}
