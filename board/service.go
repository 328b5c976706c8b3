package board

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
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Service serves the boards of one node.
type Service struct {
	host host
	opts Options

	boards atomic.Pointer[registry] // replaced, never changed, under mu
	mu     struct {
		sync.Mutex
		closed bool // no board is defined any more
	}

	// The wake-up of the writing goroutine.
	armed   atomic.Bool  // a window is due, or a kick is on its way
	arrival atomic.Int64 // a recent reading of uptime, for the age of what waits
	fleet   atomic.Int64 // fleet time in nanoseconds when uptime was 0, by a recent reading
	kicks   chan struct{}
	flushes chan chan error
	batches atomic.Uint64 // the last number of a batch of sums, over all boards
	last    string        // the board that took a window's last turn; owned by the writing goroutine
	unread  error         // why this window cannot read the list of bans; owned by the writing goroutine
	retried time.Time     // Backend: the last window that tried what had failed; owned by the writing goroutine

	reads     reads
	names     names
	mirrors   mirrors
	hasty     atomic.Bool    // a SubmitDurable has come: the next window runs at once
	backend   *backendBoards // nil: the store's boards
	onUpdated listeners[func(string, store.Page)]
	onRefused listeners[func(Refusal)]
	strays    atomic.Uint64 // refused submits to no board
	drain     drain

	moderation moderation
}

// host is what a service takes from its node.
type host struct {
	id      string
	source  string // names this service's batches of sums, for ever
	boards  store.Boards
	meter   *meter        // nil: no request budget
	records store.Records // durable ones, for moderation; nil: none
	bus     store.Bus     // nil: none
	clock   clock.Clock
	born    time.Time // by clock
	random  func(purpose, key string) uint64
	now     func() time.Time // fleet time
	logger  *slog.Logger
	closing <-chan struct{} // closed when the node begins to close
}

// registry is the boards that are defined, by name and in the order of names.
type registry struct {
	byName map[string]*board
	sorted []*board
	names  []string
}

// New makes a service on a node, which closes it in its last stage. Several services on one
// node do not know each other: give each its own boards. Nil options are the defaults.
func New(n *node.Node, o *Options) (*Service, error) {
	s, err := newService(host{
		id:      n.ID(),
		source:  n.ID() + "/" + n.NewToken("boards", ""),
		boards:  n.For(node.ClassBoard).Boards(),
		meter:   meterOf(n),
		records: n.For(node.ClassBoard).Durable(),
		bus:     n.Store().Bus(),
		clock:   n.Clock(),
		random:  n.Random,
		now:     n.Now,
		logger:  n.Logger(),
		closing: n.Closing(),
	}, o)
	if err != nil {
		return nil, err
	}
	n.OnClose(node.StageBoards, "boards", s.closeStage)
	return s, nil
}

