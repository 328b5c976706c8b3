package faultstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// DefaultLog is how many lines the log keeps by default.
const DefaultLog = 1000

// Options of a [Faults]. A nil *Options is all defaults.
type Options struct {
	// Clock measures delays. Default: the system's.
	Clock clock.Clock

	// Rule decides about each call. Default: every call passes.
	Rule Rule

	// Log is how many lines the log keeps; older ones are forgotten. Default 0: DefaultLog.
	// A negative number keeps none.
	Log int

	// KeepLate lets late calls land even after a crash: they had left the process before it.
	// Default: a crash cuts them.
	KeepLate bool
}

// Faults is one process's faulty way to the store.
type Faults struct {
	clock    clock.Clock
	logLimit int
	keepLate bool
	crashed  chan struct{} // closed by Crash
	late     *lateCalls
	mu       struct {
		sync.Mutex
		rule   Rule
		calls  uint64
		outage Part
		lines  []string
		lost   int // lines no longer kept
	}
}

// New makes a way without faults but the rule's.
func New(o *Options) *Faults {
	if o == nil {
		o = &Options{}
	}
	f := &Faults{clock: clock.Or(o.Clock), logLimit: o.Log, keepLate: o.KeepLate, crashed: make(chan struct{})}
	f.late = newLateCalls(f.clock)
	if o.Log == 0 {
		f.logLimit = DefaultLog
	}
	f.mu.rule = o.Rule
	return f
}

// Wrap decorates the parts of a store. Durable and Fast stay one where they are one.
func (f *Faults) Wrap(p store.Parts) store.Parts {
	out := store.Parts{Durable: f.Records(p.Durable, Durable), Boards: f.Boards(p.Boards), Bus: f.Bus(p.Bus)}
	if p.Fast != nil && p.Fast != p.Durable {
		out.Fast = f.Records(p.Fast, Fast)
	}
	return out
}

// Records decorates one record map, which plays the part Durable or Fast.
func (f *Faults) Records(r store.Records, part Part) store.Records {
	return &records{port: f.port(part), next: r}
}

// Boards decorates boards.
func (f *Faults) Boards(b store.Boards) store.Boards { return &boards{port: f.port(Boards), next: b} }

// Bus decorates a bus.
func (f *Faults) Bus(b store.Bus) store.Bus { return &bus{port: f.port(Bus), next: b} }

// SetRule replaces the rule, for the calls that come from now on. Nil lets every call pass.
func (f *Faults) SetRule(rule Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rule = rule
}

// Outage begins or ends an outage of the parts: every call fails before. Calls that are on
// their way go on. While the bus is out no message is delivered to this process.
func (f *Faults) Outage(parts Part, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if on {
		f.mu.outage |= parts
	} else {
		f.mu.outage &^= parts
	}
	f.logLocked(fmt.Sprintf("outage of %s: %v", parts, on))
}

// Crash ends the process: calls on their way to the driver never reach it, hanging ones
// return, later ones answer store.ErrUnavailable, no message is delivered any more, and late
// calls are cut unless Options.KeepLate. The driver's handles stay open until they are
// closed. Again does nothing.
func (f *Faults) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isCrashed() {
		return
	}
	close(f.crashed)
	f.logLocked("crash")
	if !f.keepLate {
		f.late.cut(func(*lateCall) bool { return true })
	}
}

// Crashed tells whether the process has crashed.
func (f *Faults) Crashed() bool { return f.isCrashed() }

func (f *Faults) isCrashed() bool {
	select {
	case <-f.crashed:
		return true
	default:
		return false
	}
}

// Land applies the late calls that are held (those with Fault.After 0), in the order in
// which they came, and returns how many there were.
func (f *Faults) Land() int { return f.late.land() }

// Calls is how many calls have come.
func (f *Faults) Calls() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.calls
}

// Log is the last lines of what happened, oldest first.
func (f *Faults) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.mu.lines...)
}

// String is the log as text, beginning with how many lines it has forgotten.
func (f *Faults) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := strings.Join(f.mu.lines, "\n")
	if f.mu.lost > 0 {
		text = fmt.Sprintf("(%d lines before)\n%s", f.mu.lost, text)
	}
	return text
}

func (f *Faults) log(c Call, fault Fault, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logLocked(fmt.Sprintf("%s: %s: %s", c, fault, what))
}

func (f *Faults) logLocked(line string) {
	if f.logLimit < 0 {
		return
	}
	if len(f.mu.lines) >= f.logLimit {
		f.mu.lines = f.mu.lines[1:]
		f.mu.lost++
	}
	f.mu.lines = append(f.mu.lines, line)
}

// decide numbers the calls and asks the rule about each.
func (f *Faults) decide(calls []Call) []Fault {
	faults := make([]Fault, len(calls))
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range calls {
		f.mu.calls++
		calls[i].N = f.mu.calls
		switch {
		case f.isCrashed():
			faults[i] = Fault{Kind: Crash}
		case f.mu.outage&calls[i].Part != 0:
			faults[i] = Fault{Kind: FailBefore}
		case f.mu.rule != nil:
			faults[i] = f.mu.rule(calls[i]).forMessage(calls[i].Op == "publish" || calls[i].Op == "deliver")
		}
	}
	return faults
}

// word is how an error is printed in the log.
func word(err error) string {
	if conflict, ok := errors.AsType[*store.ConflictError](err); ok {
		return "conflict at " + conflict.Key
	}
	if err != nil && store.OutcomeOf(err) == store.NotDone {
		return "not done (" + err.Error() + ")"
	}
	return store.OutcomeOf(err).String()
}

// notApplied is the answer to a call that the driver has not seen and never will.
func notApplied(c Call, why string) error {
	return fmt.Errorf("faultstore: %s: %s: %w", c, why, store.ErrUnavailable)
}

// lost is the answer to a call whose caller cannot know.
func lost(ctx context.Context, c Call, why string) error {
	word := store.ErrUnavailable
	if c.Write {
		word = store.ErrUnknown
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("faultstore: %s: %s: %w: %w", c, why, word, cause)
	}
	return fmt.Errorf("faultstore: %s: %s: %w", c, why, word)
}
