package board

import (
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// Options of a service. Nil is fine, zero is the default.
type Options struct {
	// Boards are defined from the start. Default none.
	Boards map[string]Config
	// FlushEvery is the time from the first score that waits to its window. Longer writes
	// less and shows later. Negative: windows run only by FlushNow and Close. Default 1 s.
	FlushEvery time.Duration
	// WritesPerFlush is how many entries one window writes over all boards. Negative: no
	// cap but store.MaxMerge for each board. Default 10,000.
	WritesPerFlush int
	// Budget answers how many entries may be written now; a window takes the smaller of it
	// and WritesPerFlush. It is called from the writing goroutine and must be quick.
	// Default nil: no further cap.
	Budget func() int
	// Backend is another store for all boards of the service, instead of the node's. Then
	// windows write one key a call, and what a Backend cannot answer is store.ErrUnsupported:
	// see [Backend]. Defaults fit a store with narrow limits: FlushEvery 15 s, WritesPerFlush
	// 30, CacheFor 60 s. Default nil: the node's store.
	Backend Backend
	// MaxWriteAttempts is after how many failed windows in a row a value is dropped and
	// reported. While the node closes nothing is dropped. Negative: never. Default 10.
	MaxWriteAttempts int
	// MaxQueued is how many keys wait for one board; a new key beyond them is refused.
	// Default 1,000,000.
	MaxQueued int
	// CacheFor is how old a page of Top may be, for boards that do not say. Negative: every
	// Top reads the store. Default 1 s.
	CacheFor time.Duration
	// MaxEntries is the size of the cached page, for boards that do not say; at most
	// store.MaxPage. Default 100.
	MaxEntries int
	// ReadsAtOnce is how many exact reads are in flight at a time. Default 64.
	ReadsAtOnce int
	// CallTimeout bounds each call of the store that the service makes on its own: a write
	// of a window, a read that callers share. A write that is cut has an unknown outcome.
	// Negative: unbounded. Default 10 s.
	CallTimeout time.Duration
	// CloseTimeout is the deadline of Close. Negative: nothing is drained. Default 10 s.
	CloseTimeout time.Duration
	// Names say how the owners of keys are called. Default nil: nobody has a name.
	Names *NameOptions
}

// Config of a board. The zero value is a board of scores: the best one counts, larger ranks
// first.
type Config struct {
	// Order is which end ranks first. It cannot change once the board is stored.
	// Default store.Descending.
	Order store.Order
	// Rule combines scores of one key. Default store.Best.
	Rule store.Rule
	// Decimals is how many decimals a score has: with 3, the text 12.345 is the score 12345.
	// 0 to 18. Default 0.
	Decimals int
	// Min and Max bound a submitted score (under store.Sum: what is added), in the unit of
	// the score, so that 12345 is 12.345 with 3 decimals. Default nil: no bound.
	Min, Max *int64
	// CacheFor is how old a page of Top may be. Negative: every Top reads the store.
	// Default Options.CacheFor.
	CacheFor time.Duration
	// MaxEntries is the size of the cached page; at most store.MaxPage. Default
	// Options.MaxEntries.
	MaxEntries int
	// From makes the board the mirror of a set of profiles; it takes no submits then. It is
	// not changed once it is given here. Default nil: scores are submitted.
	From *Source
}

const maxDecimals = 18 // 10^18 fits into an int64

// withDefaults fills in what is zero and reports everything that is wrong.
func (o *Options) withDefaults() (Options, error) {
	var e Options
	if o != nil {
		e = *o
	}
	e.backendDefaults()
	defaultTo(&e.FlushEvery, time.Second)
	defaultTo(&e.WritesPerFlush, 10_000)
	defaultTo(&e.MaxWriteAttempts, 10)
	defaultTo(&e.MaxQueued, 1_000_000)
	defaultTo(&e.CacheFor, time.Second)
	defaultTo(&e.MaxEntries, 100)
	defaultTo(&e.ReadsAtOnce, 64)
	defaultTo(&e.CallTimeout, 10*time.Second)
	defaultTo(&e.CloseTimeout, 10*time.Second)
	e.Names = e.Names.withDefaults()
	return e, errors.Join(
		errors.Join(e.Names.problems()...),
		checkOption("MaxQueued", e.MaxQueued, 1, 1<<31-1),
		checkOption("MaxEntries", e.MaxEntries, 1, store.MaxPage),
		checkOption("ReadsAtOnce", e.ReadsAtOnce, 1, 1<<20),
		checkBackend(e.Backend),
	)
}

func checkOption(field string, value, low, high int) error {
	if value < low || value > high {
		return fmt.Errorf("board: options: %s: %d to %d expected, got %d", field, low, high, value)
	}
	return nil
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// withDefaults fills in what is zero and reports everything that is wrong.
func (c Config) withDefaults(board string, o *Options) (Config, error) {
	defaultTo(&c.Order, store.Descending)
	defaultTo(&c.Rule, store.Best)
	defaultTo(&c.CacheFor, o.CacheFor)
	defaultTo(&c.MaxEntries, o.MaxEntries)
	c.Min, c.Max = own(c.Min), own(c.Max)
	return c, c.problems(board)
}

// own is a copy that the caller cannot change.
func own(v *int64) *int64 {
	if v == nil {
		return nil
	}
	w := *v
	return &w
}

func (c Config) problems(board string) error {
	var errs []error
	bad := func(field, problem string, args ...any) {
		errs = append(errs, &RefusedError{Board: board, Field: field, Problem: fmt.Sprintf(problem, args...), Reason: store.ErrInvalid})
	}
	if err := checkBoard(board); err != nil {
		errs = append(errs, err)
	}
	if c.Order != store.Ascending && c.Order != store.Descending {
		bad("Order", "ascending or descending expected, got %d", c.Order)
	}
	if c.Rule != store.Best && c.Rule != store.Last && c.Rule != store.Sum {
		bad("Rule", "best, last or sum expected, got %d", c.Rule)
	}
	if c.Decimals < 0 || c.Decimals > maxDecimals {
		bad("Decimals", "0 to %d expected, got %d", maxDecimals, c.Decimals)
	}
	if c.Min != nil && c.Max != nil && *c.Min > *c.Max {
		bad("Min", "at most Max (%d) expected, got %d", *c.Max, *c.Min)
	}
	if c.MaxEntries < 1 || c.MaxEntries > store.MaxPage {
		bad("MaxEntries", "1 to %d expected, got %d", store.MaxPage, c.MaxEntries)
	}
	c.From.problems(c.Rule, bad)
	return errors.Join(errs...)
}

// same tells whether two effective configurations are equal.
func (c Config) same(d Config) bool {
	equal := func(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }
	limits := equal(c.Min, d.Min) && equal(c.Max, d.Max) && sameSource(c.From, d.From)
	c.Min, c.Max, d.Min, d.Max, c.From, d.From = nil, nil, nil, nil, nil, nil
	return limits && c == d
}

// checkBoard refuses what is no board's name.
func checkBoard(board string) error { return nameError(board, name.CheckBoard("board", board)) }

// checkKey refuses what is no entry's key.
func checkKey(board, key string) error { return nameError(board, name.CheckKey("key", key)) }

func nameError(board string, err error) error {
	if err == nil {
		return nil
	}
	var bad *name.Error
	if errors.As(err, &bad) {
		return &RefusedError{Board: board, Field: bad.Field, Problem: clip(bad.Problem), Reason: ErrName}
	}
	return err
}
