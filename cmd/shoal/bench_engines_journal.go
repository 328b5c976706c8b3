package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
)

const (
	// journalBatch is how many journals go in one call, and journalBytes the size of each.
	journalBatch = 256
	journalBytes = 512
	// journalKeys is how many sessions there are.
	journalKeys = 10_000
)

// journalResult is what came of journals on Redis: by our driver, and by SET without a condition.
type journalResult struct{ driver, set pace }

// journals writes the journals of many sessions, one call after the other.
func (b *engineBench) journals(ctx context.Context) (r journalResult, err error) {
	e, err := redisstore.Open(ctx, b.ground.redis, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	fast, value := e.Fast(), incompressible()[:journalBytes]
	versions := make([]store.Version, journalKeys)
	commands := b.ground.commands
	paces, err := b.contest(ctx,
		b.batches("driver", func(ctx context.Context, first int) error {
			txs := make([]store.Tx, journalBatch)
			for i := range txs {
				at := (first + i) % journalKeys
				txs[i] = store.Tx{{Key: journalKeyOf(at), Op: store.Put, Value: value, If: store.Is(versions[at]), Version: versions[at] + 1}}
				versions[at]++
			}
			return errors.Join(fast.Commit(ctx, txs...)...)
		}),
		b.batches("SET", func(ctx context.Context, first int) error {
			all := make([]rueidis.Completed, journalBatch)
			for i := range all {
				key := b.ground.name + ":set:" + journalKeyOf((first+i)%journalKeys)
				all[i] = commands.B().Set().Key(key).Value(rueidis.BinaryString(value)).Build()
			}
			return runAll(ctx, commands, all)
		}))
	if err != nil {
		return r, err
	}
	return journalResult{paces[0], paces[1]}, nil
}

func journalKeyOf(i int) string { return fmt.Sprintf("journal/bench/%06d", i) }

// batches writes batches, each of the sessions that come next.
func (b *engineBench) batches(name string, write func(ctx context.Context, first int) error) contender {
	first := 0
	return contender{name, nil, func(ctx context.Context, _ time.Duration) (n int, took time.Duration, err error) {
		begun := b.clk.Now()
		err = b.repeat(ctx, func() error {
			err := write(ctx, first)
			first, n = (first+journalBatch)%journalKeys, n+journalBatch
			return err
		})
		return n, b.clk.Now().Sub(begun), err
	}}
}
