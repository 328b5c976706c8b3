package profile

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Policy is what a load does about a holder that lives but does not let go. A dead holder
// is taken over under every policy.
type Policy uint8

// The policies. The zero Policy is the set's, and for a set Steal.
const (
	Steal Policy = iota + 1 // take the session after StealAfter
	Wait                    // wait until the deadline
	Fail                    // fail with ErrHeld after StealAfter
)

// String is "steal", "wait" or "fail".
func (p Policy) String() string {
	switch p {
	case Steal:
		return "steal"
	case Wait:
		return "wait"
	case Fail:
		return "fail"
	}
	return "no policy"
}

// EvidencePolicy is the evidence of a takeover from a living holder that did not let go.
const EvidencePolicy node.Evidence = "policy"

// Options of a [Set]. Nil is fine, zero is the default.
type Options struct {
	// Template is the data of a new profile, an object. When an older profile is opened,
	// members that it lacks are added from here; present values, unknown members and lists
	// stay as they are. Default: an empty object.
	Template doc.Value
	// Schema is the version of the form of the data. A profile of a higher one is refused
	// with ErrNewerSchema. Raise it with each change of form. Default 1.
	Schema int
	// Validate refuses data that the game could not live with, at load and at each
	// transaction; it must be pure and quick. Default: everything is valid.
	Validate func(doc.Value) error
	// Policy is what a load does about a living holder that does not let go. Default Steal.
	Policy Policy
	// Autosave is how long a change waits at most for its save; the first of a session waits
	// up to half as long again, so that sessions opened together are not saved together.
	// Shorter loses less in a crash, and costs a write each time; negative saves only when
	// asked to and at the end. Default 60 s.
	Autosave time.Duration
	// JournalEvery is how often a session that changes is journaled: what it has changed since
	// its last save goes to the fast store, so that it survives the node. A change waits for
	// that long at most, one after a quiet while for a quarter of it; Sync is sent at once.
	// Negative keeps no journal: Sync is Save then. So it is where one store for records and
	// journals is metered (node.Options.Limits): appends would take what saves and loads need.
	// Default: the node's Beat (1 s).
	JournalEvery time.Duration
	// JournalBytes is the size of a journal over which a session saves instead. Default
	// 64 KiB, at most 1 MiB.
	JournalBytes int
	// WriteBytesPerMinute bounds what autosaves of one profile write: a profile of more than
	// so many bytes is saved less often than Autosave says. What is asked for (Save, Sync,
	// the end of a session) is not held up. Negative is without bound. Default 3 MiB.
	WriteBytesPerMinute int
	// ReapEvery is how often the set looks for journaled sessions of dead nodes, to save and
	// free them. Negative never does: then they stay in the fast store until their players
	// come back. Default 15 s.
	ReapEvery time.Duration
	// LoadTimeout is the deadline of a whole load, and the age from which an ask is void.
	// Default 120 s.
	LoadTimeout time.Duration
	// StealAfter is how long a living holder may take to let go, from the moment it could
	// know. Default 15 s.
	StealAfter time.Duration
	// FallbackSave is how often every session is saved while the node's beats do not land.
	// Default 30 s.
	FallbackSave time.Duration
	// PollEvery is how often a waiting load looks, in its first 15 s; then it looks every 1
	// to 5 s. Default 250 ms.
	PollEvery time.Duration
	// CallTimeout bounds one call to the store, without its wait for the request budget (see
	// node.Limits). Default 10 s.
	CallTimeout time.Duration
	// HookTimeout bounds each OnLoad and OnLeave function. Default 5 s.
	HookTimeout time.Duration
	// SoftBytes is the size of data, encoded, from which a warning is logged and counted.
	// Negative never warns. Default 1 MiB.
	SoftBytes int
	// HardBytes is the size of data, encoded, over which a transaction is refused.
	// Default 4 MiB, at most 7 MiB.
	HardBytes int
	// MaxWrites is how many saves run at once; more wait their turn, final ones first.
	// Default 256.
	MaxWrites int
}

const (
	maxHardBytes = store.MaxValue - 1<<20 // leaves room for the envelope
	minPollEvery = time.Millisecond

	maxJournalBytes = 1 << 20
	minJournalEvery = 10 * time.Millisecond
	minReapEvery    = 100 * time.Millisecond
	maxMaxWrites    = 1 << 16
	defaultTimeout  = 120 * time.Second
)

