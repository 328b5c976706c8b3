package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// storeCheckCommand checks a store.
type storeCheckCommand struct {
	Repair bool     `help:"Put boards right that are wrong."`
	Board  []string `placeholder:"NAME" help:"Of the boards only this one; may be given several times."`
	fleetFlags
}

// Help is shown by --help.
func (*storeCheckCommand) Help() string {
	return `Looks at each part of the store: which engine it is and how it is set, how long a read and a write of a probe take, how
its clock goes, and what an operator should change; and whether the parts are those that the fleet uses (store pair). Then compares what the engine keeps beside the entries of boards
(counts, of which ranks are made) with the entries themselves, board by board, while servers write. It becomes no node.

It exits with 1 when data that Shoal calls safe may be lost or the parts are not the fleet's (a line with DANGER), or a board is wrong and was not put
right, and with 4 when a part does not answer.

  shoal store check
  shoal store check --repair --board Kills

` + exitCodes
}

// storeTool is what a command on a store as a whole works with.
type storeTool struct {
	printer
	st *store.Store
}

// Run checks.
func (c *storeCheckCommand) Run(ctx context.Context, o *output) error {
	c.long = true
	for i, one := range c.Board {
		if err := name.CheckBoard(fmt.Sprintf("--board %d", i+1), one); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	parts := cfg.addresses(c.logger(o))
	parts.AsGiven = true // what is wrong with them is told
	return c.onParts(ctx, parts, func(ctx context.Context, st *store.Store) error {
		t := &storeTool{printer{o, c.JSON}, st}
		return byKind(c.check(ctx, t, t.pairing(ctx, &cfg)))
	})
}

// check looks at the parts, then at the boards, and says the sum of it.
func (c *storeCheckCommand) check(ctx context.Context, t *storeTool, pair *checkedPairing) error {
	if c.Repair && pair.danger() {
		return &exitError{exitRefused, errors.New("nothing is repaired, since these are not the parts of the fleet: " + pair.Danger)}
	}
	parts := t.examine(ctx)
	var (
		sum checkedSum
		err error
	)
	if answers(parts, store.RoleBoards) {
		if sum, err = c.checkBoards(ctx, t); err != nil {
			return err
		}
	}
	sum.Parts, sum.Pairing = parts, pair
	if err := t.printCheck(sum); err != nil {
		return err
	}
	return sum.verdict()
}

func (c *storeCheckCommand) checkBoards(ctx context.Context, t *storeTool) (checkedSum, error) {
	names := c.Board
	if len(names) == 0 {
		var err error
		if names, err = boardNames(ctx, t.st.Boards()); err != nil {
			return checkedSum{}, err
		}
	}
	return c.checkAll(ctx, t, names)
}

// boardNames are all boards that a store has.
func boardNames(ctx context.Context, boards store.Boards) (names []string, err error) {
	for after := ""; ; after = names[len(names)-1] {
		page, err := boards.List(ctx, "", after, store.MaxPage)
		if err != nil {
			return nil, err
		}
		if names = append(names, page...); len(page) < store.MaxPage {
			return names, nil
		}
	}
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
	// Pairing is absent for memory, which nobody shares.
	Pairing *checkedPairing `json:"pairing,omitempty"`
}

// verdict is the error of a store that is not as it should be.
func (s *checkedSum) verdict() error {
	silent, dangers := 0, 0
	for _, p := range s.Parts {
		if p.Error != "" {
			silent++
		}
		dangers += p.dangers()
	}
	switch {
	case silent > 0:
		return &exitError{exitUnserved, fmt.Errorf("%s of the store not answering", countOf(silent, "part is", "parts are"))}
	case dangers > 0:
		return &exitError{exitFailed, fmt.Errorf("%s: data that Shoal calls safe may be lost", countOf(dangers, "danger", "dangers"))}
	case s.Pairing.danger():
		return &exitError{exitFailed, errors.New("servers with these addresses would harm those of the fleet, and are refused")}
	case s.Wrong > 0:
		return &exitError{exitFailed, fmt.Errorf("%s wrong; --repair puts right what can be", countOf(s.Wrong, "board is", "boards are"))}
	}
	return nil
}

func (c *storeCheckCommand) checkAll(ctx context.Context, t *storeTool, names []string) (checkedSum, error) {
	var sum checkedSum
	p := newProgress(t.output, fmt.Sprintf("of %d boards", len(names)))
	defer p.done()
	for _, one := range names {
		found, err := t.st.Boards().Check(ctx, one, c.Repair)
		switch {
		case errors.Is(err, store.ErrNoBoard) && len(c.Board) == 0: // it was dropped meanwhile
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
func (t *storeTool) printChecked(c checkedBoard) error {
	return t.print(c, func() {
		for _, problem := range c.Problems {
			fmt.Fprintf(t.out, "%s: %s\n", c.Board, plain(problem))
		}
		if c.Repaired {
			fmt.Fprintf(t.out, "%s: put right\n", c.Board)
		}
	})
}

// printCheck shows the parts and the sum.
func (t *storeTool) printCheck(sum checkedSum) error {
	return t.print(sum, func() {
		t.printParts(sum.Parts)
		t.printPairing(sum.Pairing)
		fmt.Fprintf(t.out, "%s with %s entries checked: %d wrong, %d put right\n", countOf(sum.Boards, "board", "boards"), humanize.Comma(sum.Entries), sum.Wrong, sum.Fixed)
	})
}
