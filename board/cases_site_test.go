package board_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// site is a store that several nodes share, each with a handle of its own.
type site struct {
	open func(t *testing.T) store.Parts
}

// onEachStore runs a case on memory and on an SQLite folder.
func onEachStore(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		e := memstore.New(nil)
		test(t, site{func(*testing.T) store.Parts { return e.Parts() }})
	})
	t.Run("sqlite", func(t *testing.T) {
		folder := t.TempDir()
		test(t, site{func(t *testing.T) store.Parts {
			t.Helper()
			e, err := sqlitestore.Open(t.Context(), folder, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			return store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus()}
		}})
	})
}

// place is a node of a site: a service on a handle of its own, with a clock that the test
// moves. Its windows run when the test asks for them.
type place struct {
	*board.Service
	t     *testing.T
	clock *handClock
	parts store.Parts
}

var places atomic.Int64 // that were made, for their names

func (s site) node(t *testing.T, o board.Options) *place {
	t.Helper()
	p := &place{t: t, clock: newHandClock(), parts: s.open(t)}
	st, err := store.New(p.parts)
	if err != nil {
		t.Fatal(err)
	}
	o.FlushEvery, o.CallTimeout = -1, -1
	p.Service, err = board.NewOn(board.Host{
		ID: fmt.Sprintf("n-%d", places.Add(1)), Boards: st.Boards(), Clock: p.clock, Now: time.Now, Logger: discard(),
	}, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t) })
	return p
}

func (p *place) stop(t *testing.T) {
	t.Helper()
	if r, err := p.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("Close: %+v, %v", r, err)
	}
}

// put submits scores and writes them.
func (p *place) put(t *testing.T, name string, scores ...entryOf) {
	t.Helper()
	for _, e := range scores {
		if err := p.Submit(name, e.key, e.score); err != nil {
			t.Fatalf("Submit(%s, %+v): %v", name, e, err)
		}
	}
	if err := p.FlushNow(t.Context()); err != nil {
		t.Fatalf("FlushNow: %v", err)
	}
}

type entryOf struct {
	key   string
	score int64
}

func (p *place) page(t *testing.T, name string, offset int64, limit int, mode store.RankMode) store.Page {
	t.Helper()
	page, err := p.By(mode).Page(t.Context(), name, offset, limit)
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		t.Fatalf("Page: %v", err)
	}
	return page
}

func (p *place) shown(t *testing.T, name string) []string {
	t.Helper()
	page, err := p.Top(t.Context(), name, 0)
	if err != nil {
		t.Fatalf("Top: %v", err)
	}
	return rows(page)
}

// fullSort is the board sorted here, out of its entries: score, then sequence, then key.
func (p *place) fullSort(t *testing.T, name string, order store.Order, keys []string) []store.Entry {
	t.Helper()
	got, err := p.Scores(t.Context(), name, keys...)
	if err != nil {
		t.Fatalf("Scores: %v", err)
	}
	all := []store.Entry{}
	for _, e := range got {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b store.Entry) int {
		score := cmp.Compare(b.Score, a.Score)
		if order == store.Ascending {
			score = -score
		}
		return cmp.Or(score, cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// wantEveryRank compares the rank of every key, by every read and in every mode, with a full
// sort. Nobody may write meanwhile.
func (p *place) wantEveryRank(t *testing.T, name string, order store.Order, keys []string) {
	t.Helper()
	sorted := p.fullSort(t, name, order, keys)
	scores := []int64{}
	for _, e := range sorted {
		scores = append(scores, e.Score)
	}
	for _, mode := range rankModes() {
		ranks := ranksOf(scores, mode)
		var paged []store.Standing
		for int64(len(paged)) < int64(len(sorted)) {
			page := p.page(t, name, int64(len(paged)), 97, mode)
			if len(page.Entries) == 0 || page.Total != int64(len(sorted)) {
				t.Fatalf("page from %d of %d: %d entries of %d", len(paged), len(sorted), len(page.Entries), page.Total)
			}
			paged = append(paged, page.Entries...)
		}
		for i, e := range sorted {
			if got := paged[i]; got.Key != e.Key || got.Rank != ranks[i] {
				t.Fatalf("by %v, place %d has %+v, want %+v with rank %d", mode, i, got, e, ranks[i])
			}
			if i%7 > 0 && len(sorted) > 300 {
				continue
			}
			st, ok, err := p.By(mode).Standing(t.Context(), name, e.Key)
			if err != nil || !ok || st.Rank != ranks[i] || st.Score != e.Score {
				t.Fatalf("Standing of %+v by %v: %+v, %v, %v; want rank %d", e, mode, st, ok, err, ranks[i])
			}
		}
	}
}

// load has the node submit and write random scores of the keys until stop is closed, at
// least a few windows of them.
func (p *place) load(seed uint64, name string, keys []string, stop <-chan struct{}) *sync.WaitGroup {
	t := p.t
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 7))
		for n := 0; ; n++ {
			select {
			case <-stop:
				if n > 5 {
					return
				}
			default:
			}
			for range 50 {
				if err := p.Submit(name, keys[rng.IntN(len(keys))], rng.Int64N(200)); err != nil {
					t.Errorf("Submit under load: %v", err)
					return
				}
			}
			err := p.FlushNow(t.Context())
			for try := 0; try < 5 && errors.Is(err, store.ErrUnavailable); try++ { // others write
				err = p.FlushNow(t.Context())
			}
			if err != nil {
				t.Errorf("FlushNow under load: %v", err)
				return
			}
		}
	})
	return &wg
}

// wantSortedPage expects a page of one state: in order, with ranks in a row.
func wantSortedPage(t *testing.T, p store.Page) {
	t.Helper()
	for i, e := range p.Entries {
		if e.Rank != p.Offset+int64(i)+1 {
			t.Fatalf("rank %d at place %d", e.Rank, p.Offset+int64(i))
		}
		if i > 0 && (p.Entries[i-1].Score < e.Score || p.Entries[i-1].Score == e.Score && p.Entries[i-1].Sequence >= e.Sequence) {
			t.Fatalf("%+v is shown above %+v", p.Entries[i-1], e)
		}
	}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// handClock is a clock that stands still until it is moved.
type handClock struct {
	mu struct {
		sync.Mutex
		now    time.Time
		timers map[*handTimer]struct{}
	}
}

// handTimer is an armed timer of AfterFunc.
type handTimer struct {
	clock *handClock
	at    time.Time
	fn    func()
}

func newHandClock() *handClock {
	c := &handClock{}
	c.mu.now = time.Unix(1_000_000, 0)
	c.mu.timers = make(map[*handTimer]struct{})
	return c
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.now
}

// NewTimer is the system's: only pauses of a drain come here.
func (c *handClock) NewTimer(d time.Duration) clock.Timer { return clock.System().NewTimer(d) }

func (c *handClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{c, c.mu.now.Add(d), f}
	c.mu.timers[t] = struct{}{}
	return t
}

// pass moves the clock, and calls what is due.
func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	c.mu.now = c.mu.now.Add(d)
	var due []func()
	for t := range c.mu.timers {
		if !t.at.After(c.mu.now) {
			due = append(due, t.fn)
			delete(c.mu.timers, t)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

func (t *handTimer) C() <-chan time.Time { return nil }

func (t *handTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, armed := t.clock.mu.timers[t]
	delete(t.clock.mu.timers, t)
	return armed
}

func (t *handTimer) Reset(d time.Duration) bool {
	armed := t.Stop()
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = t.clock.mu.now.Add(d)
	t.clock.mu.timers[t] = struct{}{}
	return armed
}
