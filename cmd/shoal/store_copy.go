package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/internal/address"
	"github.com/shoalworks/shoal/internal/storecopy"
	"github.com/shoalworks/shoal/store"
)

// storeCopyCommand copies a store.
type storeCopyCommand struct {
	From     string        `placeholder:"ADDRESS" env:"SHOAL_COPY_FROM" help:"The store to copy from."`
	FastFrom string        `placeholder:"ADDRESS" env:"SHOAL_COPY_FAST_FROM" help:"Its fast part, if its fleet uses one."`
	To       string        `placeholder:"ADDRESS" env:"SHOAL_COPY_TO" help:"The store to copy into."`
	FastTo   string        `placeholder:"ADDRESS" env:"SHOAL_COPY_FAST_TO" help:"Its fast part, if its fleet will use one."`
	Rate     int           `placeholder:"N" help:"Records and entries a second that are written at most. Default: as many as go."`
	Prune    bool          `help:"Remove from the target what the source has removed since it was copied."`
	DryRun   bool          `help:"Only say what would be done."`
	Timeout  time.Duration `placeholder:"SPAN" help:"How long to try at most. Default: as long as it takes."`
	JSON     bool          `name:"json" help:"Print JSON: one line for each thing that was not copied, then the sum."`
	Verbose  bool          `short:"v" help:"Log what the engines tell, on standard error."`

	Overwrite bool `help:"Copy over what somebody else has written into the target, and bring back what somebody else removed there. Wants the target repeated with --confirm."`
	confirmFlag
}

// Help is shown by --help.
func (*storeCopyCommand) Help() string {
	return `Makes one pass over a store and copies into another one what that lacks: profiles and all that is kept beside them, and
boards with their order, hidden keys and seals. Records keep their versions, so what is the same is passed over, and a
pass may be cut off and begun again at any time. Servers may use the source meanwhile; what a session holds is left to
a later pass. To move a fleet:

  shoal store copy --from ./game --to postgres://…      while it plays, as often as you like; exits with 8
  (end every server of the source, and wait until they have)
  shoal store copy --from ./game --to postgres://… --prune    exits with 0: the copy is complete
  (start the servers on the target)

With 8 a later pass has work to do: sessions held profiles, nodes ran on the source, or it has removed things since
(--prune removes them from the target). With 1 the target has what somebody else wrote there, or somebody else removed
something; that stays so, unless --overwrite says otherwise. With 6 nodes run on the target, or it belongs to another
copier, and nothing was written.

Not copied: beats, notes, journals; the ages of records; on boards the stamps of "last" and the counts of "sum", which
begin anew. The target keeps a ledger of what was copied, a few bytes a record.

` + exitCodes + ` 8 run it again.`
}

