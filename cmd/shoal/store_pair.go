package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/internal/address"
	"github.com/shoalworks/shoal/internal/pairing"
	"github.com/shoalworks/shoal/internal/storecopy"
	"github.com/shoalworks/shoal/store"
)

// storePairCommand changes which fast part belongs to a store.
type storePairCommand struct {
	Take   bool `help:"Take the fast part over although it belongs to another store, whose fleet must have ended."`
	DryRun bool `help:"Only say what would be changed."`
	fleetFlags
}

// Help is shown by --help.
func (*storePairCommand) Help() string {
	return `A store remembers which fast part its fleet uses, from the first server on: an engine of its own (--fast) or none, where in
that engine, and whether the messages of PostgreSQL are polled for (pooler=transaction). Servers and commands with others are refused,
because they would not see each other's heartbeats. This command changes it to what --store and --fast say now:

  (end every server of the fleet)
  shoal store pair --store postgres://… --fast redis://…     adds a fast part, or changes it
  shoal store pair --store postgres://…                      leaves it out
  (start the servers with the same addresses)

It looks for heartbeats of the last 30 seconds, and asks for 6 seconds who is alive. While somebody is it exits with 6, and nothing is changed.
A change of pooler=transaction alone may be made while servers run; they hand profiles over more slowly until all have the new
address. Boards and journals are not moved: the boards of a new fast part are empty (shoal board export, import, refill, or
store copy into a new store).

` + exitCodes
}

// livingBeat is how old the heartbeat of a node may be that runs.
const livingBeat = 30 * time.Second

// Run changes it.
func (c *storePairCommand) Run(ctx context.Context, o *output) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if kind, _ := address.KindOf(cfg.Store); kind == address.Memory {
		return usage("memory: is seen by one process only, so nothing belongs to it")
	}
	parts := cfg.addresses(c.logger(o))
	parts.AsGiven = true
	return c.onParts(ctx, parts, func(ctx context.Context, st *store.Store) error {
		t := &pairTool{storeTool{printer{o, c.JSON}, st}, parts, pairing.GivenBy(cfg.Store, cfg.Fast)}
		return pairError(c.pair(ctx, t))
	})
}

// pairTool is what the command works with.
type pairTool struct {
	storeTool
	addresses shoal.Addresses
	given     pairing.Given
}

func (t *pairTool) parts() pairing.Parts {
	return pairing.Parts{Durable: t.st.Durable(), Fast: t.st.Fast(), Logger: t.addresses.Logger}
}

// paired is what --json prints.
type paired struct {
	Change  string `json:"change,omitempty"` // "" when there was nothing to do
	Changed bool   `json:"changed"`
	Fleet   string `json:"fleet,omitempty"` // what the store says now
}

func (c *storePairCommand) pair(ctx context.Context, t *pairTool) error {
	s, err := pairing.Look(ctx, t.parts(), t.given)
	if err != nil {
		return err
	}
	if s.Change == "" {
		return t.printPaired(paired{Fleet: s.Mark.String()}, "Nothing to change: ")
	}
	if err := t.quiet(ctx, s); err != nil {
		return err
	}
	if s.Foreign && !c.Take {
		return pairing.ErrTaken
	}
	if c.DryRun {
		return t.printPaired(paired{Change: s.Change}, "Would be changed: ")
	}
	m, err := pairing.Change(ctx, t.parts(), t.given, c.Take)
	if err != nil {
		return err
	}
	if err := t.printPaired(paired{s.Change, true, m.String()}, "The store is paired: "); err != nil {
		return err
	}
	if err := t.quiet(ctx, s); err != nil {
		return &exitError{exitFailed, fmt.Errorf("it was changed, and meanwhile servers have started; end them: %w", err)}
	}
	return nil
}

// quiet is an error while nodes run that a change would leave behind, as far as their heartbeats
// can be seen: in the fast part that was given, and in the durable engine's own.
func (t *pairTool) quiet(ctx context.Context, s pairing.State) error {
	if s.Quiet {
		return nil
	}
	nodes, err := storecopy.Running(ctx, t.st.Fast(), livingBeat)
	if err != nil {
		return fmt.Errorf("look for nodes: %w", err)
	}
	if t.given.Apart {
		more, err := t.ownBeats(ctx)
		if err != nil {
			return fmt.Errorf("look for nodes: %w", err)
		}
		nodes = append(nodes, more...)
	}
	if len(nodes) == 0 {
		return nil
	}
	slices.Sort(nodes)
	return fmt.Errorf("%w: %s; end them first (one that crashed is seen for %v)", pairing.ErrAlive, strings.Join(nodes[:min(len(nodes), 5)], ", "), livingBeat)
}

// ownBeats are the nodes that beat in the durable engine's own live part.
func (t *pairTool) ownBeats(ctx context.Context) (nodes []string, err error) {
	one, err := shoal.OpenWith(ctx, shoal.Addresses{Store: t.addresses.Store, AsGiven: true, Logger: t.addresses.Logger})
	if err != nil {
		return nil, err
	}
	nodes, err = storecopy.Running(ctx, one.Fast(), livingBeat)
	return nodes, errors.Join(err, one.Close(context.WithoutCancel(ctx)))
}

func (t *pairTool) printPaired(p paired, words string) error {
	return t.print(p, func() {
		text := p.Fleet
		if text == "" {
			text = p.Change
		}
		fmt.Fprintf(t.out, "%s%s\n", words, plain(text))
		if p.Changed {
			fmt.Fprintf(t.out, "Changed: %s\n", plain(p.Change))
		}
	})
}

// pairError gives what the change answers its exit code.
func pairError(err error) error {
	switch {
	case errors.As(err, new(*exitError)):
		return err
	case errors.Is(err, pairing.ErrTaken):
		return &exitError{exitRefused, fmt.Errorf("%w; when the fleet of that one has ended, repeat this with --take", err)}
	case errors.Is(err, pairing.ErrAlive):
		return &exitError{exitRefused, err}
	}
	return byKind(err)
}
