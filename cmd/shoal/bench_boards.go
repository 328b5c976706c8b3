package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// benchBoard is the board that is measured, and queueBoard one that only takes scores in.
const benchBoard, queueBoard = "bench", "queue"

// randomUpTo is from how many entries on each is worse than all before.
const randomUpTo = 2_000_000

// boardBench measures boards on one store.
type boardBench struct {
	folder string // of SQLite; "" for memory
	span   time.Duration
	say    func(format string, args ...any)
	clk    clock.Clock
	random *rand.Rand
	stamp  uint64
	memory *memstore.Engine
	filled int
	plain  *plainTable // nil in memory
}

func newBoardBench(folder string, span time.Duration, say func(string, ...any)) *boardBench {
	return &boardBench{folder: folder, span: span, say: say, clk: clock.System(), random: rand.New(rand.NewPCG(1, 1)), stamp: 1}
}

// session is a node with a board, on a store that was opened for it.
type session struct {
	node   *node.Node
	boards store.Boards
	svc    *board.Service
	close  func(ctx context.Context) error
}

// run measures each size in turn.
func (b *boardBench) run(ctx context.Context, sizes []int) (r benchResult, err error) {
	r.engine = "memory"
	if b.folder == "" {
		b.memory = memstore.New(nil)
	} else {
		if b.plain, err = openPlain(ctx, filepath.Join(b.folder, plainFile)); err != nil {
			return r, &exitError{exitUnserved, err}
		}
		defer func() { err = errors.Join(err, b.plain.close()) }()
		if r.engine, err = b.plain.engine(ctx); err != nil {
			return r, err
		}
	}
	for _, n := range sizes {
		c, err := b.curve(ctx, n)
		if err != nil {
			return r, fmt.Errorf("bench of %d entries: %w", n, err)
		}
		r.curves = append(r.curves, c)
	}
	r.submits, r.cachedTop, err = b.inMemory(ctx)
	return r, err
}

