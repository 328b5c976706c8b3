package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/season"
)

// resultsPage is how many results are read at once.
const resultsPage = 50

// seasonResultsCommand shows closed seasons.
type seasonResultsCommand struct {
	ID     string `arg:"" optional:"" help:"A closed season, such as C1S2. Without: all of them, newest first, with their winners."`
	Board  string `placeholder:"NAME" help:"Only this board."`
	Count  int    `short:"n" default:"10" help:"How many places of each board; 0 for all, the reserve included. Without ID: how many seasons."`
	Before string `placeholder:"ID" help:"Without ID: only seasons before this one."`
	seasonFlags
}

// Help is shown by --help.
func (*seasonResultsCommand) Help() string {
	return `A result never changes; operators' corrections stand beside it and are taken into account here: those who were disqualified
are named apart, and the others have moved up. The reserve are the places below the titles.

  shoal season results
  shoal season results C1S2 --board Fish -n 50
  shoal season results C1S2 --json | jq '.boards[] | {board, top: [.entries[].key]}'

` + exitCodes
}

// Run reads.
func (c *seasonResultsCommand) Run(ctx context.Context, o *output) error {
	if c.Count < 0 {
		return usage("--count: 0 or more expected, got %d", c.Count)
	}
	if c.ID != "" && c.Before != "" {
		return usage("--before: without a season's id only")
	}
	return c.onSeason(ctx, o, func(ctx context.Context, t *seasonTool) error {
		if c.ID == "" {
			return c.list(ctx, t)
		}
		st, err := t.series.Standings(ctx, c.ID)
		if err != nil {
			return err
		}
		form, err := t.standings(ctx, st, c.Board)
		if err != nil {
			return err
		}
		return t.print(form, func() { t.printStandings(form, c.Count) })
	})
}

// standingsForm is a closed season as --json prints it.
type standingsForm struct {
	seasonForm
	Unplayed    bool         `json:"unplayed"`
	Corrections int          `json:"corrections"`
	ClosedBy    *closeNote   `json:"closedBy,omitempty"`
	Boards      []boardForms `json:"boards"`
}

// closeNote is who closed a season.
type closeNote struct {
	Node    string    `json:"node"`
	Time    time.Time `json:"time"`
	Without []string  `json:"without,omitempty"`
	Actor   string    `json:"actor,omitempty"`
	Note    string    `json:"note,omitempty"`
}

// boardForms is a board of a closed season.
type boardForms struct {
	Board        string      `json:"board"`
	Title        string      `json:"title"`
	Order        string      `json:"order"`
	Total        int64       `json:"total"`
	Missing      bool        `json:"missing,omitempty"`
	Entries      []placeForm `json:"entries"`
	Reserve      []placeForm `json:"reserve"`
	Disqualified []placeForm `json:"disqualified,omitempty"`
}

// standings are those of a season, on all boards or on one.
func (t *seasonTool) standings(ctx context.Context, st *season.Standings, board string) (standingsForm, error) {
	info := t.series.Config().Describe(st.Result.K, t.node.Now())
	out := standingsForm{seasonForm: asSeason(info), Unplayed: st.Result.Unplayed, Corrections: st.Corrections, Boards: []boardForms{}}
	by, err := t.series.ClosedBy(ctx, st.Result.Season)
	if err != nil {
		return out, err
	}
	if by.Node != "" {
		out.ClosedBy = &closeNote{by.Node, by.Time.UTC(), by.Waiver.Boards, by.Waiver.By, by.Waiver.Note}
	}
	for _, b := range st.Boards {
		if board == "" || b.Board == board {
			one := standingsOn(b)
			for _, places := range [][]placeForm{one.Entries, one.Reserve, one.Disqualified} {
				t.name(ctx, places)
			}
			out.Boards = append(out.Boards, one)
		}
	}
	if board != "" {
		return out, hasBoards(st, board)
	}
	return out, nil
}

func standingsOn(b season.BoardStandings) boardForms {
	return boardForms{
		Board: b.Board, Title: b.Title, Order: b.Order, Total: b.Total, Missing: b.Missing,
		Entries: placesOf(b.Top), Reserve: placesOf(b.Reserve), Disqualified: placesOf(b.Disqualified),
	}
}

func placesOf(list []season.Placed) []placeForm {
	out := make([]placeForm, len(list))
	for i, p := range list {
		out[i] = placeForm{int64(p.Rank), p.Key, p.Name, p.Score}
	}
	return out
}

func (t *seasonTool) printStandings(s standingsForm, count int) {
	rows := [][]string{
		{"season", fmt.Sprintf("%s of %s: %s, number %d", s.Season, t.series.Name(), s.Name, s.Number)},
		{"ran", day(s.Start) + " to " + day(s.End) + " UTC"},
	}
	if by := s.ClosedBy; by != nil {
		rows = append(rows, []string{"closed", when(by.Time) + " by " + by.Node})
		if len(by.Without) > 0 {
			rows = append(rows, []string{"without", fmt.Sprintf("%s, by %s: %s", strings.Join(by.Without, ", "), by.Actor, by.Note)})
		}
	}
	if s.Corrections > 0 {
		rows = append(rows, []string{"corrections", fmt.Sprintf("%d; shoal season corrections %s lists them", s.Corrections, s.Season)})
	}
	t.table(rows)
	if s.Unplayed {
		fmt.Fprintln(t.out, "\nNobody scored in this season.")
		return
	}
	for _, b := range s.Boards {
		t.printBoard(b, count)
	}
}

