package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// game is the source of the tests' changes.
var game = profile.Source{Note: "test"}

// fleet is several nodes on one memory, each behind faults of its own.
type fleet struct {
	t      *testing.T
	engine *memstore.Engine
	raw    *store.Store
	wrap   func(store.Parts) store.Parts // what the nodes see instead of the engine; nil: the engine
}

// server is a node with a set of players.
type server struct {
	*profile.Set
	t      *testing.T
	node   *node.Node
	faults *faultstore.Faults
	log    *logBuffer
	ended  atomic.Bool // closed by the test, among faults: what is left over is no failure
}

// bubble runs a test in virtual time on a fleet; records and fast records are apart.
func bubble(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(&memstore.Options{Apart: true})
		raw, err := e.Store()
		if err != nil {
			t.Fatal(err)
		}
		f := &fleet{t: t, engine: e, raw: raw}
		t.Cleanup(func() { _ = raw.Close(context.Background()) })
		test(t, f)
	})
}

// start starts a node; it is closed, without its faults, at the end of the test. Without a
// word about it there is no journal: most tests look at saves alone, and the journal's own
// ask for it.
func (f *fleet) start(name string, opts *profile.Options) *server {
	f.t.Helper()
	return f.startWith(&node.Options{Name: name}, opts)
}

func (f *fleet) startWith(no *node.Options, opts *profile.Options) *server {
	f.t.Helper()
	faults := faultstore.New(&faultstore.Options{KeepLate: true})
	parts := f.engine.Parts()
	if f.wrap != nil {
		parts = f.wrap(parts)
	}
	st, err := store.New(faults.Wrap(parts))
	if err != nil {
		f.t.Fatal(err)
	}
	var o profile.Options
	if opts != nil {
		o = *opts
	}
	if o.JournalEvery == 0 {
		o.JournalEvery = -1
	}
	log := &logBuffer{}
	no.Logger = slog.New(slog.NewTextHandler(log, nil))
	n, err := node.Start(f.t.Context(), st, no)
	if err != nil {
		f.t.Fatal(err)
	}
	set, err := profile.New(n, "players", &o)
	if err != nil {
		f.t.Fatal(err)
	}
	s := &server{Set: set, t: f.t, node: n, faults: faults, log: log}
	f.t.Cleanup(func() {
		faults.SetRule(nil)
		faults.Outage(faultstore.All, false)
		_, err := n.Close(context.Background())
		if err != nil && !faults.Crashed() && !s.ended.Load() {
			f.t.Errorf("close %s: %v", n.ID(), err)
		}
		_ = st.Close(context.Background())
		if f.t.Failed() {
			f.t.Logf("log of %s:\n%s", n.ID(), log)
		}
	})
	return s
}

// load loads, or ends the test.
func (s *server) load(key string, opts *profile.LoadOptions) *profile.Session {
	s.t.Helper()
	sess, err := s.Load(s.t.Context(), key, opts)
	if err != nil {
		s.t.Fatalf("load %s on %s: %v\n%s", key, s.node.ID(), err, s.log)
	}
	return sess
}

// fails loads, and expects this error within these bounds of virtual time.
func (s *server) fails(key string, opts *profile.LoadOptions, want error) error {
	s.t.Helper()
	sess, err := s.Load(s.t.Context(), key, opts)
	if !errors.Is(err, want) {
		s.t.Fatalf("load %s on %s: %v, %v; want %v", key, s.node.ID(), sess, err, want)
	}
	return err
}

// kill ends the node as a crash does: nothing of it reaches the store any more.
func (s *server) kill() { s.faults.Crash() }

// add commits one more coin.
func add(t *testing.T, sess *profile.Session, coins int64) {
	t.Helper()
	if _, err := sess.Transact(game, doc.Increment("/coins", coins)); err != nil {
		t.Fatalf("transact: %v", err)
	}
}

