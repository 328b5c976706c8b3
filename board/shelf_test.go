package board_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// shelf is a Backend in memory, whose calls a test may hold up or fail. By itself it can only
// be read.
type shelf struct {
	start  time.Time
	onPut  func(ctx context.Context, w put) error // nil: done
	onRead func(ctx context.Context, count int) error
	mu     struct {
		sync.Mutex
		boards map[string]map[string]int64
		puts   []put
		reads  []int      // counts asked for
		lookup [][]string // keys asked for
	}
}

// put is one write that was tried.
type put struct {
	Board, Key          string
	Score               int64
	KeepBest, Ascending bool
	At                  float64 // seconds
}

func (w put) String() string { return fmt.Sprintf("%s/%s=%d", w.Board, w.Key, w.Score) }

func newShelf() *shelf {
	s := &shelf{start: time.Now()}
	s.mu.boards = make(map[string]map[string]int64)
	return s
}

func (s *shelf) meet(ctx context.Context, w put) error {
	w.At = time.Since(s.start).Seconds()
	s.mu.Lock()
	s.mu.puts = append(s.mu.puts, w)
	s.mu.Unlock()
	if s.onPut == nil {
		return nil
	}
	return s.onPut(ctx, w)
}

// store puts a score by the rule.
func (s *shelf) store(w put) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.boards[w.Board] == nil {
		s.mu.boards[w.Board] = make(map[string]int64)
	}
	old, ok := s.mu.boards[w.Board][w.Key]
	better := !ok || !w.KeepBest || w.Ascending && w.Score < old || !w.Ascending && w.Score > old
	if better {
		s.mu.boards[w.Board][w.Key] = w.Score
	}
}

func (s *shelf) Sorted(ctx context.Context, name string, ascending bool, count int) ([]board.BackendRow, error) {
	s.mu.Lock()
	s.mu.reads = append(s.mu.reads, count)
	scores := maps.Clone(s.mu.boards[name])
	s.mu.Unlock()
	if s.onRead != nil {
		if err := s.onRead(ctx, count); err != nil {
			return nil, err
		}
	}
	rows := make([]board.BackendRow, 0, len(scores))
	for key, score := range scores {
		rows = append(rows, board.BackendRow{Key: key, Score: score})
	}
	slices.SortFunc(rows, func(a, b board.BackendRow) int {
		if !ascending {
			a.Score, b.Score = b.Score, a.Score
		}
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Key, b.Key))
	})
	return rows[:min(count, len(rows))], nil
}

// puts are the writes that were tried since the last call.
func (s *shelf) puts() []put {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.mu.puts
	s.mu.puts = nil
	return out
}

// tried are the writes that were tried since the last call, as text.
func (s *shelf) tried() []string {
	out := []string{}
	for _, w := range s.puts() {
		out = append(out, w.String())
	}
	return out
}

func (s *shelf) get(name, key string) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.mu.boards[name][key]
	return v, ok
}

func (s *shelf) asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.reads)
}

// submitShelf applies the rule itself.
type submitShelf struct{ *shelf }

func (s submitShelf) Submit(ctx context.Context, name string, e board.BackendWrite) error {
	w := put{Board: name, Key: e.Key, Score: e.Score, KeepBest: e.KeepBest, Ascending: e.Ascending}
	if err := s.meet(ctx, w); err != nil {
		return err
	}
	s.store(w)
	return nil
}

// setShelf takes an update.
type setShelf struct{ *shelf }

func (s setShelf) Set(ctx context.Context, name, key string, update func(*int64) *int64) error {
	var old *int64
	if v, ok := s.get(name, key); ok {
		old = &v
	}
	update(nil) // a store may ask as often as it likes
	next := update(old)
	w := put{Board: name, Key: key}
	if next != nil {
		w.Score = *next
	}
	if err := s.meet(ctx, w); err != nil || next == nil {
		return err
	}
	s.store(w)
	return nil
}

// bothShelf has both ways to write.
type bothShelf struct {
	submitShelf
	setShelf
	*shelf
}

// richShelf has all that a Backend may have.
type richShelf struct {
	submitShelf
	budget func() int
}

func (s richShelf) Budget() int { return s.budget() }

func (s richShelf) Scores(_ context.Context, name string, keys []string) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.lookup = append(s.mu.lookup, keys)
	out := make(map[string]int64)
	for _, key := range keys {
		if v, ok := s.mu.boards[name][key]; ok {
			out[key] = v
		}
	}
	return out, nil
}

// shelved makes a service on a Backend. Its tests close it.
func shelved(t *testing.T, b board.Backend, o board.Options) *rig {
	t.Helper()
	o.Backend = b
	r := &rig{t: t, closing: make(chan struct{}), log: &logLines{}}
	var err error
	r.Service, err = board.NewOn(board.Host{
		ID: "n-1", Now: time.Now, Closing: r.closing, Logger: slog.New(slog.NewTextHandler(io.Writer(r.log), nil)),
	}, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		_, _ = r.Close(ctx)
	})
	return r
}

var (
	errBackend = fmt.Errorf("shelf: broken")
	errShut    = fmt.Errorf("shelf: %w", store.ErrUnavailable)
)
