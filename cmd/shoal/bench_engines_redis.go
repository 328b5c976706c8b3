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
	windows     []redisWindows
	own, others redisRanks // of entries that the engine has written, and that another one has
}

// redisRanks are ranks beside ZREVRANK, in turns.
type redisRanks struct{ driver, plain spread }

func (r redisRanks) share() string { return share(float64(r.driver.p50), float64(r.plain.p50)) }

// redisWindows is what came of windows of one size.
type redisWindows struct {
	size           int
	best, last     pace // by our driver, under two rules
	commands, zadd pace
}

// windowSizes are the sizes of the windows in which boards are written: a common one, and the
// largest.
func windowSizes() []int { return []int{1000, store.MaxMerge} }

// redisBoards writes windows into a board, and into what somebody would keep by hand: a sorted
// set with the scores as they are; and all that a board keeps, by its commands without a script.
func (b *engineBench) redisBoards(ctx context.Context) (r redisResult, err error) {
	e, err := redisstore.Open(ctx, b.ground.redis, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	h := &handBoard{client: b.ground.commands, key: b.ground.name + ":hand:", now: make(map[string]string, b.options.Max)}
	var ways []*writing
	for _, rule := range []store.Rule{store.Best, store.Last} {
		name := benchBoard + "-" + rule.String()
		if _, err := e.Boards().Create(ctx, name, store.BoardSpec{Order: store.Descending, Generation: "bench"}); err != nil {
			return r, err
		}
		ways = append(ways, &writing{bench: b, name: "driver, " + rule.String(), write: merging(e.Boards(), name, rule)})
	}
	ways = append(ways, &writing{bench: b, name: "commands without a script", write: h.replace}, &writing{bench: b, name: "ZADD", write: h.add})
	for _, size := range windowSizes() {
		contenders := make([]contender, len(ways))
		for i, w := range ways {
			contenders[i] = w.windows(size)
		}
		paces, err := b.contest(ctx, contenders...)
		if err != nil {
			return r, err
		}
		r.windows = append(r.windows, redisWindows{size, paces[0], paces[1], paces[2], paces[3]})
	}
	b.say("  ranks")
	if r.own, err = b.redisRanks(ctx, e, h); err != nil {
		return r, err
	}
	r.others, err = b.ranksOfOthers(ctx, h)
	return r, err
}

// redisRanks asks for ranks of any entries.
func (b *engineBench) redisRanks(ctx context.Context, e *redisstore.Engine, h *handBoard) (r redisRanks, err error) {
	r.driver, r.plain, err = b.sideBySide(ctx,
		func(key string) error {
			return present(e.Boards().Standing(ctx, benchBoard+"-best", key, store.Ordinal))
		},
		func(key string) error { return h.rank(ctx, key) })
	return r, err
}

// ranksOfOthers is redisRanks for an engine that has written none of the entries.
func (b *engineBench) ranksOfOthers(ctx context.Context, h *handBoard) (r redisRanks, err error) {
	e, err := redisstore.Open(ctx, b.ground.redis, nil)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	return b.redisRanks(ctx, e, h)
}

// merging writes a window into a board.
func merging(boards store.Boards, name string, rule store.Rule) func(context.Context, []store.Submission) error {
	return func(ctx context.Context, entries []store.Submission) error {
		_, err := boards.Merge(ctx, name, store.Batch{Rule: rule, Entries: entries})
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

// writing is one way to write entries somewhere.
type writing struct {
	bench  *engineBench
	name   string
	write  func(context.Context, []store.Submission) error
	scores []int64 // of all keys; nil: not written yet
}

// fill writes all entries, once.
func (w *writing) fill(ctx context.Context) error {
	if w.scores != nil {
		return nil
	}
	b := w.bench
	b.say("  %s entries: %s", count(b.options.Max), w.name)
	w.scores = make([]int64, b.options.Max)
	for first := 0; first < len(w.scores); first += store.MaxMerge {
		entries := make([]store.Submission, min(store.MaxMerge, len(w.scores)-first))
		for i := range entries {
			w.scores[first+i] = b.scoreOf(first + i)
			entries[i] = store.Submission{Key: benchKey(first + i), Score: w.scores[first+i], Stamp: store.Stamp{Epoch: 1}}
		}
		if err := w.write(ctx, entries); err != nil {
			return err
		}
	}
	return nil
}

// windows writes windows of so many random keys, whose scores all become better.
func (w *writing) windows(size int) contender {
	b := w.bench
	return contender{fmt.Sprintf("%s, windows of %s", w.name, count(size)), w.fill, func(ctx context.Context, _ time.Duration) (n int, took time.Duration, err error) {
		err = b.repeat(ctx, func() error {
			entries := b.improvements(w.scores, size)
			begun := b.clk.Now()
			err := w.write(ctx, entries)
			took, n = took+b.clk.Now().Sub(begun), n+len(entries)
			return err
		})
		return n, took, err
	}}
}

// improvements is a window of random keys, each a little better than before, so that places all
// over the board change.
func (b *engineBench) improvements(scores []int64, size int) []store.Submission {
	const most = 1 << 34 // a sixty-fourth of all scores
	entries := b.window(len(scores))
	entries = entries[:min(size, len(entries))]
	for i := range entries {
		var at int
		if _, err := fmt.Sscanf(entries[i].Key, "player_%d", &at); err != nil {
			panic("bench: a key that benchKey has not made: " + entries[i].Key)
		}
		scores[at] += 1 + b.random.Int64N(most)
		entries[i].Score = scores[at]
	}
	return entries
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
	return runAll(ctx, h.client, all)
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
	return runAll(ctx, h.client, all)
}

// rank is ZREVRANK.
func (h *handBoard) rank(ctx context.Context, key string) error {
	return h.client.Do(ctx, h.client.B().Zrevrank().Key(h.key+"plain").Member(key).Build()).Error()
}

// runAll runs commands in a pipeline.
func runAll(ctx context.Context, c rueidis.Client, all []rueidis.Completed) error {
	for _, r := range c.DoMulti(ctx, all...) {
		if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return nil
}
