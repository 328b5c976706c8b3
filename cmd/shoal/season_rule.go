package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// rulingFlags go with both rulings.
type rulingFlags struct {
	ID    string   `arg:"" help:"A closed season, such as C1S2."`
	Key   string   `arg:"" help:"The player's key."`
	Board []string `placeholder:"NAME" help:"Only on this board; several are parted by commas. Default: all that the season had."`
	actorFlags
	confirmFlag
	seasonFlags
}

// seasonDisqualifyCommand takes a player out of the standings.
type seasonDisqualifyCommand struct{ rulingFlags }

// Help is shown by --help.
func (*seasonDisqualifyCommand) Help() string {
	return `Takes a player out of the standings of a closed season: those below move up, and the reserve fills the places with titles.
The result itself never changes; the decision is kept beside it, with who and why. Titles follow when their owners next
load, or within minutes when they are online. Rewards that were given stay, unless the game takes them back.
In the running season, take a cheater off the boards instead: shoal board ban.

  shoal season disqualify C1S2 u_42 --dry-run
  shoal season disqualify C1S2 u_42 --confirm u_42 -m "bot, ticket 881"
  shoal season disqualify C1S2 u_42 --board Fish --confirm u_42 -m "duplicated fish"

` + exitCodes
}

// Run rules.
func (c *seasonDisqualifyCommand) Run(ctx context.Context, o *output) error {
	return c.rule(ctx, o, false)
}

// seasonReinstateCommand takes a disqualification back.
type seasonReinstateCommand struct{ rulingFlags }

// Help is shown by --help.
func (*seasonReinstateCommand) Help() string {
	return `Takes shoal season disqualify back: the player stands where the result says, and those who had moved up sink again, some
out of the places with titles.

  shoal season reinstate C1S2 u_42 --dry-run
  shoal season reinstate C1S2 u_42 --confirm u_42 -m "it was the brother"

` + exitCodes
}

// Run rules.
func (c *seasonReinstateCommand) Run(ctx context.Context, o *output) error {
	return c.rule(ctx, o, true)
}

// rule makes a ruling, or shows what it would change.
func (c *rulingFlags) rule(ctx context.Context, o *output, reinstates bool) error {
	if err := name.CheckKey("KEY", c.Key); err != nil {
		return byKind(err)
	}
	if err := c.needNote(); err != nil && !c.DryRun {
		return err
	}
	return c.onSeason(ctx, o, func(ctx context.Context, t *seasonTool) error {
		before, err := t.series.Standings(ctx, c.ID)
		if err != nil {
			return err
		}
		if err := hasBoards(before, c.Board...); err != nil {
			return err
		}
		ruling := season.Ruling{Key: c.Key, Boards: c.Board, By: actorName(c.Actor), Reason: c.Note}
		if c.DryRun {
			return t.foresee(ctx, before, season.Correction{Reinstates: reinstates, Ruling: ruling})
		}
		do, verb := t.series.Disqualify, "disqualify"
		if reinstates {
			do, verb = t.series.Reinstate, "reinstate"
		}
		if err := c.confirm(ctx, o, fmt.Sprintf("%s %s in %s", verb, c.Key, c.ID), c.Key); err != nil {
			return err
		}
		after, err := do(ctx, c.ID, ruling)
		switch {
		case is(err, store.ErrUnknown, store.ErrUnavailable):
			return again(err)
		case err != nil:
			return err
		}
		return t.printMoves(before, after, false)
	})
}

// foresee shows what a correction would change.
func (t *seasonTool) foresee(ctx context.Context, before *season.Standings, c season.Correction) error {
	if c.Reason == "" {
		c.Reason = "to see what would change" // it is checked like one that is made
	}
	after, err := t.series.Foresee(ctx, before.Result.Season, c)
	if err != nil {
		return err
	}
	return t.printMoves(before, after, true)
}

// hasBoards refuses boards that a closed season did not have.
func hasBoards(st *season.Standings, wanted ...string) error {
	var names []string
	for _, b := range st.Boards {
		names = append(names, b.Board)
	}
	for _, one := range wanted {
		if !slices.Contains(names, one) {
			return missing("--board: %s had no board %q; %s", st.Result.Season, one, thereAre(names))
		}
	}
	return nil
}

// movesForm is what a ruling changes, as --json prints it.
type movesForm struct {
	Season      string       `json:"season"`
	Corrections int          `json:"corrections"`
	Changed     bool         `json:"changed"`
	DryRun      bool         `json:"dryRun,omitempty"`
	Boards      []boardMoves `json:"boards"`
}

// boardMoves are those whose place with a title changes on a board.
type boardMoves struct {
	Board string     `json:"board"`
	Title string     `json:"title"`
	Moves []moveForm `json:"moves"`
}

