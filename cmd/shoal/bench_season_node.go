package main

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// seasonBench measures seasons on one store.
type seasonBench struct {
	folder                    string // of SQLite; "" for memory
	players, entries, readers int
	span                      time.Duration
	ahead                     time.Duration // how long before a boundary the players begin to change
	say                       func(format string, args ...any)
	clk                       clock.Clock
	memory                    *memstore.Engine
}

// benchSet is the set of profiles that plays.
const benchSet = "players"

// engine is the name of the engine of the store.
func (b *seasonBench) engine(ctx context.Context) (name string, err error) {
	if b.folder == "" {
		return "memory", nil
	}
	plain, err := openPlain(ctx, filepath.Join(b.folder, plainFile))
	if err != nil {
		return "", &exitError{exitUnserved, err}
	}
	name, err = plain.engine(ctx)
	return name, errors.Join(err, plain.close())
}

// seat is a node with a season on the store, and what its calls of the store were.
type seat struct {
	*shoal.Node

	store *store.Store
	calls *callLog
	close func(ctx context.Context) error
}

// sit starts a node whose calls of the store are logged. The name parts the seasons.
func (b *seasonBench) sit(ctx context.Context, name string, rules season.Config) (s *seat, err error) {
	s = &seat{calls: &callLog{clk: b.clk}, close: func(context.Context) error { return nil }}
	if b.folder == "" {
		s.store, err = b.memory.Store()
	} else {
		var e *sqlitestore.Engine
		if e, err = sqlitestore.Open(ctx, filepath.Join(b.folder, "store"), nil); err != nil {
			return nil, &exitError{exitUnserved, err}
		}
		s.close = e.Close
		s.store, err = e.Store()
	}
	if err == nil {
		logged := s.store.Through(
			func(r store.Records) store.Records { return loggedRecords{r, s.calls} },
			func(bs store.Boards) store.Boards { return loggedBoards{bs, s.calls} },
		)
		s.Node, err = shoal.Start(ctx, logged, &shoal.Options{
			Node:    node.Options{Name: "bench", Logger: slog.New(slog.DiscardHandler), DeadAfter: time.Minute, Random: unjittered()},
			Sets:    map[string]*profile.Options{benchSet: {Template: doc.Must(map[string]any{"coins": 0, "note": strings.Repeat("x", 2000)})}},
			Seasons: map[string]shoal.Season{name: {Set: benchSet, Rules: rules}},
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// unjittered is chance with which a node writes at the very boundary of a season.
func unjittered() func(purpose, key string) uint64 {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // it never fails
	source := rand.NewChaCha8(seed)
	return func(purpose, _ string) uint64 {
		if purpose == "flush" {
			return 0
		}
		return source.Uint64()
	}
}

func (s *seat) leave(ctx context.Context) error {
	_, err := s.Close(context.WithoutCancel(ctx))
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

// load opens so many sessions, many at a time.
func (s *seat) load(ctx context.Context, n int) ([]*profile.Session, error) {
	const width = 64
	out := make([]*profile.Session, n)
	errs := make([]error, width)
	var wg sync.WaitGroup
	for w := range width {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += width {
				out[i], errs[w] = s.Set(benchSet).Load(ctx, benchKey(i), nil)
			}
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// call is one call of the store.
type call struct {
	op, key    string
	begun, end time.Time
	entries    int
	err        error
}

// callLog is what a node has asked the store for, about seasons and boards.
type callLog struct {
	clk clock.Clock
	mu  struct {
		sync.Mutex
		calls []call
	}
}

// log notes a call that has just ended.
func (l *callLog) log(op, key string, begun time.Time, entries int, err error) {
	if !strings.HasPrefix(key, "season/") {
		return
	}
	c := call{op, key, begun, l.clk.Now(), entries, err}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.calls = append(l.mu.calls, c)
}

// of are the calls about one season.
func (l *callLog) of(id string) (out []call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.mu.calls {
		if strings.HasSuffix(c.key, "/"+id) || strings.Contains(c.key, "/"+id+"/") {
			out = append(out, c)
		}
	}
	return out
}

// done are the calls of one kind about a season that were done.
func (l *callLog) done(op, id string) (out []call) {
	for _, c := range l.of(id) {
		if c.op == op && c.err == nil {
			out = append(out, c)
		}
	}
	return out
}

// loggedRecords log what is asked for.
type loggedRecords struct {
	store.Records
	log *callLog
}

func (r loggedRecords) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	begun := r.log.clk.Now()
	recs, err := r.Records.Get(ctx, keys...)
	r.log.log("get", keys[0], begun, 0, err)
	return recs, err
}

func (r loggedRecords) Commit(ctx context.Context, txs ...store.Tx) []error {
	begun := r.log.clk.Now()
	errs := r.Records.Commit(ctx, txs...)
	r.log.log("commit", txs[0][0].Key, begun, 0, errs[0])
	return errs
}

// loggedBoards log what is asked for.
type loggedBoards struct {
	store.Boards
	log *callLog
}

func (b loggedBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	begun := b.log.clk.Now()
	changes, err := b.Boards.Merge(ctx, board, batch)
	b.log.log("merge", board, begun, len(batch.Entries), err)
	return changes, err
}

func (b loggedBoards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	begun := b.log.clk.Now()
	page, err := b.Boards.Page(ctx, board, offset, limit, mode)
	b.log.log("page", board, begun, 0, err)
	return page, err
}

func (b loggedBoards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	begun := b.log.clk.Now()
	info, err := b.Boards.Seal(ctx, board)
	b.log.log("seal", board, begun, 0, err)
	return info, err
}

func (b loggedBoards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	begun := b.log.clk.Now()
	info, err := b.Boards.Info(ctx, board)
	b.log.log("info", board, begun, 0, err)
	return info, err
}

// next is the id of the season that ends next, and the moment of that.
func (s *seat) next(name string) (id string, end time.Time) {
	info := s.Season(name).Current()
	return info.ID, info.End
}

// until waits for a moment of the store's clock.
func (b *seasonBench) until(ctx context.Context, s *seat, at time.Time) error {
	if err := clock.Sleep(ctx, b.clk, at.Sub(s.Now())); err != nil {
		return fmt.Errorf("wait for %v: %w", at, err)
	}
	return nil
}
