package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
)

// redisResult is what came of boards on Redis.
type redisResult struct {
	merge, commands, zadd pace
	rank, zrevrank        spread
}

// redisBoards writes windows into a board, and into what somebody would keep by hand: a sorted
// set with the scores as they are; and all that a board keeps, by its commands without a script.
func (b *engineBench) redisBoards(ctx context.Context) (r redisResult, err error) {
	e, err := redisstore.Open(ctx, b.ground.redis, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	h := &handBoard{client: b.ground.commands, key: b.ground.name + ":hand:", now: make(map[string]string, b.options.Max)}
	ways := []struct {
		name  string
		write func(context.Context, []store.Submission) error
	}{{"driver", merging(e.Boards())}, {"commands without a script", h.replace}, {"ZADD", h.add}}
	if _, err := e.Boards().Create(ctx, benchBoard, store.BoardSpec{Order: store.Descending, Generation: "bench"}); err != nil {
		return r, err
	}
	contenders := make([]contender, len(ways))
	for i, w := range ways {
		if err := b.fillBy(ctx, w.name, w.write); err != nil {
			return r, err
		}
		contenders[i] = b.windows(w.name, w.write)
	}
	paces, err := b.contest(ctx, contenders...)
	if err != nil {
		return r, err
	}
	r.merge, r.commands, r.zadd = paces[0], paces[1], paces[2]
	b.say("  ranks")
	r.rank, r.zrevrank, err = b.sideBySide(ctx,
		func(key string) error { return present(e.Boards().Standing(ctx, benchBoard, key, store.Ordinal)) },
		func(key string) error { return h.rank(ctx, key) })
	return r, err
}

// merging writes a window into a board.
func merging(boards store.Boards) func(context.Context, []store.Submission) error {
	return func(ctx context.Context, entries []store.Submission) error {
		_, err := boards.Merge(ctx, benchBoard, store.Batch{Rule: store.Last, Entries: entries})
		return err
	}
}

// present tells that a key has a standing.
func present(_ store.Standing, ok bool, err error) error {
	if err == nil && !ok {
		err = errors.New("bench: an entry is missing")
	}
	return err
}

// fillBy writes all entries, a window at a time.
func (b *engineBench) fillBy(ctx context.Context, name string, write func(context.Context, []store.Submission) error) error {
	b.say("  %s entries: %s", count(b.options.Max), name)
	for first := 0; first < b.options.Max; first += store.MaxMerge {
		entries := make([]store.Submission, min(store.MaxMerge, b.options.Max-first))
		for i := range entries {
			entries[i] = store.Submission{Key: benchKey(first + i), Score: b.scoreOf(first + i), Stamp: store.Stamp{Epoch: 1}}
		}
		if err := write(ctx, entries); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// windows writes windows of random keys, which all change.
func (b *engineBench) windows(name string, write func(context.Context, []store.Submission) error) contender {
	return contender{name, func(ctx context.Context, _ time.Duration) (n int, took time.Duration, err error) {
		err = b.repeat(ctx, func() error {
			entries := b.window(b.options.Max)
			begun := b.clk.Now()
			err := write(ctx, entries)
			took, n = took+b.clk.Now().Sub(begun), n+len(entries)
			return err
		})
		return n, took, err
	}}
}

// sideBySide asks for the same keys in two ways, in turns.
func (b *engineBench) sideBySide(ctx context.Context, ours, plain func(key string) error) (a, c spread, err error) {
	var left, right []time.Duration
	err = b.repeat(ctx, func() error {
		key := benchKey(b.random.IntN(b.options.Max))
		begun := b.clk.Now()
		err := ours(key)
		between := b.clk.Now()
		err = errors.Join(err, plain(key))
		left, right = append(left, between.Sub(begun)), append(right, b.clk.Now().Sub(between))
		return err
	})
	return spreadOf(left), spreadOf(right), err
}

// handBoard is a board that somebody keeps by hand.
type handBoard struct {
	client   rueidis.Client
	key      string
	now      map[string]string // where each key stands
	sequence uint64
}

// add is one ZADD for each entry, in a pipeline: scores are doubles, and what ties is in the
// order of the keys.
func (h *handBoard) add(ctx context.Context, entries []store.Submission) error {
	all := make([]rueidis.Completed, len(entries))
	for i, e := range entries {
		all[i] = h.client.B().Zadd().Key(h.key+"plain").ScoreMember().ScoreMember(float64(e.Score), e.Key).Build()
	}
	return h.run(ctx, all)
}

// replace is the four commands by which an entry of a board changes, in a pipeline.
func (h *handBoard) replace(ctx context.Context, entries []store.Submission) error {
	all := make([]rueidis.Completed, 0, 4*len(entries))
	b, z, k := h.client.B, h.key+"z", h.key+"k"
	for _, e := range entries {
		h.sequence++
		position := string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(e.Score)), h.sequence)) //nolint:gosec // its order does not matter here
		all = append(all, b().Hget().Key(k).Field(e.Key).Build())
		if old, ok := h.now[e.Key]; ok {
			all = append(all, b().Zrem().Key(z).Member(old+e.Key).Build())
		}
		all = append(all, b().Zadd().Key(z).ScoreMember().ScoreMember(0, position+e.Key).Build(),
			b().Hset().Key(k).FieldValue().FieldValue(e.Key, position).Build())
		h.now[e.Key] = position
	}
	return h.run(ctx, all)
}

// rank is ZREVRANK.
func (h *handBoard) rank(ctx context.Context, key string) error {
	return h.client.Do(ctx, h.client.B().Zrevrank().Key(h.key+"plain").Member(key).Build()).Error()
}

func (h *handBoard) run(ctx context.Context, all []rueidis.Completed) error {
	for _, r := range h.client.DoMulti(ctx, all...) {
		if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return nil
}