// Run copies.
func (c *storeCopyCommand) Run(ctx context.Context, o *output) error {
	if err := c.problems(); err != nil {
		return err
	}
	if c.Overwrite && !c.DryRun {
		if err := c.confirmNamed(ctx, o, "overwrite what others wrote into the target", "the target", address.Redacted(c.To)); err != nil {
			return err
		}
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	from, err := c.open(ctx, o, c.From, c.FastFrom)
	if err != nil {
		return err
	}
	to, err := c.open(ctx, o, c.To, c.FastTo)
	end := context.WithoutCancel(ctx)
	if err != nil {
		return errors.Join(err, from.Close(end))
	}
	err = c.copy(ctx, &storeTool{printer{o, c.JSON}, nil}, from, to)
	return errors.Join(err, to.Close(end), from.Close(end))
}

// problems is what is wrong with the flags.
func (c *storeCopyCommand) problems() error {
	switch {
	case c.From == "" || c.To == "":
		return usage("--from and --to are needed: the addresses of two stores")
	case c.From == c.To:
		return usage("--from and --to are the same store")
	case c.Rate < 0:
		return usage("--rate: 1 or more expected, got %d", c.Rate)
	}
	for flag, where := range map[string]string{"--from": c.From, "--fast-from": c.FastFrom} {
		if where == "" {
			continue
		}
		if err := checkFolder(flag, where); err != nil {
			return &exitError{exitUnserved, err}
		}
	}
	return nil
}

func (c *storeCopyCommand) open(ctx context.Context, o *output, where, fast string) (*store.Store, error) {
	f := fleetFlags{Verbose: c.Verbose}
	st, err := shoal.OpenWith(ctx, shoal.Addresses{Store: where, Fast: fast, Logger: f.logger(o)})
	if err != nil {
		return nil, &exitError{exitUnserved, err}
	}
	return st, nil
}

// copy makes the pass and says how it went.
func (c *storeCopyCommand) copy(ctx context.Context, t *storeTool, from, to *store.Store) error {
	p := newProgress(t.output, "records and entries")
	told := &told{tool: t, progress: p}
	sum, err := storecopy.Copy(ctx, storecopy.Options{
		From: from, To: to, DryRun: c.DryRun, Prune: c.Prune, Overwrite: c.Overwrite, Rate: c.Rate, Report: told.report,
		Progress: func(s storecopy.Sum) {
			p.show(s.Records.Seen+int(s.Boards.Entries), s.Records.Bytes)
		},
	})
	p.done()
	told.rest()
	if printErr := c.printSum(t, sum, err == nil); printErr != nil {
		return printErr
	}
	return c.verdict(&sum, errors.Join(err, told.err))
}

// verdict is the error of a pass that is not the last.
func (c *storeCopyCommand) verdict(sum *storecopy.Sum, err error) error {
	switch {
	case errors.Is(err, storecopy.ErrNodes), errors.Is(err, storecopy.ErrTaken), errors.Is(err, storecopy.ErrSame):
		return &exitError{exitRefused, err}
	case err != nil:
		return byKind(err)
	case sum.Refused() > 0:
		return &exitError{exitFailed, fmt.Errorf("%s of the target left as others decided there; --overwrite copies over them", countOf(sum.Refused(), "thing was", "things were"))}
	case !sum.Complete():
		return &exitError{exitAgain, errors.New(incomplete(sum))}
	}
	return nil
}

// incomplete says why another pass is needed.
func incomplete(sum *storecopy.Sum) string {
	var why []string
	add := func(n int, one, more string) {
		if n > 0 {
			why = append(why, countOf(n, one, more))
		}
	}
	add(len(sum.Nodes), "node runs on the source", "nodes run on the source")
	add(sum.Records.Held, "profile is held", "profiles are held")
	add(sum.Records.Gone+sum.Boards.Gone, "thing is gone from the source (--prune)", "things are gone from the source (--prune)")
	add(sum.Boards.Moving, "board changed too much", "boards changed too much")
	return "not complete, another pass is needed: " + strings.Join(why, ", ")
}

// told prints what was not copied: all of it as JSON, the first of each kind to people.
type told struct {
	tool     *storeTool
	progress *progress
	counts   map[storecopy.Kind]int
	err      error
}

// shown is how many things of a kind people are told of.
const shown = 20

// toldThing is what --json prints of a thing that was not copied.
type toldThing struct {
	Kind  string `json:"kind"`
	Key   string `json:"key,omitempty"`
	Board string `json:"board,omitempty"`
	Why   string `json:"why"`
}

func (x *told) report(f storecopy.Finding) {
	if x.counts == nil {
		x.counts = make(map[storecopy.Kind]int)
	}
	if x.counts[f.Kind]++; x.counts[f.Kind] > shown && !x.tool.json {
		return
	}
	x.progress.done()
	err := x.tool.print(toldThing{string(f.Kind), f.Key, f.Board, f.Why}, func() {
		what := f.Key
		if f.Board != "" {
			what = "board " + f.Board
		}
		fmt.Fprintf(x.tool.out, "%s: %s: %s\n", f.Kind, plain(what), plain(f.Why))
	})
	x.err = errors.Join(x.err, err)
}

// rest says how much people were not told.
func (x *told) rest() {
	if x.tool.json {
		return
	}
	for _, kind := range []storecopy.Kind{storecopy.Held, storecopy.Conflict, storecopy.Removed, storecopy.Gone, storecopy.Moving} {
		if more := x.counts[kind] - shown; more > 0 {
			fmt.Fprintf(x.tool.out, "%s: and %s more; --json names all\n", kind, humanize.Comma(int64(more)))
		}
	}
}

// copiedSum is what --json prints at the end.
type copiedSum struct {
	Records  storecopy.RecordSum `json:"records"`
	Boards   storecopy.BoardSum  `json:"boards"`
	Nodes    []string            `json:"nodes,omitempty"`
	DryRun   bool                `json:"dryRun,omitempty"`
	Complete bool                `json:"complete"`
}

func (c *storeCopyCommand) printSum(t *storeTool, s storecopy.Sum, ended bool) error {
	return t.print(copiedSum{s.Records, s.Boards, s.Nodes, c.DryRun, ended && !c.DryRun && s.Complete()}, func() {
		word := "copied"
		if c.DryRun {
			word = "would be copied"
		}
		r, b := s.Records, s.Boards
		fmt.Fprintf(t.out, "%s records: %s %s (%s), %s the same, %d held, %d in conflict, %d removed, %d gone, %d pruned\n", humanize.Comma(int64(r.Seen)),
			humanize.Comma(int64(r.Copied)), word, humanize.IBytes(uint64(r.Bytes)), humanize.Comma(int64(r.Same)), r.Held, r.Conflicts, r.Removed, r.Gone, r.Pruned)
		fmt.Fprintf(t.out, "%s: %d %s (%s entries), %d the same, %d in conflict, %d removed, %d gone, %d pruned, %d moving\n", countOf(b.Seen, "board", "boards"),
			b.Copied, word, humanize.Comma(b.Entries), b.Same, b.Conflicts, b.Removed, b.Gone, b.Pruned, b.Moving)
		if ended && !c.DryRun && s.Complete() {
			fmt.Fprintln(t.out, "The copy is complete.")
		}
	})
}
