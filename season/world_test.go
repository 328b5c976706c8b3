package season_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// world is a store, the profiles in it, and the nodes on it. It lives inside a synctest
// bubble: time is virtual.
type world struct {
	t        *testing.T
	engine   *memstore.Engine
	profiles *profiles
	cfg      season.Config
}

// newWorld has seasons of an hour that began with the bubble: two boards, titles for three.
func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := season.Reef()
	cfg.Epoch = time.Now()
	cfg.Length = time.Hour
	cfg.Boards = cfg.Boards[:2]
	cfg.Top, cfg.Keep = 3, 5
	cfg.CacheFor = time.Nanosecond // h.top sees at once what was written
	return &world{t: t, engine: memstore.New(nil), profiles: newProfiles(), cfg: cfg}
}

// host is a node with its seasons, and what was heard there.
type host struct {
	*season.Service
	w    *world
	node *node.Node
	tap  *tap
	mu   struct {
		sync.Mutex
		titles  []string // "<key> <title key>"
		refused []season.Refused
		closed  []season.Closed
	}
}

// hostOptions say how a host differs from the usual.
type hostOptions struct {
	skew   time.Duration // the local clock's lead
	loops  bool          // the service's loops run
	blind  bool          // without profiles to scan
	deps   season.Deps
	limits node.Limits
}

// host starts a node; the test's end closes it.
func (w *world) host(name string, o hostOptions) *host {
	w.t.Helper()
	h := &host{w: w, tap: &tap{}}
	st, err := h.tap.store(w.engine.Parts())
	if err != nil {
		w.t.Fatal(err)
	}
	h.node, err = node.Start(w.t.Context(), st, &node.Options{
		Name: name, Beat: 10 * time.Second, Clock: skewed{clock.System(), o.skew}, Logger: slog.New(slog.DiscardHandler),
		Limits: o.limits,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		h.tap.set(nil)
		if _, err := h.node.Close(context.WithoutCancel(w.t.Context())); err != nil {
			w.t.Errorf("close %s: %v", name, err)
		}
	})
	deps := o.deps
	if !o.blind {
		deps.Profiles = w.profiles
	}
	deps.OnTitle = h.heardTitles
	deps.OnRefused = func(r season.Refused) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.mu.refused = append(h.mu.refused, r)
	}
	deps.OnClosed = func(c season.Closed, _ *season.Result) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.mu.closed = append(h.mu.closed, c)
	}
	start := season.NewStill
	if o.loops {
		start = season.New
	}
	if h.Service, err = start(h.node, "reef", w.cfg, deps); err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (h *host) heardTitles(_ context.Context, s season.Session, titles []season.Title) {
	stored, _ := s.Synced()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, title := range titles {
		if _, ok := stored.Get(doc.P("seasons", "reef", "titles", title.Key)); !ok {
			h.w.t.Errorf("told of %s of %s before it was stored", title.Key, s.Key())
		}
		h.mu.titles = append(h.mu.titles, s.Key()+" "+title.Key)
	}
}

func (h *host) titles() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.mu.titles))
}

func (h *host) refused() []season.Refused {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.mu.refused)
}

// play records catches of a session, and fails the test if that is refused.
func (h *host) play(s *session, events ...string) {
	h.w.t.Helper()
	for _, e := range events {
		if err := h.Record(s, season.Event{Name: e, Amount: 10}); err != nil {
			h.w.t.Fatalf("record %s of %s: %v", e, s.key, err)
		}
	}
}

// join loads a profile and takes it up.
func (h *host) join(key string) *session {
	h.w.t.Helper()
	s := h.w.profiles.load(key)
	if _, err := h.Joined(h.w.t.Context(), s); err != nil {
		h.w.t.Fatalf("join %s: %v", key, err)
	}
	return s
}

// leave writes the last values and releases.
func (h *host) leave(s *session) {
	h.Left(h.w.t.Context(), s)
	s.release()
}

// window sends what changed, and fails the test if that fails.
func (h *host) window() {
	h.w.t.Helper()
	if err := h.Window(h.w.t.Context()); err != nil {
		h.w.t.Fatalf("window: %v", err)
	}
}

// closeDue closes what is due and answers the ids.
func (h *host) closeDue() []string {
	h.w.t.Helper()
	closed, err := h.CloseDue(h.w.t.Context())
	if err != nil {
		h.w.t.Fatalf("close: %v", err)
	}
	ids := make([]string, len(closed))
	for i, c := range closed {
		ids[i] = c.ID
	}
	return ids
}

// until sleeps until a time after the epoch.
func (w *world) until(d time.Duration) { time.Sleep(time.Until(w.cfg.Epoch.Add(d))) }

// pastGrace sleeps until season k may be closed.
func (w *world) pastGrace(k int64) {
	time.Sleep(time.Until(w.cfg.End(k).Add(300 * time.Second)))
}

// standings are a result's top of a board, as "key:score".
func standings(r *season.Result, board string) []string {
	var out []string
	for _, b := range r.Boards {
		if b.Board != board {
			continue
		}
		for _, p := range append(slices.Clone(b.Top), b.Reserve...) {
			out = append(out, fmt.Sprintf("%s:%d", p.Key, p.Score))
		}
	}
	return out
}

