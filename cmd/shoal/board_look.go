package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/store"
)

// boardListCommand lists boards.
type boardListCommand struct {
	Prefix string `arg:"" optional:"" help:"Only boards whose names begin so, such as season/reef/."`
	Limit  int    `default:"1000" help:"How many at most; 0 for all."`
	boardFlags
}

// Help is shown by --help.
func (*boardListCommand) Help() string {
	return `Lists the boards of the store, and those of the configuration (--config) that nobody has written to yet.

  shoal board list
  shoal board list season/reef/

` + exitCodes
}

// Run lists.
func (c *boardListCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		names, err := t.names(ctx, c.Prefix)
		if err != nil {
			return err
		}
		rows, n := [][]string{{"BOARD", "ORDER", "RULE", "ENTRIES", "HIDDEN", "STATE"}}, len(names)
		if c.Limit > 0 {
			names = names[:min(n, c.Limit)]
		}
		for _, one := range names {
			s, err := t.look(ctx, one)
			if err != nil {
				return err
			}
			if err := t.print(s.form(), func() { rows = append(rows, s.row()) }); err != nil {
				return err
			}
		}
		if !t.json {
			t.table(rows)
		}
		if n > len(names) {
			fmt.Fprintf(t.err, "the first %d of %d are shown; --limit 0 shows all\n", len(names), n)
		}
		return nil
	})
}

// names are the boards of store and configuration that begin so, sorted.
func (t *boardTool) names(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	for after := ""; ; {
		page, err := t.raw().List(ctx, prefix, after, store.MaxPage)
		if err != nil {
			return nil, err
		}
		names = append(names, page...)
		if len(page) < store.MaxPage {
			break
		}
		after = page[len(page)-1]
	}
	for _, one := range t.boards.Boards() {
		if strings.HasPrefix(one, prefix) {
			names = append(names, one)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// boardForm is a board as --json prints it.
type boardForm struct {
	Board      string `json:"board"`
	Stored     bool   `json:"stored"`
	Configured bool   `json:"configured"`
	Order      string `json:"order"`
	Rule       string `json:"rule,omitempty"`
	Mirrors    string `json:"mirrors,omitempty"`
	Decimals   int    `json:"decimals,omitempty"`
	Min        *int64 `json:"min,omitempty"`
	Max        *int64 `json:"max,omitempty"`
	Count      int64  `json:"count"`
	Hidden     int64  `json:"hidden"`
	Sequence   uint64 `json:"sequence"`
	Generation string `json:"generation,omitempty"`
	Sealed     bool   `json:"sealed"`
}

func (s *shelf) form() boardForm {
	f := boardForm{
		Board: s.name, Stored: s.stored, Configured: s.configured, Order: s.info.Order.String(), Count: s.info.Count,
		Hidden: s.info.Hidden, Sequence: s.info.Sequence, Generation: s.info.Generation, Sealed: s.info.Sealed,
	}
	if s.configured {
		f.Rule, f.Decimals, f.Min, f.Max = s.config.Rule.String(), s.config.Decimals, s.config.Min, s.config.Max
	}
	if s.config.From != nil {
		f.Mirrors = s.config.From.Set
	}
	return f
}

func (s *shelf) row() []string {
	rule := "–"
	if s.configured {
		rule = s.config.Rule.String()
	}
	return []string{s.name, s.info.Order.String(), rule, humanize.Comma(s.info.Count), humanize.Comma(s.info.Hidden), s.state()}
}

// state is what can be done with the board, in words.
func (s *shelf) state() string {
	switch {
	case !s.stored:
		return "nobody has written to it"
	case s.info.Sealed:
		return "sealed"
	}
	return "open"
}

// boardInfoCommand shows a board.
type boardInfoCommand struct {
	Board string `arg:"" help:"The board's name."`
	boardFlags
}

// Help is shown by --help.
func (*boardInfoCommand) Help() string {
	return `Rule, decimals and limits come from the configuration (--config), the rest from the store.

  shoal board info Kills
  shoal board info season/reef/Fish/C1S2 --json | jq .count

` + exitCodes
}

// Run reads.
func (c *boardInfoCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.find(ctx, c.Board)
		if err != nil {
			return err
		}
		return t.print(s.form(), func() { t.printShelf(s) })
	})
}

func (t *boardTool) printShelf(s *shelf) {
	rows := [][]string{
		{"board", s.name},
		{"state", s.state()},
		{"order", fmt.Sprintf("%v: %s ranks first", s.info.Order, firstOf(s.info.Order))},
		{"entries", humanize.Comma(s.info.Count)},
		{"hidden keys", humanize.Comma(s.info.Hidden)},
	}
	if s.configured {
		rows = append(rows, []string{"rule", s.config.Rule.String()}, []string{"decimals", fmt.Sprint(s.config.Decimals)}, []string{"scores", t.limits(s)})
	} else {
		rows = append(rows, []string{"configuration", "does not have it: --config"})
	}
	if s.config.From != nil {
		rows = append(rows, []string{"mirrors", "the profiles of " + s.config.From.Set})
	}
	if s.stored {
		rows = append(rows, []string{"sequence", fmt.Sprint(s.info.Sequence)}, []string{"generation", s.info.Generation})
	}
	t.table(rows)
}

func firstOf(order store.Order) string {
	if order == store.Ascending {
		return "the smallest score"
	}
	return "the largest score"
}

// limits are those of a score that is submitted, in words.
func (t *boardTool) limits(s *shelf) string {
	switch low, high := s.config.Min, s.config.Max; {
	case low == nil && high == nil:
		return "any"
	case high == nil:
		return "at least " + t.score(s, *low)
	case low == nil:
		return "at most " + t.score(s, *high)
	default:
		return t.score(s, *low) + " to " + t.score(s, *high)
	}
}
