package board

import (
	"context"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/store"
)

// Name is how the owner of a key is called. The zero Name is an unnamed row.
type Name struct {
	Display string
	User    string
}

// Resolver looks names up, in bulk. A key that is absent from an answer without error has no
// account; what comes with an error is taken for known, and the other keys are asked for
// again later. It must not ask the service for names: one call is made at a time.
type Resolver func(ctx context.Context, keys []string) (map[string]Name, error)

// NameOptions say where names come from. Zero is the default.
type NameOptions struct {
	// Resolve looks up what is not known here. One call is in flight at a time, from a
	// goroutine of its own; it is cut after Options.CallTimeout. Default nil: only Local.
	Resolve Resolver
	// Local answers names that the game has at hand, of players who are here. It is asked
	// first, for every key, is called on the goroutine of Names, and must be quick. Default
	// nil.
	Local func(key string) (Name, bool)
	// PerMinute is how many keys this service asks for in any minute. Keys beyond it stay unnamed
	// until a later call. Negative: no limit. Default 250.
	PerMinute int
	// Batch is how many keys one call of Resolve has at most. Default 100.
	Batch int
	// Cache is how many names are remembered, and, apart from them, how many keys without an
	// account; the one that was unused for longest goes. Default 10,000.
	Cache int
	// KeepFor is how old a name gets until it is asked for again, while the old one is used.
	// Longer asks less and shows later that somebody changed it. Negative: for ever.
	// Default 1 h.
	KeepFor time.Duration
	// AbsentFor is how long a key without an account is not asked for again. Negative: never
	// again. Default 1 h.
	AbsentFor time.Duration
	// RetryAfter is how long nothing is asked for after a call that failed. Default 5 s.
	RetryAfter time.Duration
}

// withDefaults fills in what is zero; no options are a service without names.
func (o *NameOptions) withDefaults() *NameOptions {
	var e NameOptions
	if o != nil {
		e = *o
	}
	defaultTo(&e.PerMinute, 250)
	defaultTo(&e.Batch, 100)
	defaultTo(&e.Cache, 10_000)
	defaultTo(&e.KeepFor, time.Hour)
	defaultTo(&e.AbsentFor, time.Hour)
	defaultTo(&e.RetryAfter, 5*time.Second)
	return &e
}

// problems are what is wrong with effective options.
func (o *NameOptions) problems() []error {
	errs := []error{
		checkOption("Names.PerMinute", o.PerMinute, -1<<31, 1_000_000),
		checkOption("Names.Batch", o.Batch, 1, mostKeys),
		checkOption("Names.Cache", o.Cache, 1, 1<<31-1),
	}
	if o.RetryAfter < 0 {
		errs = append(errs, fmt.Errorf("board: options: Names.RetryAfter: more than 0 expected, got %v", o.RetryAfter))
	}
	return errs
}

// Names are the names of those keys that have one, from Local, from memory, or by the
// resolver, whose call is waited for. A key that is being asked for is not asked for twice:
// callers share the call. Keys are left out that have no account, are beyond the budget, or
// whose call failed; none of that is an error, and a later call asks for them again in its
// time.
//
// When ctx ends first, or the service is closed, the answer is what is known by then, with
// the error. At most ten times store.MaxPage keys; they may repeat.
func (s *Service) Names(ctx context.Context, keys ...string) (map[string]Name, error) {
	if len(keys) > mostKeys {
		return nil, &RefusedError{Field: "keys", Problem: fmt.Sprintf("0 to %d expected, got %d", mostKeys, len(keys)), Reason: ErrCount}
	}
	for _, key := range keys {
		if err := checkKey("", key); err != nil {
			return nil, err
		}
	}
	return s.namesOf(ctx, keys)
}

// ForgetNames drops what is remembered of keys, on this node: their owners have other names
// now, or are erased. A call in flight may still answer the old names to those who wait for
// it, and they are not remembered. Keys may be any.
func (s *Service) ForgetNames(keys ...string) { s.names.forget(keys) }

// NamedStanding is a row of a page with its name, which is zero when it is not known.
type NamedStanding struct {
	store.Standing
	Name
}

// Named are the rows of a page with their names, as [Service.Names] has them. All rows are
// there, even when an error tells that some names are not.
func (s *Service) Named(ctx context.Context, page store.Page) ([]NamedStanding, error) {
	rows := make([]NamedStanding, len(page.Entries))
	keys := make([]string, 0, len(page.Entries))
	for i, e := range page.Entries {
		rows[i].Standing = e
		if checkKey("", e.Key) == nil { // the store takes keys that are nobody's
			keys = append(keys, e.Key)
		}
	}
	found, err := s.namesOf(ctx, keys)
	for i := range rows {
		rows[i].Name = found[rows[i].Key]
	}
	return rows, err
}

// namesOf is Names for keys that were checked.
func (s *Service) namesOf(ctx context.Context, keys []string) (map[string]Name, error) {
	found := make(map[string]Name, len(keys))
	if s.drain.hasBegun() {
		return found, namesClosed()
	}
	var rest []string
	for _, key := range keys {
		if _, ok := found[key]; ok {
			continue
		}
		if s.opts.Names.Local != nil {
			if n, ok := s.opts.Names.Local(key); ok {
				found[key] = n
				continue
			}
		}
		rest = append(rest, key)
	}
	w, call := s.names.want(found, rest, s.host.clock.Now())
	if call {
		go s.resolve(context.WithoutCancel(ctx))
	}
	if w == nil {
		return found, nil
	}
	select {
	case <-w.done:
		if w.failed && s.reads.over() {
			return w.found, namesClosed() // the closing has cut the call
		}
		return w.found, nil
	case <-ctx.Done():
		return s.names.leave(w), fmt.Errorf("board: names: %w", context.Cause(ctx))
	case <-s.drain.begun:
		return s.names.leave(w), namesClosed()
	}
}

func namesClosed() error {
	return &RefusedError{Field: "service", Problem: "is closed", Reason: ErrClosed}
}
