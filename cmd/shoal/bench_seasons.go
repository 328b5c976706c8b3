package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store/memstore"
)

// benchSeasonsCommand measures what seasons cost on a node.
type benchSeasonsCommand struct {
	Store   string        `placeholder:"ADDRESS" help:"Where: a missing or empty folder, which is kept, or memory:. Default: a temporary SQLite folder."`
	Players int           `default:"10000" help:"Open sessions at the boundary."`
	Entries int           `default:"1000000" help:"Entries of each of the four boards that are closed."`
	Readers int           `default:"1000" help:"Goroutines that read a board."`
	For     time.Duration `default:"3s" help:"How long events and reads are measured."`
	Out     string        `type:"path" placeholder:"FILE" help:"Write the part on seasons of the page there, and leave the others. Default: standard output."`
}

// Help is shown by --help.
func (*benchSeasonsCommand) Help() string {
	return `Measures seasons of reef's rules (four boards) with profiles of 2 KB: an event of a player; the boundary of a
season, from its moment until all last values are on the boards of the season that has ended, and how long events
wait meanwhile; the close of a season of large boards by one node, and by ten that race; a thousand readers of a
board. Prints a part of a page of Markdown; progress goes to standard error.

  shoal bench seasons --players 1000 --entries 10000
  shoal bench seasons --out docs/performance.md    needs 1 GB of disk, and some minutes

Exit codes: 0 done; 1 failed; 2 wrong flags; 4 no store.`
}

// Run measures and prints.
func (c *benchSeasonsCommand) Run(ctx context.Context, o *output) error {
	if c.Players < 1 || c.Entries < 1 || c.Readers < 1 || c.For <= 0 {
		return &exitError{exitUsage, errors.New("--players, --entries, --readers and --for: more than 0 expected")}
	}
	folder, clean, err := benchFolder(c.Store)
	if err != nil {
		return err
	}
	defer clean()
	b := &seasonBench{
		folder: folder, players: c.Players, entries: c.Entries, readers: c.Readers, span: c.For, ahead: time.Second, clk: clock.System(),
		say: func(format string, args ...any) { fmt.Fprintf(o.err, format+"\n", args...) },
	}
	if folder == "" {
		b.memory = memstore.New(nil)
	}
	result, err := b.run(ctx)
	if err != nil {
		return err
	}
	part := seasonsPart(c.words(), thisMachine(result.engine), result)
	if c.Out == "" {
		_, err = io.WriteString(o.out, part)
		return err
	}
	return writePart(c.Out, part)
}

// words is the command without what is a matter of this machine.
func (c *benchSeasonsCommand) words() string {
	out := []string{"shoal bench seasons"}
	for _, f := range []struct {
		name       string
		value, own int
	}{{"players", c.Players, 10_000}, {"entries", c.Entries, 1_000_000}, {"readers", c.Readers, 1000}} {
		if f.value != f.own {
			out = append(out, fmt.Sprintf("--%s %d", f.name, f.value))
		}
	}
	return strings.Join(append(out, commonWords(c.For, c.Store)...), " ")
}

// seasonResult is all that was measured of seasons.
type seasonResult struct {
	engine   string
	record   recordResult
	boundary boundaryResult
	alone    closeResult
	race     closeResult
	readers  readersResult
}

// run measures one thing after the other.
func (b *seasonBench) run(ctx context.Context) (r seasonResult, err error) {
	if r.engine, err = b.engine(ctx); err != nil {
		return r, err
	}
	b.say("events, the boundary of %s sessions, and %s readers", count(b.players), count(b.readers))
	if err := b.play(ctx, &r); err != nil {
		return r, fmt.Errorf("bench of a boundary: %w", err)
	}
	for _, c := range []struct {
		closers int
		to      *closeResult
	}{{1, &r.alone}, {raceClosers, &r.race}} {
		b.say("close of four boards of %s entries by %d", count(b.entries), c.closers)
		if *c.to, err = b.close(ctx, c.closers); err != nil {
			return r, fmt.Errorf("bench of a close by %d: %w", c.closers, err)
		}
	}
	return r, nil
}
