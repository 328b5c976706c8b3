package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// fleetFlags say which fleet a command speaks to. A command is a node of its own for as long
// as it runs: it opens the store that the fleet shares, beside daemons and game servers.
type fleetFlags struct {
	storeFlags

	Config  string         `short:"c" type:"path" placeholder:"FILE" help:"The fleet's configuration file: beat, deadAfter, sets, boards."`
	Timeout *time.Duration `placeholder:"SPAN" help:"How long to try at most; 0s for as long as it takes. Default 2m; exports, imports and checks take as long as they take."`
	JSON    bool           `name:"json" help:"Print JSON: one value, or one line for each item of a list."`
	Verbose bool           `short:"v" help:"Log what the node does, on standard error."`

	long bool // it may take as long as it takes
}

// setFlags say which set of profiles a command works on.
type setFlags struct {
	fleetFlags
	Set string `default:"players" placeholder:"NAME" help:"The set of profiles."`

	seasons bool // the node knows the seasons that the set plays, without a part in them
}

// setTool is what a command on a set works with.
type setTool struct {
	printer
	set *profile.Set
}

// onSet opens the store, becomes a node, and runs do with the set. Everything ends in order.
func (f *setFlags) onSet(ctx context.Context, o *output, do func(context.Context, *setTool) error) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	opts := &shoal.Options{
		Node: node.Options{Beat: time.Duration(cfg.Beat), DeadAfter: time.Duration(cfg.DeadAfter), Limits: cfg.Limits.limits()},
		Sets: map[string]*profile.Options{f.Set: toolOptions()}, Ranked: cfg.ranks(f.Set),
	}
	if f.seasons {
		opts.Seasons = cfg.idleSeasons(f.Set)
	}
	return f.onNode(ctx, o, &cfg, opts, func(ctx context.Context, n *shoal.Node) error {
		return do(ctx, &setTool{printer: printer{o, f.JSON}, set: n.Set(f.Set)})
	})
}

// config is the fleet's configuration, as far as flags, environment and file say.
func (f *fleetFlags) config() (config, error) {
	cfg, err := readConfig(f.Config, environ(), f.overrides())
	if err != nil {
		return config{}, &exitError{exitUsage, err}
	}
	if err := cfg.checkExists(); err != nil {
		return config{}, &exitError{exitUnserved, err}
	}
	return cfg, nil
}

// onNode opens the store, becomes a node, and runs do with it. Everything ends in order.
func (f *fleetFlags) onNode(ctx context.Context, o *output, cfg *config, opts *shoal.Options, do func(context.Context, *shoal.Node) error) error {
	return f.onStore(ctx, o, cfg, func(ctx context.Context, st *store.Store) error {
		return f.asNode(ctx, o, st, opts, do)
	})
}

// onStore opens the store and runs do with it, without a node. Everything ends in order.
func (f *fleetFlags) onStore(ctx context.Context, o *output, cfg *config, do func(context.Context, *store.Store) error) error {
	return f.onParts(ctx, cfg.addresses(f.logger(o)), do)
}

// onParts is onStore for parts that are opened in a way of their own.
func (f *fleetFlags) onParts(ctx context.Context, parts shoal.Addresses, do func(context.Context, *store.Store) error) error {
	if limit := f.limit(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	st, err := shoal.OpenWith(ctx, parts)
	if err != nil {
		return &exitError{exitUnserved, err}
	}
	end := context.WithoutCancel(ctx)
	err = do(ctx, st)
	return errors.Join(err, st.Close(end))
}

func (f *fleetFlags) asNode(ctx context.Context, o *output, st *store.Store, opts *shoal.Options, do func(context.Context, *shoal.Node) error) error {
	opts.Node.Name, opts.Node.Logger = "cli", f.logger(o)
	n, err := shoal.Start(context.WithoutCancel(ctx), st, opts)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	err = do(ctx, n)
	report, closeErr := n.Close(context.WithoutCancel(ctx))
	for _, u := range report.Unfinished {
		closeErr = errors.Join(closeErr, fmt.Errorf("%s: %d left: %w", u.Service, u.Left, u.Err))
	}
	if err != nil {
		return byKind(err)
	}
	return closeErr
}

// logger is that of the command's node: quiet, unless people want to see what it does.
func (f *fleetFlags) logger(o *output) *slog.Logger {
	if f.Verbose {
		return newLogger(o, "text", "info")
	}
	return slog.New(slog.DiscardHandler)
}

// ranks is the set of a tool if the boards rank its keys, else "-".
func (c *config) ranks(set string) string {
	if _, only := c.Sets[set]; c.Ranked == set || c.Ranked == "" && only && len(c.Sets) == 1 {
		return set
	}
	return "-"
}

// toolOptions are those of a set that a person works on: the data is taken as it is stored,
// since only the game's own release knows its form. A tool reaps nothing.
func toolOptions() *profile.Options {
	return &profile.Options{AsStored: true, ReapEvery: -1, JournalEvery: -1}
}

// limit is how long the command may take; 0 is for as long as it does.
func (f *fleetFlags) limit() time.Duration {
	const usual = 2 * time.Minute
	switch {
	case f.Timeout != nil:
		return *f.Timeout
	case f.long:
		return 0
	}
	return usual
}

func (f *fleetFlags) overrides() map[string]any {
	out := make(map[string]any)
	f.override(out)
	return out
}
