package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// moderateFlags go with every command that moderates.
type moderateFlags struct {
	boardFlags
	Note   string `short:"m" placeholder:"TEXT" help:"Why, for the record."`
	Actor  string `placeholder:"NAME" help:"Who, for the record. Default: the name of this user."`
	DryRun bool   `help:"Show what would change; change nothing."`
}

func (f *moderateFlags) moderator() board.Moderator {
	return board.Moderator{Actor: actorName(f.Actor), Reason: f.Note}
}

// confirmKeys asks for what many keys are confirmed with: the key, or how many there are.
func (c *confirmFlag) confirmKeys(ctx context.Context, o *output, what string, keys []string) error {
	if len(keys) == 1 {
		return c.confirm(ctx, o, what, keys[0])
	}
	return c.confirmNamed(ctx, o, what, "how many keys they are", fmt.Sprint(len(keys)))
}

// boardRemoveCommand deletes entries.
type boardRemoveCommand struct {
	Board string   `arg:"" help:"The board's name."`
	Keys  []string `arg:"" help:"The entries' keys."`
	moderateFlags
	confirmFlag
}

// Help is shown by --help.
func (*boardRemoveCommand) Help() string {
	return `Deletes the entries, hidden ones too. A later score of a key makes a new entry; to keep somebody off, hide or ban them. A
score that waits in a server at this moment (1 s by default) may still arrive. On a board that mirrors profiles the next
save brings the entry back. Several keys are confirmed with their number.

  shoal board remove Kills u_42 --confirm u_42 -m "cheated"
  shoal board remove Kills u_42 u_43 u_44 --confirm 3

` + exitCodes
}

// Run removes.
func (c *boardRemoveCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.find(ctx, c.Board)
		if err != nil {
			return err
		}
		list, err := t.entries(ctx, s, c.Keys)
		if err != nil {
			return err
		}
		if c.DryRun {
			return t.printStandings(ctx, s, list, func() { fmt.Fprintln(t.out, "would be removed, and hidden entries of the keys. Nothing was changed.") })
		}
		if err := c.confirmKeys(ctx, o, fmt.Sprintf("delete %d entries from %s", len(c.Keys), c.Board), c.Keys); err != nil {
			return err
		}
		n, err := t.boards.RemoveBy(ctx, c.moderator(), c.Board, c.Keys...)
		if err != nil {
			return again(err)
		}
		return t.print(removed{c.Board, n}, func() { fmt.Fprintf(t.out, "%s: %s\n", c.Board, countOf(n, "entry removed", "entries removed")) })
	})
}

// again says that an action may be repeated.
func again(err error) error {
	return fmt.Errorf("%w\nrun it again: what is done already is left as it is", err)
}

// removed is what --json prints of a removal.
type removed struct {
	Board   string `json:"board"`
	Removed int    `json:"removed"`
}

// changed is what --json prints of hide and show.
type changed struct {
	Board   string `json:"board"`
	Changed int    `json:"changed"`
}

// countOf is a number with what it counts.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// boardHideCommand hides keys.
type boardHideCommand struct {
	Board string   `arg:"" help:"The board's name."`
	Keys  []string `arg:"" help:"The keys."`
	moderateFlags
}

// Help is shown by --help.
func (*boardHideCommand) Help() string {
	return `A hidden entry keeps its score and takes new ones, but has no rank and is on no page. A key without an entry is hidden
when one comes. shoal board show takes it back; shoal board ban hides on every board.

  shoal board hide Kills u_42 -m "under review"

` + exitCodes
}

// Run hides.
func (c *boardHideCommand) Run(ctx context.Context, o *output) error {
	return c.turn(ctx, o, c.Board, c.Keys, turn{(*board.Service).Hide, "would be hidden", "hidden"})
}

// boardShowCommand shows keys again.
type boardShowCommand struct {
	Board string   `arg:"" help:"The board's name."`
	Keys  []string `arg:"" help:"The keys."`
	moderateFlags
}

