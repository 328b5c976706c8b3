// Command cmd runs the mutants of a folder: see package mutants.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"time"

	"github.com/shoalworks/shoal/internal/mutants"
)

const help = `Weakens rules on purpose, one at a time, and sees the tests fail.

  go run ./internal/mutants/cmd                      all of them
  go run ./internal/mutants/cmd -only 'takeover-*'   some of them
  go run ./internal/mutants/cmd -list                what there is, without running it

Each file mutants/*.mutant says which rule it weakens, what goes wrong then, the lines that
it changes, and what must catch it. go doc ./internal/mutants shows how to write one.

  caught     it compiles, and what must catch it fails: the proof sees this rule
  survived   what must catch it passes: the proof is blind here
  broken     nothing is proven: its old lines are gone, it does not compile, a test hangs, or
             the test fails without it too

Exit code: 0 all caught, 1 some not, 2 flags or files are wrong.

Flags:
`

const (
	exitCaught = 0
	exitNot    = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process around it.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	folder := flags.String("folder", "mutants", "where the mutants are")
	root := flags.String("root", ".", "root of the module that they change")
	only := flags.String("only", "*", "a `glob` of names, without the ending")
	list := flags.Bool("list", false, "list the mutants and what must catch them")
	timeout := flags.Duration("timeout", 2*time.Minute, "for one run of tests; one that hangs takes as long")
	jobs := flags.Int("jobs", 1, "mutants at a time")
	flags.Usage = func() {
		fmt.Fprint(stderr, help)
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitCaught
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "mutants: %q is no flag\n", flags.Arg(0))
		return exitUsage
	}
	found, err := chosen(*folder, *only)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	if *list {
		mutants.List(stdout, found)
		return exitCaught
	}
	out := mutants.NewReport(stdout, len(found))
	r := mutants.Runner{Root: *root, Timeout: *timeout, Jobs: *jobs, Checked: out.Checked, Ended: out.Ended}
	if !out.Sum(r.Run(ctx, found)) {
		return exitNot
	}
	return exitCaught
}

// chosen are the mutants whose names match.
func chosen(folder, only string) ([]mutants.Mutant, error) {
	all, err := mutants.Load(folder)
	if err != nil {
		return nil, err
	}
	var out []mutants.Mutant
	for _, m := range all {
		ok, err := path.Match(only, m.Name)
		if err != nil {
			return nil, fmt.Errorf("mutants: -only %s: %w", only, err)
		}
		if ok {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("mutants: -only %s: none of %d has such a name", only, len(all))
	}
	return out, nil
}