// printBoard prints the first places of a board; 0 is all of them.
func (t *seasonTool) printBoard(b boardForms, count int) {
	fmt.Fprintf(t.out, "\n%s\n", b.heading())
	all := slices.Concat(b.Entries, b.Reserve)
	shown := all
	if count > 0 {
		shown = all[:min(count, len(all))]
	}
	if len(shown) > 0 {
		rows := placeRows(shown)
		for i := range rows[1:] {
			if i >= len(b.Entries) {
				rows[i+1] = append(rows[i+1], "reserve")
			}
		}
		t.table(rows)
	}
	if rest := len(all) - len(shown); rest > 0 {
		fmt.Fprintf(t.out, "and %s; -n 0 shows all that the result has\n", playersOf(int64(rest)))
	}
	for _, p := range b.Disqualified {
		fmt.Fprintln(t.out, plain(fmt.Sprintf("disqualified: %s, who was %d with %d", whoIs(p), p.Rank, p.Score)))
	}
}

// whoIs is a player for people.
func whoIs(p placeForm) string {
	if p.Name == "" {
		return p.Key
	}
	return p.Name + " (" + p.Key + ")"
}

func (b *boardForms) heading() string {
	switch {
	case b.Missing:
		return plain(fmt.Sprintf("%s (%s): the season was closed without it", b.Board, b.Title))
	case b.Total == 0:
		return plain(fmt.Sprintf("%s (%s): nobody was on it", b.Board, b.Title))
	}
	return plain(fmt.Sprintf("%s (%s): %s", b.Board, b.Title, playersOf(b.Total)))
}

// closedLine is a closed season of the list as --json prints it.
type closedLine struct {
	seasonForm
	Unplayed    bool         `json:"unplayed"`
	Corrections int          `json:"corrections"`
	Winners     []winnerForm `json:"winners"`
}

// winnerForm is the first place of a board.
type winnerForm struct {
	Board   string     `json:"board"`
	Title   string     `json:"title"`
	Total   int64      `json:"total"`
	Missing bool       `json:"missing,omitempty"`
	Winner  *placeForm `json:"winner,omitempty"`
}

// list prints closed seasons, newest first.
func (c *seasonResultsCommand) list(ctx context.Context, t *seasonTool) error {
	rows := [][]string{{"SEASON", "ENDED (UTC)", "BOARD", "PLAYERS", "WINNER", "SCORE", ""}}
	before, shown, had := c.Before, 0, c.Board == ""
	for c.Count == 0 || shown < c.Count {
		want := resultsPage
		if c.Count > 0 {
			want = min(want, c.Count-shown)
		}
		page, err := t.series.Results(ctx, before, want)
		if err != nil {
			return err
		}
		for _, res := range page {
			st, err := t.series.Standings(ctx, res.Season)
			if err != nil {
				return err
			}
			line := t.closedLine(ctx, st, c.Board)
			if err := t.print(line, func() { rows = append(rows, line.rows()...) }); err != nil {
				return err
			}
			before, shown, had = res.Season, shown+1, had || len(line.Winners) > 0
		}
		if len(page) < want {
			break
		}
	}
	if !had {
		if _, err := t.board(c.Board); err != nil {
			return err
		}
	}
	if t.json {
		return nil
	}
	if shown == 0 {
		fmt.Fprintln(t.out, c.none())
		return nil
	}
	t.table(withoutEmpty(rows))
	if first := t.series.Config().ID(t.status.First); c.Count > 0 && shown == c.Count && before != first {
		fmt.Fprintf(t.err, "%d are shown; --before %s goes on, -n 0 shows all\n", shown, before)
	}
	return nil
}

// none says that there is nothing to list.
func (c *seasonResultsCommand) none() string {
	if c.Before != "" {
		return "no season before " + c.Before + " is closed"
	}
	return "no season is closed yet; shoal season show tells what waits to be"
}

func (t *seasonTool) closedLine(ctx context.Context, st *season.Standings, board string) closedLine {
	out := closedLine{
		seasonForm: asSeason(t.series.Config().Describe(st.Result.K, t.node.Now())),
		Unplayed:   st.Result.Unplayed, Corrections: st.Corrections, Winners: []winnerForm{},
	}
	for _, b := range st.Boards {
		if board != "" && b.Board != board {
			continue
		}
		w := winnerForm{Board: b.Board, Title: b.Title, Total: b.Total, Missing: b.Missing}
		if len(b.Top) > 0 {
			first := placesOf(b.Top[:1])
			t.name(ctx, first)
			w.Winner = &first[0]
		}
		out.Winners = append(out.Winners, w)
	}
	return out
}

// rows are a closed season as lines of a table.
func (l *closedLine) rows() [][]string {
	switch {
	case l.Unplayed:
		return [][]string{{l.Season, day(l.End), "–", "", "nobody played", "", ""}}
	case len(l.Winners) == 0:
		return [][]string{{l.Season, day(l.End), "–", "", "had no such board", "", ""}}
	}
	var rows [][]string
	for i, w := range l.Winners {
		row := []string{"", "", w.Board, fmt.Sprint(w.Total), "–", "", ""}
		if i == 0 {
			row[0], row[1] = l.Season, day(l.End)
		}
		switch {
		case w.Missing:
			row[4] = "closed without it"
		case w.Winner != nil:
			row[4], row[5] = whoIs(*w.Winner), fmt.Sprint(w.Winner.Score)
		}
		if i == 0 && l.Corrections > 0 {
			row[6] = countOf(l.Corrections, "correction", "corrections")
		}
		rows = append(rows, row)
	}
	return rows
}
