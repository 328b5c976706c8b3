package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/address"
)

// benchEnginesCommand measures PostgreSQL and Redis, and a fleet on them.
type benchEnginesCommand struct {
	Store   string        `required:"" placeholder:"ADDRESS" env:"SHOAL_STORE" help:"A running PostgreSQL: postgres://… ($$SHOAL_STORE)."`
	Fast    string        `required:"" placeholder:"ADDRESS" env:"SHOAL_FAST" help:"A running Redis of one server: redis://… or rediss://… ($$SHOAL_FAST)."`
	Max     int           `default:"1000000" help:"Entries of each board, at least 1000."`
	Nodes   int           `default:"300" help:"Nodes of the largest fleet, at least 6."`
	Players int           `default:"30000" help:"Their players, at least one for each node."`
	For     time.Duration `default:"3s" help:"How long each thing is measured at a time; fleets sixty times as long."`
	Beat    time.Duration `default:"1s" help:"How often nodes beat; one is dead after four."`
	Only    string        `default:"all" enum:"all,fleets,fleet" help:"What to measure: all, fleets alone, or fleet, the largest one alone. Default all."`
	Profile string        `type:"path" placeholder:"FILE" help:"Write a profile of this process while the largest fleet plays there. Default: none."`
	Out     string        `type:"path" placeholder:"FILE" help:"Write the part on engines of the page there, and leave the others. Default: standard output."`
}

// Help is shown by --help.
func (*benchEnginesCommand) Help() string {
	return `Measures the drivers of PostgreSQL and Redis beside the same work by hand, in turns: durable updates, boards, ranks.
Then what players wait for between two nodes: a hand-over, and a takeover after a crash. Then fleets, up to --nodes nodes
with --players players who all change once a second, in this one process: whether all beats land, how far behind the
journal is, and what it costs. Works in a schema and under a prefix of its own, which go at the end; nothing else on the
servers is touched. Prints a part of a page of Markdown; progress goes to standard error.

  shoal bench engines --store postgres://localhost/shoal --fast redis://localhost --max 100000 --nodes 30 --players 3000
  shoal bench engines --only fleet --nodes 30 --players 3000 --profile fleet.prof    with $SHOAL_STORE and $SHOAL_FAST
  make performance    on private engines

Exit codes: 0 done; 1 failed; 2 wrong flags; 4 no store.`
}

// What to measure.
const (
	onlyAll    = "all"
	onlyFleets = "fleets"
	onlyFleet  = "fleet" // the largest
)

// leastNodes is the least number of nodes of the largest fleet.
const leastNodes = 6

// Run measures and prints.
func (c *benchEnginesCommand) Run(ctx context.Context, o *output) error {
	if err := c.problems(); err != nil {
		return &exitError{exitUsage, err}
	}
	page, err := c.measure(ctx, func(format string, args ...any) { fmt.Fprintf(o.err, format+"\n", args...) })
	if err != nil {
		return address.Hide(err, c.Store, c.Fast)
	}
	if c.Out == "" {
		_, err = io.WriteString(o.out, page)
		return err
	}
	return writePart(c.Out, page)
}

// problems is all that is wrong with the flags.
func (c *benchEnginesCommand) problems() error {
	var errs []error
	if kind, err := address.KindOf(c.Store); err != nil || kind != address.Postgres {
		errs = append(errs, fmt.Errorf("--store %s: a PostgreSQL, postgres://…, expected", address.Redacted(c.Store)))
	}
	if kind, err := address.KindOf(c.Fast); err != nil || kind != address.Redis || strings.Contains(c.Fast[:strings.Index(c.Fast, ":")], "+") {
		errs = append(errs, fmt.Errorf("--fast %s: a Redis of one server, redis://… or rediss://…, expected", address.Redacted(c.Fast)))
	}
	if c.Max < smallest {
		errs = append(errs, fmt.Errorf("--max: at least %d expected, got %d", smallest, c.Max))
	}
	if c.Nodes < leastNodes || c.Players < c.Nodes {
		errs = append(errs, fmt.Errorf("--nodes, --players: at least %d nodes, and a player for each, expected, got %d and %d", leastNodes, c.Nodes, c.Players))
	}
	if c.Only != onlyAll && c.Out != "" {
		errs = append(errs, fmt.Errorf("--out: not with --only %s, whose part lacks the rest", c.Only))
	}
	if c.For <= 0 || c.Beat <= 0 {
		errs = append(errs, errors.New("--for, --beat: more than 0 expected"))
	}
	return errors.Join(errs...)
}

