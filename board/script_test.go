package board_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// script is memstore with faults that a test decides call by call.
type script struct {
	store.Boards
	engine *memstore.Engine
	start  time.Time
	mu     struct {
		sync.Mutex
		calls []call
		late  []func()
		rule  func(call) fault
	}
}

// call is one call of the store.
type call struct {
	Op, Board string
	Batch     store.Batch
	Keys      []string
	Limit     int
	At        time.Duration
}

// fault is what happens to a call; the zero value is nothing.
type fault struct {
	err      error         // answered
	applied  bool          // although err is answered
	late     bool          // applied when land is called
	delay    time.Duration // the call takes so long
	block    chan struct{} // the call waits for it, or for its context
	after    bool          // the call waits after its effect, not before
	stubborn bool          // the call does not look at its context while it waits
	inside   func(ctx context.Context)
}

var (
	notDone = fault{err: fmt.Errorf("script: %w", store.ErrUnavailable)}
	lost    = fault{err: fmt.Errorf("script: %w", store.ErrUnknown), applied: true}
	vanish  = fault{err: fmt.Errorf("script: %w", store.ErrUnknown)}
	late    = fault{err: fmt.Errorf("script: %w", store.ErrUnknown), late: true}
)

func newScript() *script {
	e := memstore.New(nil)
	return &script{Boards: e.Boards(), engine: e, start: time.Now()}
}

// setRule decides the fate of the calls from now on; nil lets them pass.
func (s *script) setRule(rule func(call) fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.rule = rule
}

// failNext has the next calls of an operation meet the faults, in turn.
func (s *script) failNext(op string, faults ...fault) {
	s.setRule(func(c call) fault {
		if c.Op != op || len(faults) == 0 {
			return fault{}
		}
		f := faults[0]
		faults = faults[1:]
		return f
	})
}

// failAll has all calls of an operation meet the fault.
func (s *script) failAll(op string, f fault) {
	s.setRule(func(c call) fault {
		if c.Op == op {
			return f
		}
		return fault{}
	})
}

// land applies what is late.
func (s *script) land() {
	s.mu.Lock()
	landing := s.mu.late
	s.mu.late = nil
	s.mu.Unlock()
	for _, apply := range landing {
		apply()
	}
}

// did are the calls of an operation so far.
func (s *script) did(op string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.mu.calls), func(c call) bool { return c.Op != op })
}

// at are the times of the calls of an operation so far, in units of a second.
func (s *script) at(op string) []float64 {
	out := []float64{}
	for _, c := range s.did(op) {
		out = append(out, math.Round(c.At.Seconds()*1000)/1000)
	}
	return out
}

// meet runs a call under its fault.
func (s *script) meet(ctx context.Context, c call, apply func(ctx context.Context) error) error {
	c.At = time.Since(s.start)
	s.mu.Lock()
	s.mu.calls = append(s.mu.calls, c)
	var f fault
	if s.mu.rule != nil {
		f = s.mu.rule(c)
	}
	s.mu.Unlock()
	if f.inside != nil {
		f.inside(ctx)
	}
	if !f.after {
		if err := f.wait(ctx); err != nil {
			return err
		}
	}
	switch {
	case f.err == nil && f.after:
		if err := apply(ctx); err != nil {
			return err
		}
		return f.wait(ctx)
	case f.err == nil:
		return apply(ctx)
	case f.applied:
		if err := apply(ctx); err != nil {
			return err
		}
	case f.late:
		s.mu.Lock()
		s.mu.late = append(s.mu.late, func() { _ = apply(context.WithoutCancel(ctx)) })
		s.mu.Unlock()
	}
	return f.err
}

func (f fault) wait(ctx context.Context) error {
	done := ctx.Done()
	if f.stubborn {
		done = nil
	}
	if f.delay > 0 {
		t := time.NewTimer(f.delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-done:
			return fmt.Errorf("script: %w: %w", store.ErrUnknown, context.Cause(ctx))
		}
	}
	if f.block != nil {
		select {
		case <-f.block:
		case <-done:
			return fmt.Errorf("script: %w: %w", store.ErrUnknown, context.Cause(ctx))
		}
	}
	return nil
}

func (s *script) Create(ctx context.Context, name string, spec store.BoardSpec) (info store.BoardInfo, err error) {
	err = s.meet(ctx, call{Op: "create", Board: name}, func(ctx context.Context) (e error) {
		info, e = s.Boards.Create(ctx, name, spec)
		return e
	})
	return info, err
}

func (s *script) Merge(ctx context.Context, name string, batch store.Batch) (changes []store.Change, err error) {
	err = s.meet(ctx, call{Op: "merge", Board: name, Batch: batch}, func(ctx context.Context) (e error) {
		changes, e = s.Boards.Merge(ctx, name, batch)
		return e
	})
	return changes, err
}