// coins are what a document holds.
func coins(v doc.Value) int64 {
	c, _, _ := v.Lookup("/coins")
	n, _ := c.AsInt()
	return n
}

func save(t *testing.T, sess *profile.Session) {
	t.Helper()
	if err := sess.Save(t.Context()); err != nil {
		t.Fatalf("save: %v", err)
	}
}

func release(t *testing.T, sess *profile.Session) {
	t.Helper()
	if err := sess.Release(t.Context()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// took tells how much virtual time do takes.
func took(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

func profileKey(key string) string { return "profile/players/" + key }

// durable reads a durable record past all faults.
func (f *fleet) durable(key string) store.Record {
	f.t.Helper()
	recs, err := f.raw.Durable().Get(context.Background(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return recs[0]
}

// fast reads a fast record past all faults.
func (f *fleet) fast(key string) store.Record {
	f.t.Helper()
	recs, err := f.raw.Fast().Get(context.Background(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return recs[0]
}

// plant puts a value into a part of the store.
func (f *fleet) plant(r store.Records, key, value string) store.Version {
	f.t.Helper()
	v := store.Version(len(value)*1000 + 7)
	if err := r.Commit(context.Background(), store.Tx{{Key: key, Op: store.Put, Value: []byte(value), Version: v}})[0]; err != nil {
		f.t.Fatal(err)
	}
	return v
}

// stored is a profile's record as JSON shows it.
type stored struct {
	Epoch, Revision uint64
	Schema          int
	Data            json.RawMessage
	Session         *struct {
		Token, Node string
		Beating     bool
	}
	TookFrom *struct {
		Token, Node, Evidence string
		Epoch                 uint64
	}
	Ask *struct{ Token, Node, For string }
}

func (f *fleet) stored(key string) stored {
	f.t.Helper()
	var s stored
	r := f.durable(profileKey(key))
	if r.Missing() {
		f.t.Fatalf("no record of %s", key)
	}
	if err := json.Unmarshal(r.Value, &s); err != nil {
		f.t.Fatal(err)
	}
	return s
}

// notes are the keys of all notes and journals there are.
func (f *fleet) leftovers() []string {
	f.t.Helper()
	var out []string
	for _, prefix := range []string{"note/", "journal/"} {
		for rec, err := range f.raw.Fast().Scan(context.Background(), store.Prefix(prefix)) {
			if err != nil {
				f.t.Fatal(err)
			}
			out = append(out, rec.Key)
		}
	}
	return out
}

// free checks that nobody holds the profile, and that any node can load it.
func (f *fleet) free(key string) {
	f.t.Helper()
	if s := f.stored(key).Session; s != nil {
		f.t.Errorf("%s is held by %s", key, s.Node)
	}
}

// on matches the calls of an operation on keys with a prefix.
func on(op, prefix string) func(faultstore.Call) bool {
	return func(c faultstore.Call) bool {
		return c.Op == op && len(c.Keys) > 0 && strings.HasPrefix(c.Keys[0], prefix)
	}
}

// nth is the fault of the n-th matching call.
func nth(n int, match func(faultstore.Call) bool, kind faultstore.Kind) faultstore.Rule {
	return faultstore.Nth(n, match, faultstore.Fault{Kind: kind})
}

// always is the fault of every matching call.
func always(match func(faultstore.Call) bool, f faultstore.Fault) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		if match(c) {
			return f
		}
		return faultstore.Fault{}
	}
}

// count counts the matching calls; it is read when the store is quiet.
type count struct {
	match func(faultstore.Call) bool
	mu    sync.Mutex
	n     int
}

func (c *count) rule(call faultstore.Call) faultstore.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.match(call) {
		c.n++
	}
	return faultstore.Fault{}
}

func (c *count) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// logBuffer collects a node's log.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(&b.text, "%s", p)
	return len(p), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// timeless is a test in virtual time as rapid can use it: without a deadline of real time.
type timeless struct{ testing.TB }
