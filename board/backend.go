package board

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/shoalworks/shoal/store"
)

// Backend is any store of ranked scores that is plugged in with [Options].Backend: an external
// database, a sorted map behind HTTP, a platform's ordered store. Beside Sorted it has Submit
// or Set (Submit is preferred): [BackendSubmitter], [BackendSetter]; and if it can,
// [BackendBudget] and [BackendScores].
//
// Windows write one key a call: they take boards in the order of names, resuming after the
// board written last, one key of each in turn, and try each key that waits once. A value is
// taken out of the queue right before its own write. What fails waits again, combined with
// what is newer, behind the others.
//
// The calls have the same contexts and end as those of a store: a write that fails may answer
// one of the store's errors that says that nothing was applied, such as store.ErrUnavailable;
// any other error has an unknown outcome. A write that is late must not undo a newer one: only
// with KeepBest is that the Backend's nature. A panic is an error of that write, and of every
// caller who waits for that read.
//
// A Backend has one page: Top and Page answer up to store.MaxPage entries, Standing and Around
// what such a page shows, whose Total counts what was read and no more. Sequences and
// metadata are not kept. Scores needs [BackendScores]. Everything else (a deeper page, Walk,
// Remove, Hide, Seal, Drop, a rule of [store.Sum]) is store.ErrUnsupported. Under [store.Last]
// stamps decide in the queue only; the Backend keeps what is written last.
type Backend interface {
	// Sorted answers the best entries of a board, at most count, the best first.
	Sorted(ctx context.Context, board string, ascending bool, count int) ([]BackendRow, error)
}

// BackendRow is an entry of a Backend.
type BackendRow struct {
	Key   string
	Score int64
}

// BackendSubmitter is a Backend that applies the rule itself, atomically.
type BackendSubmitter interface {
	// Submit stores the score, by its rule. Nil also means that what is stored is as good.
	Submit(ctx context.Context, board string, w BackendWrite) error
}

// BackendWrite is a score with the rule by which it is stored.
type BackendWrite struct {
	Key   string
	Score int64
	// KeepBest: only if it is better than what is stored. Else whatever is stored.
	KeepBest bool
	// Ascending: smaller is better. Else larger is.
	Ascending bool
}

// BackendSetter is a Backend that updates atomically.
type BackendSetter interface {
	// Set calls update with what is stored (nil: nothing), as often as it likes, and stores
	// what it answers; nil means that nothing is to be stored.
	Set(ctx context.Context, board, key string, update func(old *int64) *int64) error
}

// BackendBudget is a Backend with limits.
type BackendBudget interface {
	// Budget is how many writes may be made now. A window takes no more than that and
	// WritesPerFlush. It must be quick.
	Budget() int
}

// BackendScores is a Backend that can look entries up.
type BackendScores interface {
	// Scores answers what is stored of the keys, at most 100; missing keys are left out.
	Scores(ctx context.Context, board string, keys []string) (map[string]int64, error)
}

// caught calls a Backend and turns its panic into an error.
func caught(op string, call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Op: op, Value: v, Stack: debug.Stack()}
		}
	}()
	return call()
}

// The defaults that a Backend has, those of the system that its contract comes from.
const (
	backendFlushEvery     = 15 * time.Second
	backendWritesPerFlush = 30
	backendCacheFor       = time.Minute
)

func (o *Options) backendDefaults() {
	if o.Backend == nil {
		return
	}
	defaultTo(&o.FlushEvery, backendFlushEvery)
	defaultTo(&o.WritesPerFlush, backendWritesPerFlush)
	defaultTo(&o.CacheFor, backendCacheFor)
}

func checkBackend(b Backend) error {
	if b == nil {
		return nil
	}
	_, submits := b.(BackendSubmitter)
	if _, sets := b.(BackendSetter); !submits && !sets {
		return fmt.Errorf("board: options: Backend: Submit or Set expected beside Sorted, %T has neither", b)
	}
	return nil
}

func sumError(board string) error {
	return &RefusedError{
		Board: board, Field: "Rule",
		Problem: "best or last expected: a Backend does not count batches, so that a sum that is sent again would count twice",
		Reason:  store.ErrUnsupported,
	}
}

// attach has the service use a Backend instead of the store.
func (s *Service) attach(b Backend) {
	if b == nil {
		return
	}
	s.backend = &backendBoards{to: b, order: s.orderOf}
	s.host.boards, s.host.meter = s.backend, nil
}

func (s *Service) orderOf(board string) (store.Order, error) {
	b, err := s.board(board)
	if err != nil {
		return 0, fmt.Errorf("a Backend keeps no order of boards, define it: %w: %w", store.ErrUnsupported, err)
	}
	return b.cfg.Order, nil
}