// moveForm is a place that changes. A rank of 0 is none with a title.
type moveForm struct {
	Key   string `json:"key"`
	Name  string `json:"name,omitempty"`
	Score int64  `json:"score"`
	From  int    `json:"from"`
	To    int    `json:"to"`
}

func (t *seasonTool) printMoves(before, after *season.Standings, dry bool) error {
	form := movesForm{Season: after.Result.Season, Corrections: after.Corrections, DryRun: dry, Boards: []boardMoves{}}
	for i, b := range after.Boards {
		if moves := movesOn(before.Boards[i], b); len(moves) > 0 {
			form.Boards = append(form.Boards, boardMoves{b.Board, b.Title, moves})
			form.Changed = true
		}
	}
	form.Changed = form.Changed || !dry && after.Corrections != before.Corrections
	return t.print(form, func() {
		for _, b := range form.Boards {
			fmt.Fprintf(t.out, "%s\n", plain(b.Board+" ("+b.Title+")"))
			rows := [][]string{{"KEY", "NAME", "SCORE", "FROM", "TO"}}
			for _, m := range b.Moves {
				rows = append(rows, []string{m.Key, m.Name, fmt.Sprint(m.Score), titleRank(m.From), titleRank(m.To)})
			}
			t.table(withoutEmpty(rows))
		}
		fmt.Fprintln(t.out, form.footer())
	})
}

func (f *movesForm) footer() string {
	switch {
	case f.DryRun && !f.Changed:
		return "No title would change. Nothing was changed."
	case f.DryRun:
		return "Nothing was changed."
	case !f.Changed:
		return f.Season + ": it was so before; nothing was changed"
	}
	return fmt.Sprintf("%s: done; it has %s now", f.Season, countOf(f.Corrections, "correction", "corrections"))
}

func titleRank(rank int) string {
	if rank == 0 {
		return "–"
	}
	return fmt.Sprintf("#%d", rank)
}

// movesOn are the places with titles that differ, in the order of the new ones, with those who
// have none any more first.
func movesOn(before, after season.BoardStandings) []moveForm {
	from, to := make(map[string]int), make(map[string]int)
	for _, p := range before.Top {
		from[p.Key] = p.Rank
	}
	for _, p := range after.Top {
		to[p.Key] = p.Rank
	}
	var out []moveForm
	for _, p := range before.Top {
		if to[p.Key] == 0 {
			out = append(out, moveForm{p.Key, p.Name, p.Score, p.Rank, 0})
		}
	}
	for _, p := range after.Top {
		if from[p.Key] != p.Rank {
			out = append(out, moveForm{p.Key, p.Name, p.Score, from[p.Key], p.Rank})
		}
	}
	return out
}

// seasonCorrectionsCommand lists rulings.
type seasonCorrectionsCommand struct {
	ID string `arg:"" help:"A closed season, such as C1S2."`
	seasonFlags
}

// Help is shown by --help.
func (*seasonCorrectionsCommand) Help() string {
	return `Lists who was disqualified and reinstated, by whom and why, oldest first. A later decision about the same player and board
stands.

  shoal season corrections C1S2
  shoal season corrections C1S2 --json | jq 'select(.key == "u_42")'

` + exitCodes
}

// correctionForm is a correction as --json prints it.
type correctionForm struct {
	Time   time.Time `json:"time"`
	Action string    `json:"action"`
	Key    string    `json:"key"`
	Boards []string  `json:"boards"`
	Actor  string    `json:"actor"`
	Note   string    `json:"note"`
}

// Run lists.
func (c *seasonCorrectionsCommand) Run(ctx context.Context, o *output) error {
	return c.onSeason(ctx, o, func(ctx context.Context, t *seasonTool) error {
		list, err := t.series.Corrections(ctx, c.ID)
		if err != nil {
			return err
		}
		rows := [][]string{{"TIME", "WHO", "WHAT", "KEY", "BOARDS", "WHY"}}
		for _, one := range list {
			form := correctionForm{one.Time.UTC(), actionOf(one), one.Key, one.Boards, one.By, one.Reason}
			if form.Boards == nil {
				form.Boards = []string{}
			}
			if err := t.print(form, func() {
				where := strings.Join(one.Boards, " ")
				if where == "" {
					where = "all"
				}
				rows = append(rows, []string{when(one.Time), one.By, form.Action, one.Key, where, clip(one.Reason, 60)})
			}); err != nil {
				return err
			}
		}
		switch {
		case t.json:
		case len(list) == 0:
			fmt.Fprintf(t.out, "%s has no corrections: it stands as it was closed\n", c.ID)
		default:
			t.table(rows)
		}
		return nil
	})
}

func actionOf(c season.Correction) string {
	if c.Reinstates {
		return "reinstate"
	}
	return "disqualify"
}
