// Command shoal runs a node of a fleet as a daemon, and shows what a fleet does.
//
// See `shoal --help`.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the command line.
type commands struct {
	Serve   serveCommand    `cmd:"" help:"Run a node as a daemon, for game servers in any language."`
	Profile profileCommands `cmd:"" help:"Look at profiles, change, restore, move and erase them."`
	Board   boardCommands   `cmd:"" help:"Look at leaderboards, write, moderate, move and end them."`
	Season  seasonCommands  `cmd:"" help:"Look at seasons, close them, and correct how closed ones stand."`
	Mail    mailCommands    `cmd:"" help:"Send messages to players, and see what waits for them."`
	Store   storeCommands   `cmd:"" help:"Check what is stored."`
	Bench   benchCommands   `cmd:"" help:"Measure what the store of this machine can do."`
	Demo    demoCommand     `cmd:"" help:"Watch a small fleet at work: players, hand-overs, crashes, seasons of a minute."`
	Version versionCommand  `cmd:"" help:"Print the version."`
}

const description = `Shoal keeps what players own and where they stand, for games that run on many servers and have no coordinator.

Start with:

  shoal demo                       three nodes and a few hundred players in this terminal
  shoal serve --store ./game       a daemon on http://127.0.0.1:7077

Several daemons may share one store folder on one machine; they need nothing else to agree.`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process around it.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	var c commands
	exited := exitOK
	parser, err := kong.New(&c,
		kong.Name("shoal"),
		kong.Description(description),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code; panic(helped{}) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&output{stdout, stderr}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "shoal:", err)
		return exitFailed
	}
	command, err, wasHelp := parse(parser, args)
	if wasHelp {
		return exited
	}
	if err != nil {
		parser.Errorf("%s", err)
		fmt.Fprintln(stderr, `Run "shoal --help", or "shoal COMMAND --help".`)
		return exitUsage
	}
	return codeOf(command.Run(), stderr)
}

// helped ends parsing after help was printed, where kong would end the process.
type helped struct{}

func parse(parser *kong.Kong, args []string) (command *kong.Context, err error, wasHelp bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(helped); !ok {
				panic(p)
			}
			wasHelp = true
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err = parser.Parse(args)
	return command, err, false
}

// output is where a command prints.
type output struct {
	out, err io.Writer
}
