package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// This file measures what players wait for between two nodes.

// benchNode is a node with handles of its own, as a process has them.
type benchNode struct {
	*shoal.Node

	faults  *faultstore.Faults
	engines engines
}

// benchTemplate are profiles of 2 KB.
func benchTemplate() doc.Value {
	return doc.Must(map[string]any{"coins": 0, "bag": map[string]any{}, "note": strings.Repeat("x", 2000)})
}

// benchNodeOptions are those of every node of a bench.
func (b *engineBench) benchNodeOptions(name string, logger slog.Handler) *shoal.Options {
	return &shoal.Options{
		Node: node.Options{Name: name, Beat: b.options.Beat, Logger: slog.New(logger)},
		Sets: map[string]*profile.Options{benchSet: {Template: benchTemplate()}},
	}
}

// join starts a node that can be crashed.
func (b *engineBench) join(ctx context.Context, name string) (*benchNode, error) {
	e, err := b.ground.open(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	n := &benchNode{faults: faultstore.New(&faultstore.Options{Log: -1}), engines: e}
	st, err := store.New(n.faults.Wrap(e.parts()))
	if err == nil {
		n.Node, err = shoal.Start(ctx, st, b.benchNodeOptions(name, slog.DiscardHandler))
	}
	if err != nil {
		return nil, errors.Join(err, e.close(ctx))
	}
	return n, nil
}

// leave closes the node, or what a crash has left of it.
func (n *benchNode) leave(ctx context.Context) error {
	_, err := n.Close(context.WithoutCancel(ctx))
	if n.faults.Crashed() {
		err = nil // a dead node can store nothing
	}
	return errors.Join(err, n.engines.close(ctx))
}

// hold opens a profile, changes it, and answers how long the opening took.
func (b *engineBench) hold(ctx context.Context, n *benchNode, key string) (*profile.Session, time.Duration, error) {
	begun := b.clk.Now()
	s, err := n.Set(benchSet).Load(ctx, key, nil)
	took := b.clk.Now().Sub(begun)
	if err == nil {
		_, err = s.Transact(profile.Source{}, doc.Increment("/coins", 1)) //nolint:contextcheck // a commit blocks on nothing
	}
	return s, took, err
}

// handOvers has two nodes load the same profile in turns, each time with a change in it that is
// not saved yet.
func (b *engineBench) handOvers(ctx context.Context) (out spread, err error) {
	var nodes [2]*benchNode
	for i := range nodes {
		if nodes[i], err = b.join(ctx, fmt.Sprintf("hand%d", i)); err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, nodes[i].leave(ctx)) }()
	}
	if _, _, err = b.hold(ctx, nodes[0], "handed"); err != nil {
		return out, err
	}
	var all []time.Duration
	err = b.repeat(ctx, func() error {
		s, took, err := b.hold(ctx, nodes[(len(all)+1)%2], "handed")
		if err == nil && s.Loaded().How != profile.Granted {
			err = fmt.Errorf("a hand-over expected, got %+v", s.Loaded())
		}
		all = append(all, took)
		return err
	})
	return spreadOf(all), err
}

// victims is how many nodes crash.
const victims = 8

// takeovers crashes nodes, each at another moment between two beats, and has another one load
// what they held: from the crash to the session. What they had synced must be in it.
func (b *engineBench) takeovers(ctx context.Context) (out []time.Duration, err error) {
	heir, err := b.join(ctx, "heir")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, heir.leave(ctx)) }()
	errs := make([]error, victims)
	out = make([]time.Duration, victims)
	var wg sync.WaitGroup
	for i := range victims {
		v, err := b.join(ctx, "victim")
		if err != nil {
			errs[i] = err
			break
		}
		wg.Go(func() { out[i], errs[i] = b.takeover(ctx, v, heir, i) })
	}
	wg.Wait()
	slices.Sort(out)
	return out, errors.Join(errs...)
}

// takeover is one crash, of the i-th victim.
func (b *engineBench) takeover(ctx context.Context, v, heir *benchNode, i int) (took time.Duration, err error) {
	defer func() { err = errors.Join(err, v.leave(ctx)) }()
	key := fmt.Sprintf("orphan%d", i)
	s, _, err := b.hold(ctx, v, key)
	if err == nil {
		err = s.Sync(ctx)
	}
	if err == nil { // the heir has beaten long enough to judge by then
		err = b.pause(ctx, b.options.Beat*time.Duration(30+i)/victims)
	}
	if err != nil {
		return 0, err
	}
	v.faults.Crash()
	begun := b.clk.Now()
	s, err = heir.Set(benchSet).Load(ctx, key, nil)
	took = b.clk.Now().Sub(begun)
	if err == nil && (s.Loaded().Evidence == "" || !strings.Contains(s.Data().String(), `"coins":1`)) {
		err = fmt.Errorf("a takeover with what was synced expected, got %+v, %v", s.Loaded(), s.Data())
	}
	return took, err
}
