package season

import (
	"context"
	"errors"
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

// Limits of what a Service waits for.
const (
	leaveWait = 4500 * time.Millisecond // Left, at most: below the 5 s of a leave hook
	closeWait = 25 * time.Second        // Close, at most
	syncWait  = 10 * time.Second        // one session's Sync inside a window
)

// Service runs the seasons of one set on one node.
type Service struct {
	n       *node.Node
	set     string
	cfg     Config
	rules   *rules
	deps    Deps
	boards  Boards
	durable store.Records
	clock   clock.Clock
	log     *slog.Logger

	players *players
	outbox  *outbox
	shelf   *shelf
	docket  *docket
	opened  *opened
	counts  counts
	waits   waits
	named   atomic.Pointer[named]
	defined defined
	blank   blank
	pages   pages
	foreign atomic.Bool // the set's stored calendar is another one

	passing   chan struct{} // holds a token while a closing pass runs
	flushKick chan struct{}
	closeKick chan struct{}

	stop   context.CancelFunc
	loops  sync.WaitGroup
	ending struct {
		once  sync.Once
		begun chan struct{}
		ended chan struct{}
		left  int
		err   error
	}
}

// New starts the seasons of a set on a node: the boards' and the closing loop run until Close,
// which the node also calls when it closes. The set's name parts its keys from others'. New
// fails, with everything that is wrong joined, when the name or the configuration is not
// usable.
func New(n *node.Node, set string, cfg Config, deps Deps) (*Service, error) {
	s, err := newService(n, set, cfg, deps)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	n.OnClose(node.StageSeasons, "seasons "+set, s.close)
	flush, closing := s.newFlusher(), s.newCloser()
	s.loops.Go(func() { s.run(ctx, s.flushKick, flush.step) })
	s.loops.Go(func() { s.run(inBackground(ctx), s.closeKick, closing.step) })
	now := s.Current()
	s.log.InfoContext(ctx, "seasons started", "season", now.ID, "ends", now.End, "grace", s.cfg.Grace,
		"flushEvery", s.cfg.FlushEvery, "closeEvery", s.cfg.CloseEvery, "boards", len(s.cfg.Boards))
	return s, nil
}

// newService is a service without its loops.
func newService(n *node.Node, set string, cfg Config, deps Deps) (*Service, error) {
	cfg, err := cfg.withDefaults(set)
	if nameErr := name.CheckName("name", set); nameErr != nil {
		err = errors.Join(fmt.Errorf("%w: %w", ErrConfig, nameErr), err)
	}
	if err != nil {
		return nil, err
	}
	s := &Service{
		n: n, set: set, cfg: cfg, rules: newRules(set, cfg), deps: deps,
		durable: boundedRecords{n.For(node.ClassBoard).Durable(), n}, clock: n.Clock(), log: n.Logger().With("seasons", set),
		players: newPlayers(), outbox: newOutbox(MaxOutbox), shelf: newShelf(MaxResults), docket: newDocket(),
		opened:  newOpened(),
		passing: make(chan struct{}, 1), flushKick: make(chan struct{}, 1), closeKick: make(chan struct{}, 1),
		stop: func() {},
	}
	if deps.Boards == nil {
		deps.Boards = StoreBoards(n.For(node.ClassBoard).Boards())
	}
	s.boards = boundedBoards{deps.Boards, n}
	s.ending.begun, s.ending.ended = make(chan struct{}), make(chan struct{})
	return s, nil
}

// run calls step at the time it asks for, or when kicked, until ctx ends.
func (s *Service) run(ctx context.Context, kick <-chan struct{}, step func(context.Context, time.Time) (time.Time, error)) {
	for ctx.Err() == nil {
		next, err := step(ctx, s.clock.Now())
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "seasons are behind, and will try again", "err", err, "next", next)
		}
		timer := s.clock.NewTimer(next.Sub(s.clock.Now()))
		select {
		case <-timer.C():
		case <-kick:
		case <-ctx.Done():
		}
		timer.Stop()
		select { // one step serves both
		case <-kick:
		default:
		}
	}
}

// wake kicks a loop; a loop that is already kicked stays so.
func wake(kick chan<- struct{}) {
	select {
	case kick <- struct{}{}:
	default:
	}
}

// Name is the set's name.
func (s *Service) Name() string { return s.set }

// Config is the effective configuration.
func (s *Service) Config() Config { return s.cfg }

// season is the current season's index by fleet time.
func (s *Service) season() int64 { return s.cfg.Season(s.n.Now()) }

// isClosed tells whether Close has begun.
func (s *Service) isClosed() bool {
	select {
	case <-s.ending.begun:
		return true
	default:
		return false
	}
}

// Close ends the loops and writes the last values, within 25 s or the end of ctx. What it
// could not write is in the profiles and goes to the boards when their players next load.
// Callers share one closing. The node calls it when it closes, after the sessions.
func (s *Service) Close(ctx context.Context) error {
	_, err := s.close(ctx)
	return err
}

// close is Close; left is how many values were not written.
func (s *Service) close(ctx context.Context) (left int, err error) {
	s.ending.once.Do(func() {
		close(s.ending.begun)
		go s.end(ctx)
	})
	select {
	case <-s.ending.ended:
		return s.ending.left, s.ending.err
	case <-ctx.Done():
		return s.outbox.size(), fmt.Errorf("season: close %s: %w", s.set, context.Cause(ctx))
	}
}

func (s *Service) end(ctx context.Context) {
	defer close(s.ending.ended)
	ctx, cancel := clock.WithTimeout(ctx, s.clock, closeWait)
	defer cancel()
	s.stop()
	s.loops.Wait()
	err := s.window(ctx, s.players.all())
	for errors.Is(err, errShort) && ctx.Err() == nil {
		err = s.drain(ctx) // as the budget comes in
	}
	s.ending.left = s.outbox.size()
	if err == nil && ctx.Err() == nil {
		err = errUndecided // if anything is left, then it waits for this
	}
	if s.ending.left > 0 || ctx.Err() != nil {
		s.ending.err = fmt.Errorf("season: close %s: %d values not written: %w", s.set, s.ending.left, errors.Join(err, context.Cause(ctx)))
	}
	s.log.InfoContext(ctx, "seasons closed", "left", s.ending.left)
}

// jitter is a random duration from 0 to below limit, so that nodes do not move as one.
func (s *Service) jitter(purpose string, limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	return time.Duration(s.n.Random(purpose, s.set) % uint64(limit))
}