func (s *script) Page(ctx context.Context, name string, offset int64, limit int, mode store.RankMode) (p store.Page, err error) {
	err = s.meet(ctx, call{Op: "page", Board: name, Limit: limit}, func(ctx context.Context) (e error) {
		p, e = s.Boards.Page(ctx, name, offset, limit, mode)
		return e
	})
	return p, err
}

func (s *script) Standing(ctx context.Context, name, key string, mode store.RankMode) (st store.Standing, ok bool, err error) {
	err = s.meet(ctx, call{Op: "standing", Board: name, Keys: []string{key}}, func(ctx context.Context) (e error) {
		st, ok, e = s.Boards.Standing(ctx, name, key, mode)
		return e
	})
	return st, ok, err
}

func (s *script) Around(ctx context.Context, name, key string, n int, mode store.RankMode) (p store.Page, err error) {
	err = s.meet(ctx, call{Op: "around", Board: name, Keys: []string{key}, Limit: n}, func(ctx context.Context) (e error) {
		p, e = s.Boards.Around(ctx, name, key, n, mode)
		return e
	})
	return p, err
}

func (s *script) Scores(ctx context.Context, name string, keys ...string) (m map[string]store.Entry, err error) {
	err = s.meet(ctx, call{Op: "scores", Board: name, Keys: keys}, func(ctx context.Context) (e error) {
		m, e = s.Boards.Scores(ctx, name, keys...)
		return e
	})
	return m, err
}

func (s *script) Remove(ctx context.Context, name string, keys ...string) (n int, err error) {
	err = s.meet(ctx, call{Op: "remove", Board: name, Keys: keys}, func(ctx context.Context) (e error) {
		n, e = s.Boards.Remove(ctx, name, keys...)
		return e
	})
	return n, err
}

func (s *script) Drop(ctx context.Context, name string) error {
	return s.meet(ctx, call{Op: "drop", Board: name}, func(ctx context.Context) error { return s.Boards.Drop(ctx, name) })
}

func (s *script) Seal(ctx context.Context, name string) (info store.BoardInfo, err error) {
	err = s.meet(ctx, call{Op: "seal", Board: name}, func(ctx context.Context) (e error) {
		info, e = s.Boards.Seal(ctx, name)
		return e
	})
	return info, err
}

// rig is a service on a script.
type rig struct {
	*board.Service
	t       *testing.T
	store   *script
	closing chan struct{}
	log     *logLines
}

// boards is the map of a service's boards.
type boards = map[string]board.Config

// start makes a service, which the test closes.
func start(t *testing.T, o *board.Options) *rig {
	t.Helper()
	return startOn(t, newScript(), nil, o)
}

func startOn(t *testing.T, s *script, c clock.Clock, o *board.Options) *rig {
	t.Helper()
	st, err := store.New(store.Parts{Durable: s.engine.Records(), Boards: s, Bus: s.engine.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: s, closing: make(chan struct{}), log: &logLines{}}
	r.Service, err = board.NewOn(board.Host{
		ID: "n-1", Boards: st.Boards(), Clock: c, Now: time.Now, Closing: r.closing,
		Logger: slog.New(slog.NewTextHandler(r.log, nil)),
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.setRule(nil)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		_, _ = r.Close(ctx)
	})
	return r
}

func (r *rig) submit(name, key string, score int64) {
	r.t.Helper()
	if err := r.Submit(name, key, score); err != nil {
		r.t.Fatalf("Submit(%s, %s, %d): %v", name, key, score, err)
	}
}

func (r *rig) flush() {
	r.t.Helper()
	if err := r.FlushNow(r.t.Context()); err != nil {
		r.t.Fatalf("FlushNow: %v", err)
	}
}

// flushFails expects a window with a failure.
func (r *rig) flushFails() {
	r.t.Helper()
	if err := r.FlushNow(r.t.Context()); err == nil {
		r.t.Fatal("FlushNow succeeded, want a failure")
	}
}

// stored is what the store has, "key=score" in the order of the board.
func (r *rig) stored(name string) []string {
	r.t.Helper()
	p, err := r.store.Boards.Page(context.WithoutCancel(r.t.Context()), name, 0, store.MaxPage, store.Ordinal)
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		r.t.Fatal(err)
	}
	return rows(p)
}

func rows(p store.Page) []string {
	out := []string{}
	for _, e := range p.Entries {
		out = append(out, fmt.Sprintf("%s=%d", e.Key, e.Score))
	}
	return out
}

func (r *rig) top(name string, count int) []string {
	r.t.Helper()
	p, err := r.Top(r.t.Context(), name, count)
	if err != nil {
		r.t.Fatalf("Top: %v", err)
	}
	return rows(p)
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// wantRefused expects a refusal that names the field, for the reason.
func wantRefused(t *testing.T, err error, field string, reason error) {
	t.Helper()
	var bad *board.RefusedError
	if !errors.As(err, &bad) || bad.Field != field || !errors.Is(err, reason) {
		t.Fatalf("got %v, want a refusal of %q with %v", err, field, reason)
	}
}

// logLines are what was logged.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logLines) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func ptr(v int64) *int64 { return &v }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
