package profile

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Set is a set of profiles on one node: players, guild banks, whatever is owned one by one.
// A node has one Set for each name.
type Set struct {
	node *node.Node
	name string
	opts Options
	clk  clock.Clock
	log  *slog.Logger

	durable, fast store.Records

	// life hands out the context of what runs in the set's own name; halt ends it.
	life      func() context.Context
	halt      context.CancelFunc
	tasks     tasks
	crew      *crew
	plan      agenda
	journaler journaler
	reaping   reaping
	outage    outage
	hooks     hooks
	receipts  turns
	trims     trims
	post      postOffice
	edits     editors
	stats     counters
	pipes     pipelines
	reporting reporting
	began     time.Time
	open      atomic.Int64              // sessions
	back      atomic.Pointer[time.Time] // since when the node's beats land again; nil: they do not, or always have

	closing  closing
	unhandle func()

	mu struct {
		sync.Mutex
		closing  bool
		slots    map[string]*slot // by key: what is open, or being loaded
		tokens   map[string]*slot // the same by session token
		recent   recent
		disowned map[string]*orphan
		litter   []litter
	}
}

// slot is what a node has under a key: a load, then a session.
type slot struct {
	key     string
	load    *load
	session *Session
	gone    chan struct{} // closed when the key is free on this node
}

// New makes the set with this name on the node. It does no I/O, and ends with the node (see
// node.StageSessions), or with Close.
func New(n *node.Node, setName string, opts *Options) (*Set, error) {
	if err := name.CheckName("set", setName); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	o, err := opts.withDefaults(n.Options().Beat)
	if err != nil {
		return nil, err
	}
	if n.Limited() && n.Store().OneRecords() { // each append would be a request of the budget
		o.JournalEvery = -1
	}
	life, halt := context.WithCancel(context.Background())
	s := &Set{
		node: n, name: setName, opts: o, clk: n.Clock(), log: n.Logger().With("set", setName, "node", n.ID()),
		durable: n.Store().Durable(), fast: n.Store().Fast(),
		began: n.Clock().Now(),
		life:  func() context.Context { return life }, halt: halt,
	}
	s.enterMode()
	if s.pipes, err = newPipelines(s); err != nil {
		halt()
		return nil, err
	}
	s.mu.slots = make(map[string]*slot)
	s.mu.tokens = make(map[string]*slot)
	s.mu.disowned = make(map[string]*orphan)
	s.post.desks = make(chan struct{}, maxPostmen)
	s.crew = newCrew(o.MaxWrites, s.clk, s.tasks.start)
	s.plan.kick = make(chan struct{}, 1)
	s.journaler.every, s.journaler.clk, s.journaler.wake = s.opts.JournalEvery, s.clk, s.plan.wake
	s.closing.ended = make(chan struct{})
	if s.unhandle, err = s.serve(); err != nil {
		halt()
		return nil, fmt.Errorf("profile: %w", err)
	}
	n.CountPlayers(func() int { return int(s.open.Load()) })
	go s.loop() // ends with life
	n.OnClose(node.StageSessions, "profiles/"+setName, s.closeWithNode)
	s.log.InfoContext(life, "profiles open", "mode", o.Mode.String(), "schema", o.Schema, "writeVersion", o.WriteVersion, "policy", o.Policy.String(), "autosave", o.Autosave, "loadTimeout", o.LoadTimeout,
		"stealAfter", o.StealAfter, "fallbackSave", o.FallbackSave, "softBytes", o.SoftBytes, "hardBytes", o.HardBytes, "maxWrites", o.MaxWrites)
	return s, nil
}

// Name is the set's name, the middle part of its keys in the store.
func (s *Set) Name() string { return s.name }

// Session is the open session of a key, if this node has one.
func (s *Set) Session(key string) (*Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl := s.mu.slots[key]; sl != nil && sl.session != nil && !sl.session.errand {
		return sl.session, true
	}
	return nil, false
}

// Sessions are the open sessions, in no order.
func (s *Set) Sessions() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Session, 0, len(s.mu.slots))
	for _, sl := range s.mu.slots {
		if sl.session != nil {
			out = append(out, sl.session)
		}
	}
	return out
}

// call is the context of one call in the set's own name.
func (s *Set) call() (context.Context, context.CancelFunc) {
	return clock.WithTimeout(s.life(), s.clk, s.opts.CallTimeout)
}

// within is the context of one call for somebody who waits for it.
func (s *Set) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return clock.WithTimeout(ctx, s.clk, s.opts.CallTimeout)
}

// read is one read of a record.
func (s *Set) read(ctx context.Context, key string) (reading, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	recs, err := s.durable.Get(ctx, recordKey(s.name, key))
	if err != nil {
		return reading{}, fmt.Errorf("read record: %w", err)
	}
	return readingOf(recs[0]), nil
}

// put is one conditional write of a record. It runs in the set's own name: a caller that
// goes away must not make its outcome unknown.
func (s *Set) put(key string, rec record, cond, v store.Version, with ...store.Write) error {
	ctx, cancel := s.call()
	defer cancel()
	return s.commit(ctx, append(s.putTx(key, rec, cond, v), with...))
}

// putTx is one conditional write of a record.
func (s *Set) putTx(key string, rec record, cond, v store.Version) store.Tx {
	return store.Tx{{Key: recordKey(s.name, key), Op: store.Put, Value: rec.encode(), If: store.Is(cond), Version: v}}
}

func (s *Set) commit(ctx context.Context, tx store.Tx) error {
	err := s.durable.Commit(ctx, tx)[0]
	s.count(err)
	return err
}

// count counts the outcomes that are not done.
func (s *Set) count(err error) {
	switch {
	case err == nil:
	case isConflict(err):
		s.stats.conflicts.Add(1)
	case store.OutcomeOf(err) == store.Unknown:
		s.stats.unknowns.Add(1)
	}
}

// recent remembers tokens of sessions that ended in order, a bounded number of them.
type recent struct {
	ring [256]string
	next int
}

func (r *recent) add(token string) {
	r.ring[r.next%len(r.ring)] = token
	r.next++
}

func (r *recent) has(token string) bool {
	for _, t := range r.ring {
		if t == token {
			return true
		}
	}
	return false
}
