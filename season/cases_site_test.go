package season_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// fleet is nodes of the facade, with real profiles, on one store, in virtual time. Its rules
// are the seed's with seasons of ten minutes, two boards, and titles for three.
type fleet struct {
	t     *testing.T
	rules season.Config
	reap  time.Duration // profile.Options.ReapEvery
	parts store.Parts   // the store, past every fault
	open  func() store.Parts
}

// onEachStore runs a test on the memory and on SQLite.
func onEachStore(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { onMemory(t, test) })
	t.Run("sqlite", func(t *testing.T) { onSQLite(t, test) })
}

func onMemory(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(&memstore.Options{Apart: true})
		test(t, newFleet(t, func() store.Parts { return e.Parts() }))
	})
}

func onSQLite(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	folder := t.TempDir()
	// Where messages of processes are to be there is a file: a socket that waits for them would
	// keep virtual time from passing. Messages go through a memory.
	if err := os.WriteFile(filepath.Join(folder, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		messages := memstore.New(nil)
		var last *sqlitestore.Engine
		end := func() {
			if last == nil {
				return
			}
			if err := last.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("close the folder: %v", err)
			}
		}
		t.Cleanup(func() { end() })
		test(t, newFleet(t, func() store.Parts {
			end()
			e, err := sqlitestore.Open(t.Context(), folder, nil)
			if err != nil {
				t.Fatal(err)
			}
			last = e
			return store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: messages.Parts().Bus}
		}))
	})
}

func newFleet(t *testing.T, open func() store.Parts) *fleet {
	t.Helper()
	rules := season.Reef()
	rules.Epoch, rules.Length = time.Now(), 10*time.Minute
	rules.Boards = rules.Boards[:2]
	rules.Top, rules.Keep = 3, 5
	rules.Grace, rules.FlushEvery, rules.FirstClose = 40*time.Second, 10*time.Second, 5*time.Second
	return &fleet{t: t, rules: rules, parts: open(), open: open}
}

// reopen opens the store anew, as the first process after all others have ended.
func (f *fleet) reopen() { f.parts = f.open() }

// until sleeps until a time after the epoch.
func (f *fleet) until(d time.Duration) { time.Sleep(time.Until(f.rules.Epoch.Add(d))) }

// closable sleeps until season k has been closed by the loops, if anybody can.
func (f *fleet) closable(k int64) {
	time.Sleep(time.Until(f.rules.End(k).Add(f.rules.Grace + 15*time.Second)))
}