// wantResult compares a stored result with what was played.
func (h *host) wantResult(id, board string, want ...string) {
	h.w.t.Helper()
	r, err := h.Result(h.w.t.Context(), id)
	if err != nil {
		h.w.t.Fatalf("result of %s: %v", id, err)
	}
	if got := standings(r, board); !slices.Equal(got, want) {
		h.w.t.Fatalf("%s of %s: %v, want %v", board, id, got, want)
	}
}

// raw is a record of the durable store, past every fault.
func (w *world) raw(key string) []byte {
	recs, err := w.engine.Records().Get(context.Background(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	return recs[0].Value
}

// skewed is a local clock that is wrong.
type skewed struct {
	clock.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

// fate is what becomes of a call.
type fate int

const (
	pass    fate = iota
	refuse       // not done, and the caller is told so
	lose         // not done, and the caller cannot know
	applied      // done, and the caller cannot know
	hang         // no answer until the caller gives up
)

// tap stands between a node and its store and decides the fate of calls that concern seasons.
type tap struct {
	decide atomic.Pointer[func(call string) fate]
	after  atomic.Pointer[func(call string)] // runs between a call and its answer
}

// set installs a decision; nil lets everything pass.
func (tp *tap) set(decide func(call string) fate) {
	if decide == nil {
		tp.decide.Store(nil)
		return
	}
	tp.decide.Store(&decide)
}

func (tp *tap) fate(call string) fate {
	if d := tp.decide.Load(); d != nil {
		return (*d)(call)
	}
	return pass
}

func (tp *tap) store(p store.Parts) (*store.Store, error) {
	p.Durable = &tappedRecords{p.Durable, tp}
	p.Boards = &tappedBoards{p.Boards, tp}
	return store.New(p)
}

// through runs a call according to its fate. A call that passes is a request on its way: it
// arrives however late, also when the caller has given up.
func through[T any](ctx context.Context, tp *tap, call string, do func(context.Context) (T, error)) (T, error) {
	var none T
	late := context.WithoutCancel(ctx)
	switch tp.fate(call) {
	case hang:
		<-ctx.Done()
		return none, fmt.Errorf("%s: %w", call, store.ErrUnknown)
	case refuse:
		return none, fmt.Errorf("%s: %w", call, store.ErrUnavailable)
	case lose:
		return none, fmt.Errorf("%s: %w", call, store.ErrUnknown)
	case applied:
		if _, err := do(late); err != nil {
			return none, err
		}
		return none, fmt.Errorf("%s: %w", call, store.ErrUnknown)
	case pass:
	}
	out, err := do(late)
	if after := tp.after.Load(); after != nil {
		(*after)(call)
	}
	return out, err
}

type tappedRecords struct {
	store.Records
	tap *tap
}

func (r *tappedRecords) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	if !strings.HasPrefix(keys[0], "season/") {
		return r.Records.Get(ctx, keys...)
	}
	return through(ctx, r.tap, "get "+keys[0], func(ctx context.Context) ([]store.Record, error) { return r.Records.Get(ctx, keys...) })
}

func (r *tappedRecords) Commit(ctx context.Context, txs ...store.Tx) []error {
	if !strings.HasPrefix(txs[0][0].Key, "season/") {
		return r.Records.Commit(ctx, txs...)
	}
	_, err := through(ctx, r.tap, "put "+txs[0][0].Key, func(ctx context.Context) (any, error) { return nil, r.Records.Commit(ctx, txs...)[0] })
	return []error{err}
}

func (r *tappedRecords) Now(ctx context.Context) (time.Time, error) {
	return through(ctx, r.tap, "now", func(ctx context.Context) (time.Time, error) { return r.Records.Now(ctx) })
}

type tappedBoards struct {
	store.Boards
	tap *tap
}

func (b *tappedBoards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	return through(ctx, b.tap, "create "+board, func(ctx context.Context) (store.BoardInfo, error) { return b.Boards.Create(ctx, board, spec) })
}

func (b *tappedBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	return through(ctx, b.tap, "merge "+board, func(ctx context.Context) ([]store.Change, error) { return b.Boards.Merge(ctx, board, batch) })
}

func (b *tappedBoards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	return through(ctx, b.tap, "page "+board, func(ctx context.Context) (store.Page, error) { return b.Boards.Page(ctx, board, offset, limit, mode) })
}

func (b *tappedBoards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	return through(ctx, b.tap, "scores "+board, func(ctx context.Context) (map[string]store.Entry, error) { return b.Boards.Scores(ctx, board, keys...) })
}

func (b *tappedBoards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	return through(ctx, b.tap, "seal "+board, func(ctx context.Context) (store.BoardInfo, error) { return b.Boards.Seal(ctx, board) })
}

func (b *tappedBoards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	return through(ctx, b.tap, "info "+board, func(ctx context.Context) (store.BoardInfo, error) { return b.Boards.Info(ctx, board) })
}

// profiles are the stored profiles of all players, with the semantics of package profile as
// far as seasons see them: one session at a time, an epoch per load, a revision per commit.
type profiles struct {
	mu struct {
		sync.Mutex
		byKey map[string]*stored
		sync  func(key string) fate // the fate of the next syncs
	}
}

type stored struct {
	data    doc.Value
	stamp   store.Stamp
	created time.Time
	scanned int
}

func newProfiles() *profiles {
	p := new(profiles)
	p.mu.byKey = make(map[string]*stored)
	return p
}

// load opens a session on a profile, which is made when it is missing.
func (p *profiles) load(key string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.mu.byKey[key]
	if st == nil {
		st = &stored{data: doc.MustObject(nil), created: time.Now()}
		p.mu.byKey[key] = st
	}
	st.stamp.Epoch++
	s := &session{p: p, key: key, created: st.created, epoch: st.stamp.Epoch, done: make(chan struct{})}
	s.mu.data, s.mu.revision = st.data, st.stamp.Revision
	s.mu.stored, s.mu.upTo = s.mu.data, s.mu.revision
	return s
}

// put makes a profile as it is stored.
func (p *profiles) put(key string, data doc.Value, created time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.byKey[key] = &stored{data: data, created: created}
}

func (p *profiles) data(key string) doc.Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.byKey[key].data
}

func (p *profiles) onSync(f func(key string) fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.sync = f
}

// Scan is season.Profiles.
func (p *profiles) Scan(_ context.Context, fn func(season.Profile) error) error {
	p.mu.Lock()
	list := maps.Clone(p.mu.byKey)
	p.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(list)) {
		p.mu.Lock()
		prof := season.Profile{Key: key, Data: list[key].data, Stamp: list[key].stamp}
		list[key].scanned++
		p.mu.Unlock()
		if err := fn(prof); err != nil {
			return err
		}
	}
	return nil
}

