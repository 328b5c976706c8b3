package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/redisstore"
)

// This file measures fleets of many nodes with many players, in this one process.

// crowdSpans is how many spans a fleet plays.
const crowdSpans = 20

// crowdResult is what came of one fleet.
type crowdResult struct {
	nodes, players, pools int // pools: handles of PostgreSQL, which nodes share when it allows no more connections
	span                  time.Duration
	wanted, changes       float64 // a second
	appends, saves        float64 // a second
	failures              uint64  // appends and saves that were refused or stayed unknown
	beats                 beatTally
	refused               uint64 // changes that were refused, and syncs that failed
	verdicts              int    // nodes that others took for dead
	stolen                uint64 // sessions that were taken over, or lost
	lag, sync             spread
	worstLag              time.Duration
	nodesTime             time.Duration // of processors, in all
	servers               serverTimes
	failure               error // what ended it, or its closing
}

// crowds measures a sixth of the largest fleet, a third, and all of it, unless only that one is
// wanted. When one fails the others stay.
func (b *engineBench) crowds(ctx context.Context) (all []crowdResult, err error) {
	parts := []int{6, 3, 1}
	if b.options.Only == onlyFleet {
		parts = parts[2:]
	}
	for _, part := range parts {
		r := crowdResult{nodes: b.options.Nodes / part}
		each := b.options.Players / b.options.Nodes
		r.players, r.wanted = r.nodes*each, float64(r.nodes*each+syncsASecond)
		c := &crowd{bench: b, spots: newSpots(), beats: &beatLog{clk: b.clk, beat: b.options.Beat}}
		if r.failure = c.run(ctx, &r, part == 1); r.failure != nil {
			b.say("  %s nodes: %v", count(r.nodes), r.failure)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		all = append(all, r)
	}
	return all, nil
}

// crowd is a fleet.
type crowd struct {
	bench    *engineBench
	beats    *beatLog
	pools    []*pgstore.Engine
	redis    []*redisstore.Engine
	nodes    []*shoal.Node
	sessions [][]*profile.Session // of each node
	spots    spots
	refused  atomic.Uint64
}

// run opens a fleet, plays, and closes it.
func (c *crowd) run(ctx context.Context, r *crowdResult, largest bool) (err error) {
	defer func() { err = errors.Join(err, c.close(context.WithoutCancel(ctx))) }()
	c.bench.say("  %s nodes: starting", count(r.nodes))
	if err := c.start(ctx, r); err != nil {
		return err
	}
	c.bench.say("  %s nodes: %s players come", count(r.nodes), count(r.players))
	if err := c.load(ctx, r.players/r.nodes); err != nil {
		return err
	}
	c.bench.say("  %s nodes: playing for %v", count(r.nodes), crowdSpans*c.bench.span)
	stop, err := c.profile(largest)
	if err != nil {
		return err
	}
	return errors.Join(c.play(ctx, r), stop())
}

// profile profiles this process when that was asked for.
func (c *crowd) profile(largest bool) (stop func() error, err error) {
	if !largest || c.bench.options.Profile == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(c.bench.options.Profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

const (
	// spareConnections of PostgreSQL are left for others.
	spareConnections = 10
	// crowdConnections is how many connections a node has to PostgreSQL, which has neither its
	// beats nor its messages, and to Redis beside those for both.
	crowdConnections = 1
	// startWidth is how many nodes start, and close, at once.
	startWidth = 16
)

// start starts the nodes. Each has handles of its own, with few connections, as a process of a
// large fleet has them; of PostgreSQL as many as it allows.
func (c *crowd) start(ctx context.Context, r *crowdResult) error {
	r.pools = max(1, min(r.nodes, (c.bench.ground.connections-spareConnections)/crowdConnections))
	c.pools, c.redis = make([]*pgstore.Engine, r.pools), make([]*redisstore.Engine, r.nodes)
	c.nodes, c.sessions = make([]*shoal.Node, r.nodes), make([][]*profile.Session, r.nodes)
	err := inParallel(r.pools, startWidth, func(i int) (err error) {
		c.pools[i], err = pgstore.Open(ctx, c.bench.ground.postgres, &pgstore.Options{Connections: crowdConnections})
		return err
	})
	if err != nil {
		return err
	}
	return inParallel(r.nodes, startWidth, func(i int) (err error) {
		if c.redis[i], err = redisstore.Open(ctx, c.bench.ground.redis, &redisstore.Options{Connections: crowdConnections}); err != nil {
			return err
		}
		st, err := store.New(engines{c.pools[i%r.pools], c.redis[i]}.parts())
		if err != nil {
			return err
		}
		st = st.Through(c.beats.records, func(b store.Boards) store.Boards { return b })
		c.nodes[i], err = shoal.Start(ctx, st, c.bench.benchNodeOptions("crowd", slog.DiscardHandler))
		return err
	})
}

// inParallel calls do for 0 to n-1, some at a time, until one fails.
func inParallel(n, width int, do func(i int) error) error {
	errs := make([]error, min(n, width))
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += len(errs) {
				errs[w] = do(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// load opens the players' sessions, the same number on each node.
func (c *crowd) load(ctx context.Context, each int) error {
	const width = 64
	for i := range c.sessions {
		c.sessions[i] = make([]*profile.Session, each)
	}
	return inParallel(each*len(c.nodes), width, func(i int) (err error) {
		n := i % len(c.nodes)
		key := fmt.Sprintf("crowd%d_%06d", len(c.nodes), i)
		c.sessions[n][i/len(c.nodes)], err = c.nodes[n].Set(benchSet).Load(ctx, key, nil)
		return err
	})
}

// close closes the nodes, which saves and frees their sessions, and then the handles.
func (c *crowd) close(ctx context.Context) error {
	c.bench.say("  %s nodes: closing", count(len(c.nodes)))
	err := inParallel(len(c.nodes), startWidth, func(i int) error {
		if c.nodes[i] == nil {
			return nil
		}
		_, err := c.nodes[i].Close(ctx)
		return err
	})
	for _, e := range c.redis {
		if e != nil {
			err = errors.Join(err, e.Close(ctx))
		}
	}
	for _, e := range c.pools {
		if e != nil {
			err = errors.Join(err, e.Close(ctx))
		}
	}
	return err
}