// Help is shown by --help.
func (*boardShowCommand) Help() string {
	return `Takes shoal board hide back: the entries stand where their scores, and the moment they were reached, put them. A banned
key stays hidden: shoal board unban.

  shoal board show Kills u_42

` + exitCodes
}

// Run shows.
func (c *boardShowCommand) Run(ctx context.Context, o *output) error {
	return c.turn(ctx, o, c.Board, c.Keys, turn{(*board.Service).Show, "would be shown", "shown"})
}

// turn is one of hide and show.
type turn struct {
	do          func(*board.Service, context.Context, board.Moderator, string, ...string) (int, error)
	would, done string
}

func (f *moderateFlags) turn(ctx context.Context, o *output, name string, keys []string, how turn) error {
	return f.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.stored(ctx, name)
		if err != nil {
			return err
		}
		if f.DryRun {
			list, err := t.entries(ctx, s, keys)
			if err != nil {
				return err
			}
			return t.printStandings(ctx, s, list, func() { fmt.Fprintf(t.out, "%s %s. Nothing was changed.\n", strings.Join(keys, ", "), how.would) })
		}
		n, err := how.do(t.boards, ctx, f.moderator(), name, keys...)
		if err != nil {
			return again(err)
		}
		return t.print(changed{name, n}, func() {
			fmt.Fprintf(t.out, "%s: %s %s", name, countOf(n, "key", "keys"), how.done)
			if rest := len(keys) - n; rest > 0 {
				fmt.Fprintf(t.out, ", %d were before", rest)
			}
			fmt.Fprintln(t.out)
		})
	})
}

// boardHiddenCommand lists hidden keys.
type boardHiddenCommand struct {
	Board string `arg:"" help:"The board's name."`
	After string `placeholder:"KEY" help:"Only keys behind this one."`
	Limit int    `default:"1000" help:"How many at most; 0 for all."`
	boardFlags
}

// Help is shown by --help.
func (*boardHiddenCommand) Help() string {
	return `Lists the keys that are hidden on a board, by hand or by a ban, in the order of the keys.

  shoal board hidden Kills

` + exitCodes
}

// Run lists.
func (c *boardHiddenCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.find(ctx, c.Board)
		if err != nil || !s.stored {
			return t.nothing(s, err)
		}
		rows := [][]string{{"KEY", "SCORE", "META"}}
		err = t.list(c.After, c.Limit, func(after string, limit int) (string, int, error) {
			page, err := t.boards.Hidden(ctx, c.Board, after, limit)
			for _, e := range page {
				after = e.Key
				if printErr := t.print(t.hiddenForm(s, e), func() { rows = append(rows, t.hiddenRow(s, e)) }); printErr != nil {
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

// list asks for page after page until there is none or limit (0: all) is reached.
func (t *boardTool) list(after string, limit int, page func(after string, limit int) (last string, n int, err error)) error {
	for shown := 0; limit == 0 || shown < limit; {
		want := store.MaxPage
		if limit > 0 {
			want = min(want, limit-shown)
		}
		last, n, err := page(after, want)
		if err != nil || n < want {
			return err
		}
		after, shown = last, shown+n
	}
	fmt.Fprintf(t.err, "the first %d are shown; --limit 0 shows all, --after %s goes on\n", limit, after)
	return nil
}

// hiddenForm is a hidden key as --json prints it.
type hiddenForm struct {
	Key     string `json:"key"`
	Score   *int64 `json:"score,omitempty"`
	Decimal string `json:"decimal,omitempty"`
	Meta    []byte `json:"meta,omitempty"`
}

func (t *boardTool) hiddenForm(s *shelf, e store.HiddenEntry) hiddenForm {
	if !e.Scored {
		return hiddenForm{Key: e.Key}
	}
	return hiddenForm{e.Key, &e.Score, t.decimal(s, e.Score), e.Meta}
}

func (t *boardTool) hiddenRow(s *shelf, e store.HiddenEntry) []string {
	if !e.Scored {
		return []string{e.Key, "– (in advance)", ""}
	}
	return []string{e.Key, t.score(s, e.Score), metaText(e.Meta)}
}
