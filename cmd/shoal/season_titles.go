package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shoalworks/shoal/season"
)

// seasonTitlesCommand shows what seasons are to a player.
type seasonTitlesCommand struct {
	Key string `arg:"" help:"The player's key."`
	seasonFlags
}

// Help is shown by --help.
func (*seasonTitlesCommand) Help() string {
	return `Prints the titles that a player has won, the counters of the running season, and the place on each board, from the profile
as it is stored: what its holder has in memory may be newer. A title of a season that has just been closed, and a
correction, come to the profile when the player next loads, or within minutes when they are online.

  shoal season titles u_42
  shoal season titles u_42 --json | jq -r '.titles[].text'

` + exitCodes
}

// seasonPlayer is what --json prints of titles.
type seasonPlayer struct {
	Key    string           `json:"key"`
	Season string           `json:"season"`
	Holder string           `json:"holder,omitempty"`
	Stats  map[string]int64 `json:"stats"`
	Boards []cardForm       `json:"boards"`
	Titles []titleForm      `json:"titles"`
}

// cardForm is a player's place on a board of the running season.
type cardForm struct {
	Board    string     `json:"board"`
	Title    string     `json:"title"`
	Live     *int64     `json:"live,omitempty"`
	Standing *placeForm `json:"standing,omitempty"`
	Total    int64      `json:"total"`
	Error    string     `json:"error,omitempty"`
}

// titleForm is a title.
type titleForm struct {
	Season      string `json:"season"`
	Board       string `json:"board"`
	Rank        int    `json:"rank"`
	Score       int64  `json:"score"`
	Text        string `json:"text"`
	Corrections int    `json:"corrections"`
}

// Run reads.
func (c *seasonTitlesCommand) Run(ctx context.Context, o *output) error {
	return c.onSeason(ctx, o, func(ctx context.Context, t *seasonTool) error {
		view, err := t.node.Set(t.series.Set()).Read(ctx, c.Key)
		if err != nil {
			return err
		}
		card, err := t.series.CardOf(ctx, c.Key, view.Data, view.Created)
		if err != nil {
			return err
		}
		form := playerForm(c.Key, card)
		if view.Holder != nil {
			form.Holder = view.Holder.Node
		}
		return t.print(form, func() { t.printPlayer(form, card) })
	})
}

func playerForm(key string, card season.Card) seasonPlayer {
	out := seasonPlayer{Key: key, Season: card.Block.Season, Stats: card.Block.Stats, Boards: []cardForm{}, Titles: []titleForm{}}
	for _, b := range card.Boards {
		one := cardForm{Board: b.Board, Title: b.Title, Total: b.Total}
		if b.Counted {
			one.Live = &b.Live
		}
		if b.OK {
			one.Standing = &placeForm{Rank: b.Standing.Rank, Key: key, Score: b.Standing.Score}
		}
		if b.Err != nil {
			one.Error = b.Err.Error()
		}
		out.Boards = append(out.Boards, one)
	}
	for _, t := range card.Block.Titles {
		out.Titles = append(out.Titles, titleForm{t.Season, t.Board, t.Rank, t.Score, t.Text, t.Corrections})
	}
	return out
}

func (t *seasonTool) printPlayer(p seasonPlayer, card season.Card) {
	fmt.Fprintf(t.out, "%s in %s (%s), with %s left\n", p.Key, p.Season, card.Info.Name, inWords(card.Info.Remaining))
	if p.Holder != "" {
		fmt.Fprintf(t.out, "as it is stored; what %s has in memory may be newer\n", p.Holder)
	}
	if len(p.Stats) == 0 {
		fmt.Fprintln(t.out, "nothing was counted in it yet")
	} else {
		rows := [][]string{{"COUNTER", "NOW"}}
		for _, name := range slices.Sorted(maps.Keys(p.Stats)) {
			rows = append(rows, []string{name, fmt.Sprint(p.Stats[name])})
		}
		t.table(rows)
	}
	fmt.Fprintln(t.out)
	rows := [][]string{{"BOARD", "PLACE", "OF", "SCORE THERE", ""}}
	for _, b := range p.Boards {
		row := []string{b.Board, "–", fmt.Sprint(b.Total), "–", b.Error}
		if b.Standing != nil {
			row[1], row[3] = fmt.Sprint(b.Standing.Rank), fmt.Sprint(b.Standing.Score)
		}
		rows = append(rows, row)
	}
	t.table(withoutEmpty(rows))
	fmt.Fprintln(t.out)
	if len(p.Titles) == 0 {
		fmt.Fprintln(t.out, "no titles yet")
		return
	}
	rows = [][]string{{"TITLE", "SEASON", "BOARD", "SCORE"}}
	for _, one := range p.Titles {
		rows = append(rows, []string{one.Text, one.Season, one.Board, fmt.Sprint(one.Score)})
	}
	t.table(rows)
}
