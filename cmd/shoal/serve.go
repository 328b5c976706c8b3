package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
)

// serveCommand runs a daemon.
type serveCommand struct {
	Config string `short:"c" type:"path" placeholder:"FILE" help:"Configuration file (YAML or JSON): sets, boards, seasons. Flags win over the environment, the environment over the file."`
	storeFlags

	Listen string `placeholder:"HOST:PORT" help:"Where to listen. Other than loopback needs an API key. Default 127.0.0.1:7077 ($$SHOAL_LISTEN)."`
	Name   string `placeholder:"NAME" help:"Readable part of the node's id. Default node ($$SHOAL_NAME)."`

	seasonSpan
	wrongClock

	LogFormat string `enum:"text,json" default:"text" help:"Form of the log on standard error: text or json."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// Help is shown by --help.
func (*serveCommand) Help() string {
	return `A daemon is one node. It serves profiles, boards and seasons over HTTP: JSON, gRPC and gRPC-Web on one port.
Several daemons share one store and need nothing else to agree:

  shoal serve --store ./game --listen 127.0.0.1:7077
  shoal serve --store ./game --listen 127.0.0.1:7078

On several machines PostgreSQL keeps what must last, and Redis takes over what many nodes do all the time:

  SHOAL_STORE=postgres://shoal:PASSWORD@db/shoal SHOAL_FAST=redis://:PASSWORD@cache/0 shoal serve

Then, for example:

  curl -H 'Content-Type: application/json' -d '{"set":"players","key":"u_42"}' \
    http://127.0.0.1:7077/shoal.v1.ProfileService/Load

The API key is read from $SHOAL_API_KEY or the file only, never from a flag. Without one the daemon serves loopback
only. $SHOAL_METRICS_KEY is a second one that opens /metrics (for Prometheus) and nothing else. Further environment
variables: SHOAL_BEAT, SHOAL_DEAD_AFTER. An address with a password belongs there or into the file, too: flags are seen by
everybody on the machine. SIGTERM and Ctrl-C end it in order: calls in flight, sessions, seasons,
boards.

Exit codes: 0 ended in order; 1 ended with something unfinished; 2 the configuration is wrong; 4 no store or no port.`
}

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, o *output) error {
	logger := newLogger(o, c.LogFormat, c.LogLevel)
	cfg, err := readConfig(c.Config, environ(), c.flags())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	opts, err := cfg.options(logger)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := c.shorten(opts); err != nil {
		return &exitError{exitUsage, err}
	}
	opts.Node.Clock = c.clock()
	return serve(ctx, cfg, opts)
}

func (c *serveCommand) flags() map[string]any {
	out := make(map[string]any)
	for member, value := range map[string]string{"listen": c.Listen, "name": c.Name} {
		if value != "" {
			out[member] = value
		}
	}
	c.override(out)
	return out
}

// options turn a configuration into those of the facade, or everything that is wrong with it.
func (c *config) options(logger *slog.Logger) (*shoal.Options, error) {
	sets, setsErr := c.setOptions()
	flush, names, boardsErr := c.boardOptions()
	if err := errors.Join(setsErr, boardsErr); err != nil {
		return nil, err
	}
	seasons := make(map[string]shoal.Season, len(c.Seasons))
	for name, s := range c.Seasons {
		seasons[name] = shoal.Season{Set: s.Set, Rules: s.Rules}
	}
	return &shoal.Options{
		Node: node.Options{
			Name: c.Name, Beat: time.Duration(c.Beat), DeadAfter: time.Duration(c.DeadAfter),
			CloseTimeout: time.Duration(c.CloseTimeout), Limits: c.Limits.limits(), Logger: logger,
		},
		Sets: sets, Ranked: c.Ranked, Boards: flush.Boards, Flush: flush, Names: names, Seasons: seasons,
	}, nil
}

// idleSeasons are the seasons that a set plays, for a tool.
func (c *config) idleSeasons(set string) map[string]shoal.Season {
	out := make(map[string]shoal.Season)
	for name, s := range c.Seasons {
		if s.Set == set {
			out[name] = shoal.Season{Set: set, Rules: s.Rules, Idle: true}
		}
	}
	return out
}

// shorten makes every season as long as the flags say.
func (c *seasonSpan) shorten(opts *shoal.Options) error {
	if c.SeasonLength == 0 && c.SeasonEpoch == "" {
		return nil
	}
	for name, s := range opts.Seasons {
		if c.SeasonEpoch != "" {
			epoch, err := time.Parse(time.RFC3339, c.SeasonEpoch)
			if err != nil {
				return fmt.Errorf("--season-epoch: a time such as 2026-08-11T00:00:00Z expected, got %q", c.SeasonEpoch)
			}
			s.Rules.Epoch = epoch
		}
		if c.SeasonLength != 0 {
			s.Rules = shortened(s.Rules, c.SeasonLength)
		}
		opts.Seasons[name] = s
	}
	return nil
}

// shortened is a season of the given length, with its other times in proportion, and never
// longer than they were.
func shortened(c season.Config, length time.Duration) season.Config {
	c.Length = length
	share := func(field *time.Duration, part, most time.Duration) {
		if *field == 0 {
			*field = most
		}
		*field = min(*field, max(part, 10*time.Millisecond))
	}
	share(&c.Grace, length/10, 300*time.Second)
	share(&c.FlushEvery, length/60, 30*time.Second)
	share(&c.FirstClose, length/20, 60*time.Second)
	share(&c.CloseEvery, length/20, 300*time.Second)
	share(&c.CacheFor, length/60, 30*time.Second)
	return c
}

// serve opens the store, starts the node and serves it; everything ends in order.
func serve(ctx context.Context, cfg config, opts *shoal.Options) error {
	st, err := shoal.OpenWith(ctx, cfg.addresses(opts.Node.Logger))
	if err != nil {
		return &exitError{exitUnserved, err}
	}
	end := context.WithoutCancel(ctx)
	err = serveStore(ctx, cfg, opts, st)
	return errors.Join(err, st.Close(end))
}

// serveStore starts the node, serves it until ctx ends, and closes it.
func serveStore(ctx context.Context, cfg config, opts *shoal.Options, st *store.Store) error {
	n, err := shoal.Start(context.WithoutCancel(ctx), st, opts)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	err = serveNode(ctx, cfg, n)
	report, closeErr := n.Close(context.WithoutCancel(ctx))
	for _, u := range report.Unfinished {
		closeErr = errors.Join(closeErr, fmt.Errorf("%s: %d left: %w", u.Service, u.Left, u.Err))
	}
	return errors.Join(err, closeErr)
}

// serveNode answers calls until ctx ends or the node must stop.
func serveNode(ctx context.Context, cfg config, n *shoal.Node) error {
	s, err := server.New(server.Config{Node: n, APIKey: cfg.APIKey, MetricsKey: cfg.MetricsKey, Version: version()})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	l, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-n.Failed(): // another process has this node's id
			cancel()
		case <-ctx.Done():
		}
	}()
	err = s.Serve(ctx, l)
	if errors.Is(err, server.ErrOpenListener) {
		return &exitError{exitUsage, err}
	}
	return err
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var l net.ListenConfig
	listener, err := l.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &exitError{exitUnserved, fmt.Errorf("listen on %s: %w", addr, err)}
	}
	return listener, nil
}

func newLogger(o *output, format, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo // the flag's enum excludes it
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(o.err, options))
	}
	return slog.New(slog.NewTextHandler(o.err, options))
}