// withDefaults fills in what is zero and reports everything that is wrong.
func (o *Options) withDefaults(beat time.Duration) (Options, error) {
	var e Options
	if o != nil {
		e = *o
	}
	if e.Template.IsNull() {
		e.Template = doc.MustObject(nil)
	}
	defaultTo(&e.Schema, 1)
	defaultTo(&e.Policy, Steal)
	defaultTo(&e.Autosave, 60*time.Second)
	defaultTo(&e.JournalEvery, beat)
	defaultTo(&e.JournalBytes, 64<<10)
	defaultTo(&e.WriteBytesPerMinute, 3<<20)
	defaultTo(&e.ReapEvery, 15*time.Second)
	defaultTo(&e.LoadTimeout, defaultTimeout)
	defaultTo(&e.StealAfter, 15*time.Second)
	defaultTo(&e.FallbackSave, 30*time.Second)
	defaultTo(&e.PollEvery, 250*time.Millisecond)
	defaultTo(&e.CallTimeout, 10*time.Second)
	defaultTo(&e.HookTimeout, 5*time.Second)
	defaultTo(&e.SoftBytes, 1<<20)
	defaultTo(&e.HardBytes, 4<<20)
	defaultTo(&e.MaxWrites, 256)
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
		errs = append(errs, fmt.Errorf("profile: options: %s: %w", field, fmt.Errorf(format, args...)))
	}
	if k := o.Template.Kind(); k != doc.KindObject {
		wrong("Template", "an object expected, got %v", k)
	}
	if o.Schema < 1 || o.Schema > math.MaxInt32 {
		wrong("Schema", "1 to %d expected, got %d", math.MaxInt32, o.Schema)
	}
	if o.Policy > Fail {
		wrong("Policy", "Steal, Wait or Fail expected, got %d", o.Policy)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"LoadTimeout", o.LoadTimeout},
		{"StealAfter", o.StealAfter},
		{"FallbackSave", o.FallbackSave},
		{"CallTimeout", o.CallTimeout},
		{"HookTimeout", o.HookTimeout},
	} {
		if d.value <= 0 {
			wrong(d.field, "more than 0 expected, got %v", d.value)
		}
	}
	if o.JournalEvery > 0 && o.JournalEvery < minJournalEvery {
		wrong("JournalEvery", "at least %v, or negative for none, expected, got %v", minJournalEvery, o.JournalEvery)
	}
	if o.ReapEvery > 0 && o.ReapEvery < minReapEvery {
		wrong("ReapEvery", "at least %v, or negative for never, expected, got %v", minReapEvery, o.ReapEvery)
	}
	if o.JournalBytes < 1 || o.JournalBytes > maxJournalBytes {
		wrong("JournalBytes", "1 to %d expected, got %d", maxJournalBytes, o.JournalBytes)
	}
	if o.PollEvery < minPollEvery {
		wrong("PollEvery", "at least %v expected, got %v", minPollEvery, o.PollEvery)
	}
	if o.HardBytes < 1 || o.HardBytes > maxHardBytes {
		wrong("HardBytes", "1 to %d expected, got %d", maxHardBytes, o.HardBytes)
	}
	if size := o.Template.Size(); size > o.HardBytes {
		wrong("Template", "at most HardBytes (%d) expected, got %d bytes", o.HardBytes, size)
	}
	if o.MaxWrites < 1 || o.MaxWrites > maxMaxWrites {
		wrong("MaxWrites", "1 to %d expected, got %d", maxMaxWrites, o.MaxWrites)
	}
	return errors.Join(errs...)
}

// LoadOptions of one load. Nil is fine, zero is the default.
type LoadOptions struct {
	// Policy of this load. Default: the set's.
	Policy Policy
	// Quiet opens the profile only if nobody holds it, or a dead node does: the holder is
	// not asked, and a living one answers ErrInUse. Default false.
	Quiet bool
	// Wait is the deadline of this load. Default: LoadTimeout.
	Wait time.Duration
	// StealAfter of this load. Default: the set's.
	StealAfter time.Duration

	// errand opens an existing profile for the library itself: no hooks, no mail.
	errand bool
}

// withDefaults fills in what the set says.
func (o *LoadOptions) withDefaults(set *Options) (LoadOptions, error) {
	var e LoadOptions
	if o != nil {
		e = *o
	}
	defaultTo(&e.Policy, set.Policy)
	defaultTo(&e.Wait, set.LoadTimeout)
	defaultTo(&e.StealAfter, set.StealAfter)
	if e.Policy > Fail || e.Wait < 0 || e.StealAfter < 0 {
		return e, fmt.Errorf("profile: load options: a policy, and times of at least 0 expected, got %+v", e)
	}
	return e, nil
}
