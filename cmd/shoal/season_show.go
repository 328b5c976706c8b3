package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/season"
)

// seasonShowCommand shows the running season.
type seasonShowCommand struct {
	Count int    `short:"n" default:"3" help:"How many entries of each board, at most as many as titles will be given (50)."`
	Board string `placeholder:"NAME" help:"Only this board."`
	seasonFlags
}

// Help is shown by --help.
func (*seasonShowCommand) Help() string {
	return `Which season it is goes by the store's clock. Boards are read as they are in the store: what players have just done is on
them within 30 s. A season that is over is closed by any daemon after its grace (5 minutes by default); what keeps it from
that is told as far as it can be seen from here, and the daemons' logs say more.

  shoal season show
  shoal season show -n 50 --board Fish
  shoal season show --season-length 60s --season-epoch 2026-08-11T00:00:00Z
  shoal season show --json | jq '.boards[] | {board, leader: .entries[0].key}'

` + exitCodes
}

// seasonNow is what --json prints of show.
type seasonNow struct {
	Series    string        `json:"series"`
	Set       string        `json:"set"`
	Now       time.Time     `json:"now"`
	Current   seasonForm    `json:"current"`
	Remaining int64         `json:"remainingSeconds"`
	Fresh     bool          `json:"fresh"`
	ClockLead float64       `json:"clockLeadSeconds"` // of this machine's clock before the store's
	First     *seasonForm   `json:"first,omitempty"`
	Through   *seasonForm   `json:"closedThrough,omitempty"`
	Waiting   []waitingForm `json:"waiting"`
	Boards    []boardNow    `json:"boards"`
}

// waitingForm is a season that is over and has no result.
type waitingForm struct {
	Season string    `json:"season"`
	Due    time.Time `json:"due"`
	Why    string    `json:"why"`
}

// boardNow is a board of the running season.
type boardNow struct {
	Board   string      `json:"board"`
	Title   string      `json:"title"`
	Total   int64       `json:"total"`
	Error   string      `json:"error,omitempty"`
	Entries []placeForm `json:"entries"`
}

// Run reads.
func (c *seasonShowCommand) Run(ctx context.Context, o *output) error {
	if c.Count < 0 {
		return usage("--count: 0 or more expected, got %d", c.Count)
	}
	return c.onSeason(ctx, o, func(ctx context.Context, t *seasonTool) error {
		now, err := t.now(ctx)
		if err != nil {
			return err
		}
		boards := t.series.Config().Boards
		if c.Board != "" {
			one, err := t.board(c.Board)
			if err != nil {
				return err
			}
			boards = []season.Board{one}
		}
		for _, b := range boards {
			now.Boards = append(now.Boards, t.boardNow(ctx, b, c.Count))
		}
		return t.print(now, func() { t.printNow(now) })
	})
}

// now is what there is to say of the series.
func (t *seasonTool) now(ctx context.Context) (seasonNow, error) {
	waiting, err := t.series.Unclosed(ctx)
	if err != nil {
		return seasonNow{}, err
	}
	st, now := t.status, t.node.Now()
	out := seasonNow{
		Series: t.series.Name(), Set: t.series.Set(), Now: now, Current: asSeason(st.Current), Fresh: st.Fresh,
		Remaining: int64(st.Current.Remaining / time.Second), ClockLead: st.ClockDifference.Round(time.Millisecond).Seconds(),
		Waiting: waitingForms(waiting), Boards: []boardNow{},
	}
	if st.Started {
		first := asSeason(t.series.Config().Describe(st.First, now))
		out.First = &first
	}
	if st.Started && st.Through >= st.First {
		through := asSeason(t.series.Config().Describe(st.Through, now))
		out.Through = &through
	}
	return out, nil
}

func waitingForms(list []season.Waiting) []waitingForm {
	out := make([]waitingForm, len(list))
	for i, w := range list {
		out[i] = waitingForm{w.Season, w.Since.UTC(), w.Why}
	}
	return out
}

// boardNow reads the best of a board. One that cannot be read does not hide the others.
func (t *seasonTool) boardNow(ctx context.Context, b season.Board, count int) boardNow {
	out := boardNow{Board: b.Name, Title: b.Title, Entries: []placeForm{}}
	best, err := t.series.Leaders(ctx, b.Name, max(count, 1)) // 0 would be all
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Total = best.Total
	for _, row := range best.Rows[:min(count, len(best.Rows))] {
		out.Entries = append(out.Entries, placeForm{row.Rank, row.Key, row.Name, row.Score})
	}
	t.name(ctx, out.Entries)
	return out
}

func (t *seasonTool) printNow(now seasonNow) {
	rows := [][]string{
		{"season", fmt.Sprintf("%s of %s: %s, number %d", now.Current.Season, now.Series, now.Current.Name, now.Current.Number)},
		{"began", day(now.Current.Start) + " UTC"},
		{"ends", fmt.Sprintf("%s UTC, in %s", day(now.Current.End), inWords(now.Current.End.Sub(now.Now)))},
		{"closed", now.closed()},
	}
	for _, w := range now.Waiting {
		rows = append(rows, []string{"not closed", w.Season + ": " + w.Why})
	}
	if lead := t.status.ClockDifference; lead.Abs() > 5*time.Second {
		rows = append(rows, []string{"clock", fmt.Sprintf("this machine's is %s off the store's", inWords(lead.Abs()))})
	}
	if !now.Fresh {
		rows = append(rows, []string{"clock", "the store's could not be read lately; no season is closed meanwhile"})
	}
	t.table(rows)
	gap := true
	for _, b := range now.Boards {
		if gap || len(b.Entries) > 0 {
			fmt.Fprintln(t.out)
		}
		fmt.Fprintln(t.out, b.heading())
		if gap = len(b.Entries) > 0; gap {
			t.table(placeRows(b.Entries))
		}
	}
}

func (n *seasonNow) closed() string {
	switch {
	case n.First == nil:
		return "nobody has played yet"
	case n.Through == nil:
		return "none; " + n.First.Season + " was the first that was played"
	}
	return "up to " + n.Through.Season + "; shoal season results shows them"
}

func (b *boardNow) heading() string {
	switch {
	case b.Error != "":
		return plain(fmt.Sprintf("%s (%s): %s", b.Board, b.Title, b.Error))
	case b.Total == 0:
		return plain(fmt.Sprintf("%s (%s): nobody is on it", b.Board, b.Title))
	}
	return plain(fmt.Sprintf("%s (%s): %s", b.Board, b.Title, playersOf(b.Total)))
}

func playersOf(n int64) string {
	if n == 1 {
		return "1 player"
	}
	return humanize.Comma(n) + " players"
}

// placeRows are places as a table.
func placeRows(places []placeForm) [][]string {
	rows := [][]string{{"RANK", "KEY", "NAME", "SCORE"}}
	for _, p := range places {
		rows = append(rows, []string{fmt.Sprint(p.Rank), p.Key, p.Name, fmt.Sprint(p.Score)})
	}
	return withoutEmpty(rows)
}
