package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// This file has a service know of what others moderate: by messages, and by looking at the
// marks once a minute while it has something to write, or while there are marks.

const (
	moderationTopic = "boards/moderation"
	// maxMarks is how many marks of a kind one look reads. When there are more, the list of
	// bans is read as a whole.
	maxMarks = 10_000
	// publishTimeout bounds one message: it tells nothing that looking does not.
	publishTimeout = 2 * time.Second
)

// moderation is what a service knows of who is banned, and its part in carrying it out.
type moderation struct {
	list      banList
	audited   atomic.Uint64 // entries of the audit log by this service
	keepAudit int           // MaxAudit
	maxBans   int           // MaxBans
	refused   atomic.Uint64 // submits
	purged    atomic.Uint64 // values that waited
	looks     atomic.Uint64
	failed    atomic.Uint64 // looks

	mu struct {
		sync.Mutex
		running, again bool          // a look is under way; another one is wanted
		looked         time.Duration // when the last look began
		timer          clock.Timer
		sights         [2]map[string]sight // marks by key, of bans and of hides
		subscription   store.Subscription
		stopped        bool
	}
}

// message is what services tell each other: that pages of a board (empty: of every board) are
// wrong, and that the list of bans has changed.
type message struct {
	From  string `json:"from"`
	Board string `json:"board,omitempty"`
	Bans  bool   `json:"bans,omitempty"`
	Lost  bool   `json:"lost,omitempty"` // the board has lost entries, or was dropped
}

// moderated tells whether the service has records to moderate by.
func (s *Service) moderated() bool { return s.host.records != nil }

// beginModeration subscribes, and reads the list of bans, on a goroutine of its own.
func (s *Service) beginModeration() {
	s.moderation.list.init()
	s.moderation.keepAudit, s.moderation.maxBans = MaxAudit, MaxBans
	s.look()
}

// endModeration takes the subscription and the timer away. A look that is under way ends with
// the reads.
func (s *Service) endModeration() {
	m := &s.moderation
	m.mu.Lock()
	m.mu.stopped = true
	if m.mu.timer != nil {
		m.mu.timer.Stop()
	}
	subscription := m.mu.subscription
	m.mu.Unlock()
	if subscription != nil {
		subscription.Close()
	}
}

// look starts a look, or has the one that runs repeated.
func (s *Service) look() {
	m := &s.moderation
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.mu.stopped || !s.moderated():
		return
	case m.mu.running:
		m.mu.again = true
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, ok := s.reads.begin(cancel)
	if !ok {
		return
	}
	m.mu.running, m.mu.looked = true, s.uptime()
	go func() {
		defer done()
		for again := true; again; {
			err := s.lookOnce(ctx)
			m.looks.Add(1)
			if err != nil {
				m.failed.Add(1)
				s.host.logger.DebugContext(ctx, "moderation could not be looked at", "err", err)
			}
			again = s.looked(err)
		}
	}()
}

// looked ends a look. While there are marks, or one failed, a timer begins the next.
func (s *Service) looked(err error) (again bool) {
	m := &s.moderation
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.again && !m.mu.stopped {
		m.mu.again, m.mu.looked = false, s.uptime()
		return true
	}
	m.mu.running = false
	if !m.mu.stopped && (err != nil || len(m.mu.sights[0])+len(m.mu.sights[1]) > 0) {
		if m.mu.timer != nil {
			m.mu.timer.Stop()
		}
		m.mu.timer = s.host.clock.AfterFunc(s.jittered(lookEvery), s.look)
	}
	return false
}

// jittered is d give or take a tenth, so that nodes do not look together.
func (s *Service) jittered(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(s.host.random("look", "")%uint64(d/5))
}

// lookIfOld begins a look when the last one began a while ago. The writing goroutine calls it
// when there is something to write. While the node closes there is none: the drain would cut it
// off.
func (s *Service) lookIfOld() {
	if s.drain.hurried.Load() || s.drain.hasBegun() {
		return
	}
	m := &s.moderation
	m.mu.Lock()
	old := s.uptime()-m.mu.looked >= lookEvery && !m.mu.running
	m.mu.Unlock()
	if old {
		s.look()
	}
}

func (s *Service) lookOnce(ctx context.Context) error {
	return errors.Join(s.subscribeModeration(ctx), s.refreshBans(ctx), s.hideLate(ctx), s.sweep(ctx))
}

func (s *Service) subscribeModeration(ctx context.Context) error {
	m := &s.moderation
	m.mu.Lock()
	have := m.mu.subscription != nil || s.host.bus == nil
	m.mu.Unlock()
	if have {
		return nil
	}
	callCtx, cancel := s.bounded(ctx)
	defer cancel()
	subscription, err := s.host.bus.Subscribe(callCtx, moderationTopic, s.hear)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	m.mu.Lock()
	stopped := m.mu.stopped
	m.mu.subscription = subscription
	m.mu.Unlock()
	if stopped {
		subscription.Close()
	}
	return nil
}

// hear takes a message: pages are dropped at once, bans are looked at, and a board that has lost
// entries is taken for a new one.
func (s *Service) hear(payload []byte) {
	var msg message
	if json.Unmarshal(payload, &msg) != nil || msg.From == s.host.source {
		return
	}
	s.dropPages(msg.Board)
	if b := s.boards.Load().byName[msg.Board]; b != nil && msg.Lost {
		b.sealed.Store(false) // it may have been dropped; else the next write finds out
		b.check(false)
		b.anew()
	}
	if msg.Bans {
		s.look()
	}
}

// dropPages drops the cached pages of a board, or of every one.
func (s *Service) dropPages(board string) {
	r := s.boards.Load()
	list := r.sorted
	if board != "" {
		list = nil
		if b := r.byName[board]; b != nil {
			list = append(list, b)
		}
	}
	for _, b := range list {
		b.wrote.Add(1)
		b.cache.drop()
	}
}

// tell publishes, best effort.
func (s *Service) tell(ctx context.Context, msg message) {
	if s.host.bus == nil {
		return
	}
	msg.From = s.host.source
	ctx, cancel := clock.WithTimeout(ctx, s.host.clock, publishTimeout)
	defer cancel()
	if err := s.host.bus.Publish(ctx, moderationTopic, form(msg)); err != nil {
		s.host.logger.DebugContext(ctx, "others will see by themselves what was moderated", "err", err)
	}
}

// commit is one call of the store for each 1,024 transactions, bounded.
func (s *Service) commit(ctx context.Context, txs ...store.Tx) []error {
	out := make([]error, 0, len(txs))
	for len(txs) > 0 {
		n := min(len(txs), store.MaxCommit)
		callCtx, cancel := s.bounded(ctx)
		out = append(out, s.host.records.Commit(callCtx, txs[:n]...)...)
		cancel()
		txs = txs[n:]
	}
	return out
}

// get reads records in parts.
func (s *Service) get(ctx context.Context, keys ...string) ([]store.Record, error) {
	out := make([]store.Record, 0, len(keys))
	for len(keys) > 0 {
		n := min(len(keys), store.MaxGetKeys)
		callCtx, cancel := s.bounded(ctx)
		recs, err := s.host.records.Get(callCtx, keys[:n]...)
		cancel()
		if err != nil {
			return nil, err
		}
		out = append(out, recs...)
		keys = keys[n:]
	}
	return out, nil
}

func (s *Service) version(purpose, key string) store.Version {
	return store.VersionFrom(s.host.random(purpose, key))
}