// open opens the store as one process of a fleet.
func (b *boardBench) open(ctx context.Context) (*session, error) {
	s := &session{close: func(context.Context) error { return nil }}
	var st *store.Store
	var err error
	if b.folder == "" {
		st, err = b.memory.Store()
	} else {
		var e *sqlitestore.Engine
		if e, err = sqlitestore.Open(ctx, filepath.Join(b.folder, "store"), nil); err != nil {
			return nil, &exitError{exitUnserved, err}
		}
		s.close = e.Close
		st, err = e.Store()
	}
	if err == nil {
		s.boards = st.Boards()
		s.node, err = node.Start(ctx, st, &node.Options{Name: "bench", Logger: slog.New(slog.DiscardHandler)})
	}
	if err == nil {
		s.svc, err = benchService(s.node) //nolint:contextcheck // the service lives until its node is closed
	}
	if err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// benchService keeps the boards of a node; their windows are asked for.
func benchService(n *node.Node) (*board.Service, error) {
	return board.New(n, &board.Options{
		FlushEvery: time.Hour,
		Boards:     map[string]board.Config{benchBoard: {Rule: store.Last}, queueBoard: {}},
	})
}

func (s *session) end(ctx context.Context) error {
	_, err := s.node.Close(context.WithoutCancel(ctx))
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

// curve measures one size.
func (b *boardBench) curve(ctx context.Context, n int) (c curve, err error) {
	s, err := b.open(ctx)
	if err != nil {
		return c, err
	}
	c.entries = n
	b.say("%s entries: filling", count(n))
	if c.fill, err = b.fill(ctx, s, n); err == nil {
		b.say("%s entries: writing windows", count(n))
		c.flush, err = b.flushes(ctx, s, n)
	}
	if err = errors.Join(err, s.end(ctx)); err != nil {
		return c, err
	}
	if b.plain != nil {
		b.say("%s entries: the plain table", count(n))
		if c.raw, err = b.plainFlushes(ctx, n); err != nil {
			return c, err
		}
		if c.bytesAnEntry, err = b.bytes(n); err != nil {
			return c, err
		}
	}
	b.say("%s entries: ranks, pages and walks", count(n))
	return c, b.reads(ctx, n, &c)
}

// bytes is what an entry takes on disk.
func (b *boardBench) bytes(n int) (float64, error) {
	info, err := os.Stat(filepath.Join(b.folder, "store", "boards.db"))
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / float64(n), nil
}

func benchKey(i int) string { return fmt.Sprintf("player_%08d", i) }

// scoreOf is the first score of the i-th entry.
func (b *boardBench) scoreOf(i int) int64 {
	if i < randomUpTo {
		return b.random.Int64N(1 << 40)
	}
	return int64(-i)
}

// fill brings the board, and the plain table, to n entries, and answers the board's rate.
func (b *boardBench) fill(ctx context.Context, s *session, n int) (float64, error) {
	if _, err := s.boards.Create(ctx, benchBoard, store.BoardSpec{Order: store.Descending, Generation: "bench"}); err != nil {
		return 0, err
	}
	took, began := time.Duration(0), b.filled
	for b.filled < n {
		entries := make([]store.Submission, min(store.MaxMerge, n-b.filled))
		for i := range entries {
			entries[i] = store.Submission{Key: benchKey(b.filled + i), Score: b.scoreOf(b.filled + i), Stamp: store.Stamp{Epoch: 1}}
		}
		start := b.clk.Now()
		if _, err := s.boards.Merge(ctx, benchBoard, store.Batch{Rule: store.Last, Entries: entries}); err != nil {
			return 0, err
		}
		took += b.clk.Now().Sub(start)
		if b.plain != nil {
			if err := b.plain.upsert(ctx, entries); err != nil {
				return 0, err
			}
		}
		if b.filled += len(entries); b.filled%1_000_000 == 0 {
			b.say("%s entries: %s are there", count(n), count(b.filled))
		}
	}
	return perSecond(n-began, took), nil
}

func perSecond(n int, took time.Duration) float64 {
	return float64(n) / max(took.Seconds(), 1e-9)
}

// window is up to store.MaxMerge scores of random keys, each newer than what is stored.
func (b *boardBench) window(n int) []store.Submission {
	b.stamp++
	const step = 7919 // prime: no key comes twice
	first, size := b.random.IntN(n), min(n, store.MaxMerge)
	if n%step == 0 {
		n-- // the last one is left out
	}
	entries := make([]store.Submission, min(size, n))
	for i := range entries {
		entries[i] = store.Submission{Key: benchKey((first + i*step) % n), Score: b.random.Int64N(1 << 40), Stamp: store.Stamp{Epoch: b.stamp}}
	}
	return entries
}

// repeat calls do until the span is over, at least once.
func (b *boardBench) repeat(ctx context.Context, do func() error) error {
	for end := b.clk.Now().Add(b.span); ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := do(); err != nil || !b.clk.Now().Before(end) {
			return err
		}
	}
}

// flushes writes windows through the queue, and answers the rate of the writing.
func (b *boardBench) flushes(ctx context.Context, s *session, n int) (float64, error) {
	took, written := time.Duration(0), 0
	err := b.repeat(ctx, func() error {
		entries := b.window(n)
		for _, e := range entries {
			if err := s.svc.SubmitLast(benchBoard, e.Key, e.Score, e.Stamp); err != nil {
				return err
			}
		}
		start := b.clk.Now()
		err := s.svc.FlushNow(ctx)
		took, written = took+b.clk.Now().Sub(start), written+len(entries)
		return err
	})
	return perSecond(written, took), err
}

// plainFlushes is the same into the plain table.
func (b *boardBench) plainFlushes(ctx context.Context, n int) (float64, error) {
	took, written := time.Duration(0), 0
	err := b.repeat(ctx, func() error {
		entries := b.window(n)
		start := b.clk.Now()
		err := b.plain.upsert(ctx, entries)
		took, written = took+b.clk.Now().Sub(start), written+len(entries)
		return err
	})
	return perSecond(written, took), err
}

// latencies measures calls for the span, at least one, at most many.
func (b *boardBench) latencies(ctx context.Context, call func() error) (spread, error) {
	const many = 20_000
	var all []time.Duration
	enough := errors.New("bench: enough")
	err := b.repeat(ctx, func() error {
		start := b.clk.Now()
		err := call()
		if all = append(all, b.clk.Now().Sub(start)); err == nil && len(all) == many {
			return enough
		}
		return err
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return spreadOf(all), err
}

// writer writes 2,000 scores a second in windows of a tenth of a second, until it is stopped,
// at least one window, and answers what came of it.
func (b *boardBench) writer(ctx context.Context, s *session, n int) (stop func() (perSecond float64, err error)) {
	const every, each = 100 * time.Millisecond, 200
	pauses, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var failure error
	written, began := 0, b.clk.Now()
	random, stamp := rand.New(rand.NewPCG(2, 2)), b.stamp
	wg.Go(func() {
		for failure == nil && (written == 0 || pauses.Err() == nil) {
			stamp++
			for range each {
				failure = errors.Join(failure, s.svc.SubmitLast(benchBoard, benchKey(random.IntN(n)), random.Int64N(1<<40), store.Stamp{Epoch: stamp}))
			}
			failure = errors.Join(failure, s.svc.FlushNow(ctx))
			written += each
			next := began.Add(time.Duration(stamp-b.stamp) * every)
			_ = clock.Sleep(pauses, b.clk, next.Sub(b.clk.Now())) // the loop looks at its end
		}
	})
	return func() (float64, error) {
		cancel()
		wg.Wait()
		took := b.clk.Now().Sub(began)
		b.stamp = stamp
		return perSecond(written, took), failure
	}
}