// words is the command without what is a matter of this machine.
func (c *benchEnginesCommand) words() string {
	out := []string{"shoal bench engines --store postgres://… --fast redis://…"}
	for _, f := range []struct {
		name       string
		value, own int
	}{{"max", c.Max, 1_000_000}, {"nodes", c.Nodes, 300}, {"players", c.Players, 30_000}} {
		if f.value != f.own {
			out = append(out, fmt.Sprintf("--%s %d", f.name, f.value))
		}
	}
	if out = append(out, commonWords(c.For, "")...); c.Beat != time.Second {
		out = append(out, fmt.Sprintf("--beat %v", c.Beat))
	}
	if c.Only != onlyAll {
		out = append(out, "--only "+c.Only)
	}
	return strings.Join(out, " ")
}

// engineResult is all that was measured of engines.
type engineResult struct {
	settings string
	beat     time.Duration
	span     time.Duration
	entries  int
	records  recordsResult
	journals journalResult
	redis    redisResult
	postgres postgresResult
	handOver spread
	takeover []time.Duration // sorted
	crowds   []crowdResult
}

// measure measures everything on ground of its own, and answers the part of the page.
func (c *benchEnginesCommand) measure(ctx context.Context, say func(string, ...any)) (page string, err error) {
	g, err := openGround(ctx, c.Store, c.Fast)
	if err != nil {
		return "", &exitError{exitUnserved, err}
	}
	defer func() { err = errors.Join(err, g.close(context.WithoutCancel(ctx))) }()
	b := &engineBench{boardBench: newBoardBench("", c.For, say), ground: g, options: *c}
	r := engineResult{settings: g.settings, beat: c.Beat, span: c.For, entries: c.Max}
	if err := b.run(ctx, &r); err != nil {
		return "", err
	}
	if c.Only != onlyAll {
		return fleetsPart(c.words(), thisMachine(g.versions), r), nil
	}
	return enginesPart(c.words(), thisMachine(g.versions), r), nil
}

// engineBench measures on one ground. From the bench of boards it has its keys, scores and
// windows.
type engineBench struct {
	*boardBench

	ground  *ground
	options benchEnginesCommand
}

// run measures one thing after the other.
func (b *engineBench) run(ctx context.Context, r *engineResult) (err error) {
	type step struct {
		what string
		do   func() error
	}
	steps := []step{
		{"hand-overs", func() error { r.handOver, err = b.handOvers(ctx); return err }},
		{"takeovers", func() error { r.takeover, err = b.takeovers(ctx); return err }},
		{"durable updates", func() error { r.records, err = b.records(ctx); return err }},
		{"journals", func() error { r.journals, err = b.journals(ctx); return err }},
		{"boards on Redis", func() error { r.redis, err = b.redisBoards(ctx); return err }},
		{"boards on PostgreSQL", func() error { r.postgres, err = b.postgresBoards(ctx); return err }},
		{"fleets", func() error { r.crowds, err = b.crowds(ctx); return err }},
	}
	if b.options.Only != onlyAll {
		steps = steps[len(steps)-1:]
	}
	for _, step := range steps {
		b.say("%s", step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("bench of %s: %w", step.what, err)
		}
	}
	return nil
}

// contender is one of several ways to do the same thing. prepare is called once, unless nil. run
// works for about so long, and answers how much it has done and in what time.
type contender struct {
	name    string
	prepare func(ctx context.Context) error
	run     func(ctx context.Context, span time.Duration) (n int, took time.Duration, err error)
}

// pace is what came of a contender.
type pace struct {
	rate            float64       // a second
	postgres, redis time.Duration // of a processor, for each thing done; 0: not known
}

// rounds is how many turns each contender has.
const rounds = 3

// contest lets contenders take turns, so that what else the machine does hits all of them, and
// answers the median of each one's rates, and its mean use of the servers.
func (b *engineBench) contest(ctx context.Context, all ...contender) ([]pace, error) {
	for _, c := range all {
		if c.prepare == nil {
			continue
		}
		if err := c.prepare(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	rates, done, used := make([][]float64, len(all)), make([]int, len(all)), make([]serverTimes, len(all))
	for round := range rounds {
		for i, c := range all {
			b.say("  %s, round %d", c.name, round+1)
			before, err := b.ground.times(ctx)
			if err != nil {
				return nil, err
			}
			n, took, err := c.run(ctx, b.span)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			after, err := b.ground.times(ctx)
			if err != nil {
				return nil, err
			}
			rates[i], done[i], used[i] = append(rates[i], perSecond(n, took)), done[i]+n, used[i].plus(after.minus(before))
		}
	}
	out := make([]pace, len(all))
	for i := range all {
		n := time.Duration(max(done[i], 1))
		out[i] = pace{medianRate(rates[i]), used[i].postgres / n, used[i].redis / n}
	}
	return out, nil
}

// until is a moment of the local clock so far from now.
func (b *engineBench) until(span time.Duration) (begun, end time.Time) {
	begun = b.clk.Now()
	return begun, begun.Add(span)
}

// pause waits on the system's clock.
func (b *engineBench) pause(ctx context.Context, d time.Duration) error {
	if err := clock.Sleep(ctx, b.clk, d); err != nil {
		return context.Cause(ctx)
	}
	return nil
}