// scans is how often all profiles were read.
func (p *profiles) scans() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, st := range p.mu.byKey {
		n = max(n, st.scanned)
	}
	return n
}

// session is season.Session on a profile.
type session struct {
	p       *profiles
	key     string
	created time.Time
	epoch   uint64
	done    chan struct{}
	once    sync.Once
	mu      struct {
		sync.Mutex
		data     doc.Value
		revision uint64
		commits  []string
		stored   doc.Value // acknowledged to this session
		upTo     uint64
		follow   map[int]func()
		follows  int // ever
	}
}

var errLost = errors.New("session lost")

func (s *session) Key() string           { return s.key }
func (s *session) Created() time.Time    { return s.created }
func (s *session) Done() <-chan struct{} { return s.done }

func (s *session) Data() doc.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.data
}

func (s *session) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// OnChange is season.Session's.
func (s *session) OnChange(fn func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.follow == nil {
		s.mu.follow = make(map[int]func())
	}
	s.mu.follows++
	n := s.mu.follows
	s.mu.follow[n] = fn
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.mu.follow, n)
	}
}

func (s *session) Change(note string, fn func(doc.Value) ([]doc.Op, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDone() {
		return errLost
	}
	ops, err := fn(s.mu.data)
	if err != nil {
		return fmt.Errorf("profile: change %s: %w", s.key, err)
	}
	next, err := doc.Apply(s.mu.data, ops...)
	if err != nil {
		return fmt.Errorf("profile: change %s: %w", s.key, err)
	}
	s.mu.data = next
	s.mu.revision++
	s.mu.commits = append(s.mu.commits, note)
	for _, follow := range s.mu.follow {
		follow()
	}
	return nil
}

func (s *session) commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.commits)
}

// Sync stores the present data unless a later session has taken the profile.
func (s *session) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.p.mu.Lock()
	f := pass
	if s.p.mu.sync != nil {
		f = s.p.mu.sync(s.key)
	}
	s.p.mu.Unlock()
	switch f {
	case refuse:
		return store.ErrUnavailable
	case lose:
		return store.ErrUnknown
	case applied, pass, hang:
	}
	if err := s.save(); err != nil {
		return err
	}
	if f == applied {
		return store.ErrUnknown
	}
	return nil
}

func (s *session) save() error {
	s.mu.Lock()
	data, revision := s.mu.data, s.mu.revision
	s.mu.Unlock()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	st := s.p.mu.byKey[s.key]
	if st.stamp.Epoch != s.epoch || s.isDone() {
		return errLost
	}
	st.data, st.stamp.Revision = data, revision
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.stored, s.mu.upTo = data, revision
	return nil
}

// Save is Sync.
func (s *session) Save(ctx context.Context) error { return s.Sync(ctx) }

// Synced is what was acknowledged to this session, or what it has loaded.
func (s *session) Synced() (doc.Value, store.Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stored, store.Stamp{Epoch: s.epoch, Revision: s.mu.upTo}
}

// release saves and ends the session.
func (s *session) release() {
	if err := s.save(); err != nil {
		panic(err)
	}
	s.crash()
}

// crash ends the session without saving: what was not stored is gone.
func (s *session) crash() { s.once.Do(func() { close(s.done) }) }
