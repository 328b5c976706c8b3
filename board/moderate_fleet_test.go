package board_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// fleet is services on one store, each behind faults of its own.
type fleet struct {
	t      *testing.T
	engine *memstore.Engine
	plain  store.Parts // without faults
	n      uint64
}

// seat is a service of a fleet.
type seat struct {
	*board.Service
	t      *testing.T
	faults *faultstore.Faults
	log    *logLines
	mu     struct {
		sync.Mutex
		refused []board.Refusal
	}
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	e := memstore.New(nil)
	return &fleet{t: t, engine: e, plain: store.Parts{Durable: e.Records(), Boards: e.Boards(), Bus: e.Bus()}}
}

var mod = board.Moderator{Actor: "mod", Reason: "cheats"}

// join starts a service, which the test closes.
func (f *fleet) join(o *board.Options) *seat { return f.joinOn(f.engine.Records(), o) }

func (f *fleet) joinOn(records store.Records, o *board.Options) *seat {
	f.t.Helper()
	f.n++
	m := &seat{t: f.t, faults: faultstore.New(nil), log: &logLines{}}
	st, err := store.New(m.faults.Wrap(store.Parts{Durable: records, Boards: f.engine.Boards(), Bus: f.engine.Bus()}))
	if err != nil {
		f.t.Fatal(err)
	}
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(f.n, 7))
	m.Service, err = board.NewOn(board.Host{
		ID: fmt.Sprint("n-", f.n), Boards: st.Boards(), Records: st.Durable(), Bus: st.Bus(), Now: time.Now, Logger: discard(),
		Random: func(string, string) uint64 {
			mu.Lock()
			defer mu.Unlock()
			return rng.Uint64()
		},
	}, o)
	if err != nil {
		f.t.Fatal(err)
	}
	m.OnRefused(func(r board.Refusal) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.mu.refused = append(m.mu.refused, r)
	})
	f.t.Cleanup(func() {
		m.faults.SetRule(nil)
		_, _ = m.Close(context.WithoutCancel(f.t.Context()))
		_ = st.Close(context.WithoutCancel(f.t.Context()))
	})
	return m
}

// submit submits and writes one score.
func (m *seat) submit(name, key string, score int64) {
	m.t.Helper()
	if err := m.Submit(name, key, score); err != nil {
		m.t.Fatalf("Submit(%s, %s): %v", name, key, err)
	}
}

func (m *seat) flush() {
	m.t.Helper()
	if err := m.FlushNow(m.t.Context()); err != nil {
		m.t.Fatalf("FlushNow: %v", err)
	}
}

// refusals are the values that were reported, "board/key: reason".
func (m *seat) refusals() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []string{}
	for _, r := range m.mu.refused {
		for _, v := range r.Values {
			out = append(out, fmt.Sprintf("%s/%s: %v", r.Board, v.Key, r.Err))
		}
	}
	return out
}

// shown are the keys on a board as it is stored.
func (f *fleet) shown(name string) []string {
	f.t.Helper()
	p, err := f.plain.Boards.Page(context.WithoutCancel(f.t.Context()), name, 0, store.MaxPage, store.Ordinal)
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		f.t.Fatal(err)
	}
	out := []string{}
	for _, e := range p.Entries {
		out = append(out, e.Key)
	}
	return out
}

// stored are the durable records whose keys begin so, without what begins with it.
func (f *fleet) stored(prefix string) []string {
	f.t.Helper()
	out := []string{}
	for rec, err := range f.plain.Durable.Scan(context.WithoutCancel(f.t.Context()), store.Prefix(prefix)) {
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, strings.TrimPrefix(rec.Key, prefix))
	}
	return out
}

// isBanned tells what the record of a key says.
func (f *fleet) isBanned(by *seat, key string) bool {
	f.t.Helper()
	list, err := by.Bans(context.WithoutCancel(f.t.Context()), "", store.MaxPage)
	if err != nil {
		f.t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(r board.BanRecord) bool { return r.Key == key })
}

// agree expects each board to hide the key if, and only if, it is banned, or was hidden there
// by hand.
func (f *fleet) agree(by *seat, key string, byHand ...string) {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	banned := f.isBanned(by, key)
	names, err := f.plain.Boards.List(ctx, "", "", store.MaxPage)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, name := range names {
		list, err := f.plain.Boards.Hidden(ctx, name, "", store.MaxPage)
		if err != nil {
			f.t.Fatal(err)
		}
		hidden := slices.ContainsFunc(list, func(e store.HiddenEntry) bool { return e.Key == key })
		if expected := banned || slices.Contains(byHand, name); hidden != expected {
			f.t.Errorf("%s on %s: banned is %v, hidden by hand is %v, hidden is %v", key, name, banned, slices.Contains(byHand, name), hidden)
		}
	}
}

// rest lets time pass until nothing of moderation is left to be done.
func (f *fleet) rest() {
	f.t.Helper()
	time.Sleep(3 * board.MarkedFor)
	synctest.Wait()
	for _, folder := range []string{"boardmark/"} {
		if left := f.stored(folder); len(left) > 0 {
			f.t.Errorf("left in %s: %v", folder, left)
		}
	}
}

// three are boards for tests of bans.
func three() *board.Options {
	return &board.Options{
		FlushEvery: -1, CallTimeout: 2 * time.Second, CloseTimeout: time.Second,
		Boards: boards{"Kills": {}, "Coins": {Rule: store.Sum}, "season/reef/Fish/1": {Rule: store.Last}},
	}
}

// fill writes an entry of ann and bob on each board.
func (m *seat) fill() {
	m.t.Helper()
	for _, name := range m.Boards() {
		m.submit(name, "ann", 10)
		m.submit(name, "bob", 5)
	}
	m.flush()
}
