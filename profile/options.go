package profile

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/schema"
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

// EvidenceOperator is the evidence of a takeover that a person has asked for.
const EvidenceOperator node.Evidence = "operator"

// EvidencePolicy is the evidence of a takeover from a living holder that did not let go.
const EvidencePolicy node.Evidence = "policy"

// Options of a [Set]. Nil is fine, zero is the default.
type Options struct {
	// Mode says whether the set writes to the store: Memory and Copy are for development and
	// never do. Default Live.
	Mode Mode
	// Template is the data of a new profile, an object. When an older profile is opened,
	// members that it lacks are added from here; present values, unknown members and lists
	// stay as they are. Default: an empty object.
	Template doc.Value
	// Schema is the version of the form of the data. A profile of a higher one is refused
	// with ErrNewerSchema. Raise it with each change of form, by a migration. Default: that
	// of the last migration, else 1.
	Schema int
	// Migrations lead to Schema, one for each version in order and without gaps: what is
	// stored in an older form is brought up when it is loaded, never otherwise. A form older
	// than the first starts from is refused with ErrMigration. Default: none.
	Migrations []Migration
	// WriteVersion is the version in which data is stored. A lower one than Schema lets a
	// release be rolled back, while it is set, without a player being refused: all
	// migrations above it need a Down. Nothing is journaled then: Sync is Save, and a crash
	// costs what was not saved. Data that would not come up again as it was is stored in the
	// form of Schema all the same. Default: Schema.
	WriteVersion int
	// AsStored opens data as it is stored, in whatever form: for tools, which do not know the
	// game's. Nothing is added, migrated, derived or checked but HardBytes, the form's version
	// stays what it was, and no profile is made that is not there (ErrNoProfile). Template,
	// Schema and what else says how data is to look must be unset. Default false.
	AsStored bool
	// Validate refuses data that the game could not live with, at load and at each
	// transaction; it must be pure and quick. Default: everything is valid.
	Validate func(doc.Value) error
	// JSONSchema refuses data that is not as it says, at load and at each transaction, with
	// every place that is wrong. A transaction costs what it touches, not the whole data (see
	// schema.Schema.CheckChange). Default: everything is valid.
	JSONSchema *schema.Schema
	fits       func(Change) []Violation // what JSONSchema cannot say of a Go type; see OptionsFor
	// Derived are fields that are computed from others: at load, and in each transaction that
	// changes one of their inputs. No operation can write them. Default: none.
	Derived []Derived
	// Reactions answer changes with further operations in the same transaction, in this order.
	// A load, which may add what the template has, is no change. Default: none.
	Reactions []Reaction
	// SourcePolicies say by path which kinds of sources may change it. They are not asked at a
	// load. Default: everything is open to all.
	SourcePolicies []SourcePolicy
	// Guards judge each transaction as a whole, but not a load; those of mode ReportOnly only
	// report, in Commit.Reports, Stats and once a minute in the log. The names "schema",
	// "validate", "size" and "soft size" are the set's own. Default: none.
	Guards []Guard
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
	// ListenerTimeout is how long an OnCommit function may take before it is named in the log
	// and counted. It is not interrupted. Default 5 s.
	ListenerTimeout time.Duration
	// History is how many of its last commits a session remembers, for Undo and Rollback.
	// Each takes the memory of what it changed and about 500 bytes. Negative remembers none.
	// Default 64.
	History int
	// HistoryBytes bounds the memory for it, a session. Default 64 KiB.
	HistoryBytes int
	// Audit says which commits go into the audit log (see Set.Audit): a row beside a save with
	// all of them that it stores. What is in the log is in memory until then, and not in the
	// journal: of audited commits that only the journal has saved from a crash it knows what
	// they changed, but not whose they were. Default AuditOthers.
	Audit AuditPolicy
	// AuditFor is how long rows of the audit log are kept. Old ones are removed by sessions that
	// write new ones. Negative keeps them for ever. Default 90 days.
	AuditFor time.Duration
	// AuditKeep is how many rows of a profile are kept. Negative keeps all. Default 1,000.
	AuditKeep int
	// VersionEvery is how often at most the state that a save replaces is kept as a version
	// (see Set.Versions): a second record in that save's Tx. Negative keeps none. Default 1 h.
	VersionEvery time.Duration
	// VersionFor is how long versions are kept, as AuditFor. Default 30 days.
	VersionFor time.Duration
	// VersionKeep is how many versions of a profile are kept, as AuditKeep. A few more stand
	// there at times. Default 24.
	VersionKeep int
	// SoftBytes is the size of data, encoded, over which growing is reported and counted, as
	// by a guard of mode ReportOnly. Negative never reports. Default 1 MiB.
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
	if e.AsStored {
		if err := e.shapeProblems(); err != nil {
			return e, err
		}
		e.Schema = math.MaxInt32
	}
	if e.Template.IsNull() {
		e.Template = doc.MustObject(nil)
	}
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
	defaultTo(&e.ListenerTimeout, 5*time.Second)
	e.keepingDefaults()
	defaultTo(&e.SoftBytes, 1<<20)
	defaultTo(&e.HardBytes, 4<<20)
	defaultTo(&e.MaxWrites, 256)
	e.versionDefaults()
	return e, e.problems()
}

// keepingDefaults fills in what is kept of the past.
func (o *Options) keepingDefaults() {
	const day = 24 * time.Hour
	defaultTo(&o.History, 64)
	defaultTo(&o.HistoryBytes, 64<<10)
	defaultTo(&o.Audit, AuditOthers)
	defaultTo(&o.AuditFor, 90*day)
	defaultTo(&o.AuditKeep, 1000)
	defaultTo(&o.VersionEvery, time.Hour)
	defaultTo(&o.VersionFor, 30*day)
	defaultTo(&o.VersionKeep, 24)
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
	} else {
		o.versionProblems(wrong)
	}
	if o.Mode > Copy {
		wrong("Mode", "Live, Memory or Copy expected, got %d", o.Mode)
	}
	if o.Policy > Fail {
		wrong("Policy", "Steal, Wait or Fail expected, got %d", o.Policy)
	}
	if o.Audit > AuditNone {
		wrong("Audit", "AuditOthers, AuditAll or AuditNone expected, got %d", o.Audit)
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
		{"ListenerTimeout", o.ListenerTimeout},
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