func newService(h host, o *Options) (*Service, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h.born = h.clock.Now()
	s := &Service{host: h, opts: opts, kicks: make(chan struct{}, 1), flushes: make(chan chan error)}
	s.boards.Store(&registry{})
	s.attach(opts.Backend)
	s.reads.init(opts.ReadsAtOnce)
	s.names.init(opts.Names)
	writing := s.drain.init()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(opts.Boards)) {
		errs = append(errs, s.Define(name, opts.Boards[name]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.readClocks()
	s.armed.Store(opts.FlushEvery < 0) // then nobody need kick
	h.logger.Info("boards started", "node", h.id, "boards", len(opts.Boards), "flushEvery", opts.FlushEvery,
		"writesPerFlush", opts.WritesPerFlush, "maxWriteAttempts", opts.MaxWriteAttempts, "maxQueued", opts.MaxQueued,
		"cacheFor", opts.CacheFor, "maxEntries", opts.MaxEntries, "closeTimeout", opts.CloseTimeout)
	s.beginModeration()
	go s.run(writing)
	return s, nil
}

// Define makes a board known to this service. Nothing is stored before its first write. It
// may be repeated with the same configuration; another one answers [ErrDefined].
func (s *Service) Define(name string, cfg Config) error {
	effective, err := cfg.withDefaults(name, &s.opts)
	if err != nil {
		return err
	}
	if effective.Rule == store.Sum && s.opts.Backend != nil {
		return sumError(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return closedError(name)
	}
	r := s.boards.Load()
	if b, ok := r.byName[name]; ok {
		if b.cfg.same(effective) {
			return nil
		}
		return &RefusedError{Board: name, Field: "config", Problem: "is defined with another configuration", Reason: ErrDefined}
	}
	b := newBoard(strings.Clone(name), effective, s.opts.MaxQueued)
	b.keyed = s.backend != nil
	s.boards.Store(r.with(b))
	return nil
}

// Forget ends what Define began; the stored board stays. It is refused with [ErrBusy] while
// scores wait or are being written. The numbers of the board leave [Service.Stats].
func (s *Service) Forget(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.boards.Load()
	b, ok := r.byName[name]
	if !ok || s.mu.closed {
		return nil
	}
	b.queue.close(ErrUnknownBoard)
	if left, _ := b.unwritten(); left > 0 {
		b.queue.close(nil)
		return &RefusedError{Board: name, Field: "board", Problem: fmt.Sprintf("%d scores wait to be written", left), Reason: ErrBusy}
	}
	b.cache.drop()
	s.boards.Store(r.without(name))
	return nil
}

// Boards are the names of the boards that are defined, sorted.
func (s *Service) Boards() []string { return slices.Clone(s.boards.Load().names) }

// Config is the effective configuration of a board that is defined.
func (s *Service) Config(name string) (Config, bool) {
	b, ok := s.boards.Load().byName[name]
	if !ok {
		return Config{}, false
	}
	cfg := b.cfg
	cfg.Min, cfg.Max = own(cfg.Min), own(cfg.Max)
	return cfg, true
}

// OnUpdated has fn called with each page that [Service.Top] has newly read. Failed reads call
// nothing. A slow listener misses pages of its board, but never sees them out of order. A panic
// of fn is caught and logged.
func (s *Service) OnUpdated(fn func(board string, page store.Page)) (stop func()) {
	return s.onUpdated.add(fn)
}

// OnRefused has fn called with values that were accepted by Submit and will never be
// written. It is called while the board's write is being settled, by the goroutine that
// writes: fn must be quick, and must not wait for a write of this service (FlushNow,
// SubmitDurable, Remove, Drop, Close). A panic of it is caught and logged. See [Refusal].
func (s *Service) OnRefused(fn func(Refusal)) (stop func()) { return s.onRefused.add(fn) }

// board finds a board that is defined.
func (s *Service) board(name string) (*board, error) {
	b, ok := s.boards.Load().byName[name]
	if !ok {
		return nil, unknownError(name)
	}
	return b, nil
}

func unknownError(board string) error {
	return &RefusedError{Board: board, Field: "board", Problem: "is not defined", Reason: ErrUnknownBoard}
}

// uptime is the local time since the service began.
func (s *Service) uptime() time.Duration { return s.host.clock.Now().Sub(s.host.born) }

func (s *Service) nextBatch() uint64 { return s.batches.Add(1) }

// bounded is ctx with the limit of one call of the store, and without its caller's end.
func (s *Service) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.opts.CallTimeout < 0 {
		return context.WithCancel(ctx)
	}
	return clock.WithTimeout(ctx, s.host.clock, s.opts.CallTimeout)
}

func closedError(board string) error {
	return &RefusedError{Board: board, Field: "service", Problem: "is closed", Reason: ErrClosed}
}

func (r *registry) with(b *board) *registry {
	i, _ := slices.BinarySearch(r.names, b.name)
	next := &registry{
		byName: maps.Clone(r.byName),
		sorted: slices.Insert(slices.Clone(r.sorted), i, b),
		names:  slices.Insert(slices.Clone(r.names), i, b.name),
	}
	if next.byName == nil {
		next.byName = make(map[string]*board)
	}
	next.byName[b.name] = b
	return next
}

func (r *registry) without(name string) *registry {
	i, _ := slices.BinarySearch(r.names, name)
	next := &registry{
		byName: maps.Clone(r.byName),
		sorted: slices.Delete(slices.Clone(r.sorted), i, i+1),
		names:  slices.Delete(slices.Clone(r.names), i, i+1),
	}
	delete(next.byName, name)
	return next
}
