package node

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
)

// Options of a node. Nil is fine, zero is the default.
type Options struct {
	// Name is the readable part of the id. Several nodes may have the same. Default "node".
	Name string
	// Beat is how often the node rewrites its own record. Shorter finds the dead sooner and
	// costs one write each. Default 1 s.
	Beat time.Duration
	// DeadAfter is the age of a beat from which its node counts as dead; at least 2 beats.
	// Default 4 beats.
	DeadAfter time.Duration
	// AskEvery is how often the node reads the notes left for it. Default: Beat, at most 1 s.
	AskEvery time.Duration
	// LeaseTimeout is the age of a record that says its holder is not beating, from which
	// that holder counts as dead. Default 300 s.
	LeaseTimeout time.Duration
	// ForgetAfter is the age of the last beat of a dead node from which its records are
	// removed: notes for it, its marks and its beat. Negative removes nothing; at least
	// LeaseTimeout. Default 24 h.
	ForgetAfter time.Duration
	// CloseTimeout is the deadline of Close. Default 25 s.
	CloseTimeout time.Duration
	// Limits are the requests that the store allows, for engines that meter them. Default:
	// none.
	Limits Limits
	// Clock is the local clock. Default: the system's.
	Clock clock.Clock
	// Random yields random bits for ids, tokens, versions and pauses; the node serialises the
	// calls. purpose and key say what a draw is for: a simulation gives a seeded source that
	// goes by them, so that it does not matter which of two goroutines draws first. Others
	// ignore them. Default: ChaCha8 seeded by the system.
	Random func(purpose, key string) uint64
	// Logger takes what an operator should know. Default: slog.Default().
	Logger *slog.Logger
}

// minDeadBeats keeps the verdict apart from an ordinary late beat.
const minDeadBeats = 2

// withDefaults fills in what is zero and reports everything that is wrong.
func (o *Options) withDefaults() (Options, error) {
	var e Options
	if o != nil {
		e = *o
	}
	defaultTo(&e.Name, "node")
	defaultTo(&e.Beat, time.Second)
	defaultTo(&e.DeadAfter, 4*e.Beat)
	defaultTo(&e.AskEvery, min(e.Beat, time.Second))
	defaultTo(&e.LeaseTimeout, 300*time.Second)
	defaultTo(&e.ForgetAfter, max(defaultForget, e.LeaseTimeout))
	defaultTo(&e.CloseTimeout, 25*time.Second)
	e.Limits = e.Limits.withDefaults()
	e.Clock = clock.Or(e.Clock)
	if e.Logger == nil {
		e.Logger = slog.Default()
	}
	return e, e.problems()
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o *Options) problems() error {
	var errs []error
	if err := name.CheckName("Name", o.Name); err != nil {
		errs = append(errs, fmt.Errorf("node: options: %w", err))
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Beat", o.Beat},
		{"AskEvery", o.AskEvery},
		{"LeaseTimeout", o.LeaseTimeout},
		{"CloseTimeout", o.CloseTimeout},
	} {
		if d.value <= 0 {
			errs = append(errs, fmt.Errorf("node: options: %s: more than 0 expected, got %v", d.field, d.value))
		}
	}
	if o.DeadAfter < minDeadBeats*o.Beat {
		errs = append(errs, fmt.Errorf("node: options: DeadAfter: at least %d beats (%v) expected, got %v", minDeadBeats, minDeadBeats*o.Beat, o.DeadAfter))
	}
	if o.ForgetAfter >= 0 && o.ForgetAfter < o.LeaseTimeout {
		errs = append(errs, fmt.Errorf("node: options: ForgetAfter: at least LeaseTimeout (%v) expected, got %v", o.LeaseTimeout, o.ForgetAfter))
	}
	return errors.Join(append(errs, o.Limits.problems()...)...)
}
