// Package faultstore decorates any store driver with faults: delays, failures of both kinds
// (not applied, and applied but reported unknown), late application, hangs, lost and doubled
// messages, outages, and the crash of the process that holds the handles.
//
// A [Faults] stands for one process of a fleet. Its Wrap decorates that process's handles on
// a store; a [Rule] decides, call by call, what happens; [Faults.Outage] and [Faults.Crash]
// act from outside. Each transaction of a Commit is a call of its own, so that any subset of
// a Commit may fail in any way.
//
// # Guarantees
//
// What a fault says of the engine below is true: under [FailBefore], [Hang] and [Crash]
// nothing reaches it; under [FailAfter], [HangApplied] and [CrashAfter] the call reaches it
// exactly once, before the answer; under [Late] exactly once, after the answer, unless it is
// cut by a crash or by Close. A write whose caller cannot know answers store.ErrUnknown, a
// read store.ErrUnavailable. Without a rule a decorated driver behaves as the driver does.
//
// The same rule sees the same numbers for the same order of calls, and [Chance] is a pure
// function of seed and number: where the order of calls is fixed (one goroutine, or a
// simulator that releases one call at a time) a seed names a run.
//
// # Concurrency
//
// A Faults and what it wraps are safe for use from many goroutines. A Rule is called by one
// goroutine at a time and must not call the store or the Faults. A late call runs on a goroutine of its
// own; Close of its part stops it, or waits for it.
//
// # Limits
//
// The log keeps the last Options.Log lines. Late calls wait in memory, without a limit, until
// they land or are cut.
//
// # Testing
//
// With an Options.Clock, or inside testing/synctest, delays are virtual.
package faultstore
