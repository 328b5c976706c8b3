package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// storeCheckCommand checks a store.
type storeCheckCommand struct {
	Repair bool     `help:"Put right what is wrong."`
	Board  []string `placeholder:"NAME" help:"Only this board; may be given several times."`
	boardFlags
}

// Help is shown by --help.
func (*storeCheckCommand) Help() string {
	return `Asks each part of the store whether it answers, and compares what it keeps beside the entries of boards (counts, of which
ranks are made) with the entries themselves, board by board, while servers write. It exits with 1 when something is
wrong and was not put right.

  shoal store check
  shoal store check --repair --board Kills

` + exitCodes
}

// Run checks.
func (c *storeCheckCommand) Run(ctx context.Context, o *output) error {
	c.long = true
	for i, one := range c.Board {
		if err := name.CheckBoard(fmt.Sprintf("--board %d", i+1), one); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		parts, err := t.checkParts(ctx)
		if err != nil {
			return err
		}
		names := c.Board
		if len(names) == 0 {
			if names, err = t.names(ctx, ""); err != nil {
				return err
			}
		}
		sum, err := c.checkAll(ctx, t, names)
		if err != nil {
			return err
		}
		return t.printCheck(sum, parts)
	})
}

// checkedPart is a part of the store that answers.
type checkedPart struct {
	Part   string  `json:"part"`
	Ahead  float64 `json:"aheadSeconds"` // its clock before this machine's
	Answer float64 `json:"answerSeconds"`
}

// checkParts asks the parts of the store for the time.
func (t *boardTool) checkParts(ctx context.Context) ([]checkedPart, error) {
	st, clk := t.node.Store(), clock.System()
	parts := []struct {
		name    string
		records store.Records
	}{{"durable", st.Durable()}, {"fast", st.Fast()}}
	if st.OneRecords() {
		parts = parts[:1]
	}
	var out []checkedPart
	for _, p := range parts {
		before := clk.Now()
		now, err := p.records.Now(ctx)
		if err != nil {
			return nil, fmt.Errorf("the %s part of the store: %w", p.name, err)
		}
		took := clk.Now().Sub(before)
		out = append(out, checkedPart{p.name, now.Sub(before.Add(took / 2)).Round(time.Millisecond).Seconds(), took.Round(time.Microsecond).Seconds()})
	}
	return out, nil
}

// checkedBoard is what --json prints of a board.
type checkedBoard struct {
	Board    string   `json:"board"`
	Entries  int64    `json:"entries"`
	Problems []string `json:"problems,omitempty"`
	Repaired bool     `json:"repaired,omitempty"`
}

// checkedSum is what --json prints at the end.
type checkedSum struct {
	Boards  int           `json:"boards"`
	Entries int64         `json:"entries"`
	Wrong   int           `json:"wrong"` // boards with problems that were not put right
	Fixed   int           `json:"fixed"`
	Parts   []checkedPart `json:"parts"`
}

func (c *storeCheckCommand) checkAll(ctx context.Context, t *boardTool, names []string) (checkedSum, error) {
	var sum checkedSum
	p := newProgress(t.output, fmt.Sprintf("of %d boards", len(names)))
	defer p.done()
	for _, one := range names {
		found, err := t.raw().Check(ctx, one, c.Repair)
		switch {
		case errors.Is(err, store.ErrNoBoard) && len(c.Board) == 0: // nobody has written to it, or it was dropped meanwhile
			continue
		case errors.Is(err, store.ErrNoBoard):
			return sum, missing("there is no board %q; shoal board list shows which there are", one)
		case err != nil:
			return sum, fmt.Errorf("board %s: %w", one, err)
		}
		sum.Boards++
		sum.Entries += found.Entries
		p.show(sum.Boards, 0)
		if len(found.Problems) == 0 && !t.json {
			continue
		}
		p.done()
		if err := t.printChecked(checkedBoard{one, found.Entries, found.Problems, found.Repaired}); err != nil {
			return sum, err
		}
		switch {
		case len(found.Problems) > 0 && found.Repaired:
			sum.Fixed++
		case len(found.Problems) > 0:
			sum.Wrong++
		}
	}
	return sum, nil
}

// printChecked shows what is wrong with a board.
func (t *boardTool) printChecked(c checkedBoard) error {
	return t.print(c, func() {
		for _, problem := range c.Problems {
			fmt.Fprintf(t.out, "%s: %s\n", c.Board, plain(problem))
		}
		if c.Repaired {
			fmt.Fprintf(t.out, "%s: put right\n", c.Board)
		}
	})
}

// printCheck shows the sum, and fails when something is wrong.
func (t *boardTool) printCheck(sum checkedSum, parts []checkedPart) error {
	sum.Parts = parts
	if err := t.print(sum, func() {
		for _, p := range parts {
			fmt.Fprintf(t.out, "%s: answers, %s\n", p.Part, p.clock())
		}
		fmt.Fprintf(t.out, "%s with %s entries checked: %d wrong, %d put right\n", countOf(sum.Boards, "board", "boards"), humanize.Comma(sum.Entries), sum.Wrong, sum.Fixed)
	}); err != nil {
		return err
	}
	if sum.Wrong > 0 {
		return &exitError{exitFailed, fmt.Errorf("%s wrong; --repair puts right what can be", countOf(sum.Wrong, "board is", "boards are"))}
	}
	return nil
}

// clock says how the clock of a part goes, as far as a second matters.
func (p checkedPart) clock() string {
	switch ahead := time.Duration(p.Ahead * float64(time.Second)); {
	case ahead >= time.Second:
		return fmt.Sprintf("with a clock that is %v before this machine's", ahead)
	case ahead <= -time.Second:
		return fmt.Sprintf("with a clock that is %v behind this machine's", -ahead)
	}
	return "with the time of this machine"
}
