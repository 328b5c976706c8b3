// Command cmd is `make chaos`: it breaks a fleet of real daemons on purpose and exits with 1
// when a promise was broken. See package chaos.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/shoalworks/shoal/internal/chaos"
	"github.com/shoalworks/shoal/internal/engines"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	o := chaos.Options{Say: os.Stdout}
	flag.DurationVar(&o.For, "for", time.Minute, "how long things go wrong")
	flag.Uint64Var(&o.Seed, "seed", 1, "what goes wrong follows from it")
	flag.IntVar(&o.Players, "players", 60, "players")
	flag.BoolVar(&o.Calm, "calm", false, "nothing goes wrong")
	flag.BoolVar(&o.Folder, "folder", false, "the daemons share a folder in place of PostgreSQL and Redis; only daemons fail")
	fast := flag.String("fast", "redis", "the fast store: redis, kept (one that keeps every write), sentinel, cluster, or none (PostgreSQL alone)")
	flag.StringVar(&o.Binary, "binary", "", "the daemon's program, perhaps a broken one; default: this module's, built with the tag "+chaos.Tag)
	flag.BoolVar(&o.Lossy, "lossy", false, "PostgreSQL loses what it has acknowledged: the run must fail")
	flag.StringVar(&o.Logs, "logs", "", "folder that keeps the daemons' logs; default: a temporary one, kept when a promise was broken")
	only := flag.Bool("plan", false, "print what would go wrong, and end")
	flag.Parse()
	o.Fast = chaos.Fast(*fast)
	if *only {
		fmt.Fprint(os.Stdout, chaos.Describe(chaos.Plan(o.Seed, o.For, 3)))
		return nil
	}
	return play(ctx, o)
}

// play builds the daemon, runs, and says what came of it.
func play(ctx context.Context, o chaos.Options) error {
	folder, err := os.MkdirTemp("", "shoal-chaos-")
	if err != nil {
		return err
	}
	if o.Logs == "" {
		o.Logs = folder
	}
	if o.Binary == "" {
		o.Binary = filepath.Join(folder, "shoal")
		if err := engines.BuildShoal(ctx, o.Binary, chaos.Tag); err != nil {
			return errors.Join(err, os.RemoveAll(folder))
		}
	}
	fmt.Fprintf(os.Stdout, "seed %d for %v\n", o.Seed, o.For)
	tally, err := chaos.Run(ctx, o)
	fmt.Fprintln(os.Stdout, tally)
	if errors.Is(err, chaos.ErrViolated) {
		return errors.Join(err, fmt.Errorf("the daemons' logs are in %s", o.Logs), os.RemoveAll(filepath.Join(folder, "shoal")))
	}
	return errors.Join(err, os.RemoveAll(folder))
}