// record is a record of the durable store, past every fault; nil when it is missing.
func (f *fleet) record(key string) []byte {
	f.t.Helper()
	recs, err := f.parts.Durable.Get(context.Background(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return recs[0].Value
}

func (f *fleet) result(id string) []byte { return f.record("season/reef/" + id + "/result") }

// board is what a season's board holds, past every fault, as "key:score".
func (f *fleet) board(board, id string) []string {
	f.t.Helper()
	page, err := f.parts.Boards.Page(context.Background(), season.BoardKey("reef", board, id), 0, 100, store.Ordinal)
	if err != nil {
		f.t.Fatal(err)
	}
	out := []string{}
	for _, e := range page.Entries {
		out = append(out, fmt.Sprintf("%s:%d", e.Key, e.Score))
	}
	return out
}

// stored is a profile's data, past every fault.
func (f *fleet) stored(key string) doc.Value {
	f.t.Helper()
	var rec struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(f.record("profile/players/"+key), &rec); err != nil {
		f.t.Fatal(err)
	}
	v, err := doc.Parse(rec.Data, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

// want compares a season's stored result with what was played.
func (f *fleet) want(id, board string, want ...string) {
	f.t.Helper()
	data := f.result(id)
	if data == nil {
		f.t.Fatalf("%s has no result; at %v", id, time.Since(f.rules.Epoch))
	}
	r, err := season.DecodeResult(data)
	if err != nil {
		f.t.Fatal(err)
	}
	if got := standings(r, board); !slices.Equal(got, want) {
		f.t.Fatalf("%s of %s: %v, want %v", board, id, got, want)
	}
}

// server is a node of the fleet, and what its game heard.
type server struct {
	*shoal.Node
	f      *fleet
	faults *faultstore.Faults
	once   sync.Once
	mu     struct {
		sync.Mutex
		titles  []string // "<key> <title key>"
		refused []season.Refused
		closed  []season.Closed
	}
}

// start starts a node whose local clock is ahead by lead; the test's end closes it. Its game
// pays 100 coins for a title.
func (f *fleet) start(name string, lead time.Duration) *server {
	f.t.Helper()
	s := &server{f: f, faults: faultstore.New(nil)}
	st, err := store.New(s.faults.Wrap(f.parts))
	if err != nil {
		f.t.Fatal(err)
	}
	o := &shoal.Options{
		Node: node.Options{Name: name, Beat: 5 * time.Second, AskEvery: 5 * time.Second, Clock: skewed{clock.System(), lead}, Logger: slog.New(slog.DiscardHandler)},
		Sets: map[string]*profile.Options{"players": {Template: doc.Must(map[string]any{"coins": 0}), ReapEvery: f.reap}},
		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: f.rules, Deps: season.Deps{
			Reward: prize, OnTitle: s.heard, OnRefused: s.heardRefused, OnClosed: s.heardClosed,
		}}},
	}
	if s.Node, err = shoal.Start(f.t.Context(), st, o); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(s.stop)
	return s
}

// stop closes the node, once. A node that has crashed has nothing to say at its end.
func (s *server) stop() {
	s.once.Do(func() {
		if !s.faults.Crashed() {
			s.faults.SetRule(nil)
			s.faults.Outage(faultstore.All, false)
		}
		if _, err := s.Close(context.WithoutCancel(s.f.t.Context())); err != nil && !s.faults.Crashed() {
			s.f.t.Errorf("close: %v", err)
		}
	})
}

// heard checks what titles promise: what is told is stored.
func (s *server) heard(_ context.Context, session season.Session, titles []season.Title) {
	stored := s.f.stored(session.Key()) //nolint:contextcheck // it reads with the test's context
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, title := range titles {
		if _, ok := stored.Get(doc.P("seasons", "reef", "titles", title.Key)); !ok {
			s.f.t.Errorf("told of %s of %s before it was stored", title.Key, session.Key())
		}
		s.mu.titles = append(s.mu.titles, session.Key()+" "+title.Key)
	}
}

func (s *server) heardRefused(r season.Refused) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.refused = append(s.mu.refused, r)
}

func (s *server) heardClosed(c season.Closed, _ *season.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closed = append(s.mu.closed, c)
}

func (s *server) titles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.mu.titles))
}

func (s *server) refused() []season.Refused {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.refused)
}

// reef is the node's season.
func (s *server) reef() *shoal.Competition { return s.Season("reef") }

// load opens a player's profile, with the season joined, or ends the test.
func (s *server) load(key string) *profile.Session {
	s.f.t.Helper()
	session, err := s.Set("players").Load(s.f.t.Context(), key, nil)
	if err != nil {
		s.f.t.Fatalf("load %s: %v", key, err)
	}
	return session
}

// play records events, each of ten where an amount counts.
func (s *server) play(session *profile.Session, events ...string) {
	s.f.t.Helper()
	for _, e := range events {
		if err := s.reef().Record(session, season.Event{Name: e, Amount: 10}); err != nil {
			s.f.t.Fatalf("record %s of %s: %v", e, session.Key(), err)
		}
	}
}

func (s *server) release(session *profile.Session) {
	s.f.t.Helper()
	if err := session.Release(s.f.t.Context()); err != nil {
		s.f.t.Fatalf("release %s: %v", session.Key(), err)
	}
}

// view is a player's block.
func (s *server) view(session *profile.Session) season.Block {
	s.f.t.Helper()
	b, err := s.reef().View(session)
	if err != nil {
		s.f.t.Fatalf("view %s: %v", session.Key(), err)
	}
	return b
}

// held are the keys of a block's titles.
func held(b season.Block) []string {
	var out []string
	for _, title := range b.Titles {
		out = append(out, title.Key)
	}
	return out
}

// coins are what a profile holds.
func coins(v doc.Value) int64 {
	c, _, _ := v.Lookup("/coins")
	n, _ := c.AsInt()
	return n
}

// ofSeasons matches writes that concern seasons: their records, boards, and the profiles.
func ofSeasons(c faultstore.Call) bool {
	return c.Write && c.Part != faultstore.Bus && len(c.Keys) > 0 &&
		(strings.HasPrefix(c.Keys[0], "season/") || strings.HasPrefix(c.Keys[0], "profile/"))
}

// struck counts how often a rule strikes.
func struck(n *atomic.Int64, rule faultstore.Rule) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		f := rule(c)
		if f != (faultstore.Fault{}) {
			n.Add(1)
		}
		return f
	}
}
