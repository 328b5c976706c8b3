package shared

import (
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Options of [Documents]. Nil is fine, zero is the default.
type Options struct {
	// Template is what a missing document is changed from. Default: an empty object.
	Template doc.Value
	// Validate refuses documents that the game could not live with, at each change; it must be
	// pure and quick. Default: everything is valid.
	Validate func(doc.Value) error
	// HardBytes is the size of a document, encoded, over which a change is refused. Every
	// change writes all of it. Default 1 MiB, at most 7 MiB.
	HardBytes int
	// MaxTries is how often a change is tried before it is [ErrContended], or [ErrUnknown].
	// Default 32.
	MaxTries int
	// CallTimeout bounds one call to the store. Default 10 s.
	CallTimeout time.Duration
	// PollEvery is how often watched documents are read, give or take a tenth, in case that a
	// message about a change was lost. Negative relies on the bus alone. Default 5 s.
	PollEvery time.Duration
	// Through puts other records in front of the durable ones: for development overlay.Copy,
	// which never writes to them. The bus stays. Default: none.
	Through func(durable store.Records) store.Records
	// MaxWatches bounds the watches of this node. Default 1024.
	MaxWatches int
}

const (
	maxHardBytes = store.MaxValue - 1<<20 // leaves room for the envelope
	minPollEvery = 10 * time.Millisecond
)

// withDefaults fills in what is zero and reports everything that is wrong.
func (o *Options) withDefaults() (Options, error) {
	var e Options
	if o != nil {
		e = *o
	}
	if e.Template.IsNull() {
		e.Template = doc.MustObject(nil)
	}
	defaultTo(&e.HardBytes, 1<<20)
	defaultTo(&e.MaxTries, 32)
	defaultTo(&e.CallTimeout, 10*time.Second)
	defaultTo(&e.PollEvery, 5*time.Second)
	defaultTo(&e.MaxWatches, 1024)
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
	wrong := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("shared: options: %s: %w", field, fmt.Errorf(format, args...)))
	}
	if o.HardBytes < 1 || o.HardBytes > maxHardBytes {
		wrong("HardBytes", "1 to %d expected, got %d", maxHardBytes, o.HardBytes)
	}
	if size := o.Template.Size(); size > o.HardBytes {
		wrong("Template", "at most HardBytes (%d) expected, got %d bytes", o.HardBytes, size)
	}
	if o.MaxTries < 1 {
		wrong("MaxTries", "at least 1 expected, got %d", o.MaxTries)
	}
	if o.CallTimeout <= 0 {
		wrong("CallTimeout", "more than 0 expected, got %v", o.CallTimeout)
	}
	if o.PollEvery > 0 && o.PollEvery < minPollEvery {
		wrong("PollEvery", "at least %v, or negative for never, expected, got %v", minPollEvery, o.PollEvery)
	}
	if o.MaxWatches < 1 {
		wrong("MaxWatches", "at least 1 expected, got %d", o.MaxWatches)
	}
	return errors.Join(errs...)
}
